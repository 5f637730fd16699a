"""The stations of one process, each in its own phase of its own episode.

A station runs reset → execute → verify and is then free for the next episode at once; nobody waits
for another. One `tick` is one control period of every busy station: look at those that have landed,
tell those that execute under one controller in one call what to do, and carry their physics over
the period. `Periods` says when and on which thread.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from itertools import starmap

import numpy as np

from enpire.environment.autopilot import Autopilot
from enpire.environment.cameras import Eyes, View
from enpire.environment.control import CartesianControl
from enpire.environment.controller import Controller, Demonstrations, Planner, intervened
from enpire.environment.faults import TOO_LONG, described, expire, within
from enpire.environment.periods import Periods
from enpire.environment.restoring import TRIES as RESTORE_TRIES
from enpire.environment.restoring import Restoring
from enpire.environment.sensing import Readings, Sensors
from enpire.environment.task import Evidence, Parameter, Task
from enpire.errors import EnpireError, PolicyError, ResetFailed
from enpire.packs import Robot, World
from enpire.twin import Twin, compose
from enpire.twin.twin import Rows
from enpire.types import (
    Episode,
    Float32Array,
    FloatArray,
    Outcome,
    Predicate,
    Purpose,
    Times,
    Verdict,
)

RESET_TRIES = 4  # one, and again up to three times
LOOKS = 3  # at most, while the verifier is unsure
ROUNDING = 1e-6  # of a count of periods


class ResetMode(StrEnum):
    """How scenes are put back: written into the twin, or by the task's own skills."""

    FAST = "fast"
    PHYSICAL = "physical"


@dataclass(frozen=True, slots=True)
class Streams:
    """An episode's generators.

    variation: of its initial condition. noise: of its sensors. exploration: of what its controller
    draws. handling: of what is random in a physical reset. forked_noise: of the sensors once the
    episode has forked.
    """

    variation: np.random.Generator
    noise: np.random.Generator
    exploration: np.random.Generator
    handling: np.random.Generator
    forked_noise: np.random.Generator | None = None


@dataclass(frozen=True, slots=True)
class Job:
    """One episode asked for: the seed fixes its initial condition, noise and exploration.

    variant: not 0 in another episode from the same initial condition, with noise and exploration
    of its own. forked: of a variant, the periods at its start with the seed's own noise: a
    controller that does in them what was done in the seed's episode sees what was seen in it.
    overtime: that it may take beyond the task's time limit, where somebody helps [s]. attempts: how
    often it may act and be judged: after a failure again from where that has led, with no reset in
    between, and with all of the task's time.
    """

    seed: int
    purpose: Purpose
    controller: Controller
    policy: str
    round: int = 0
    exploration: float = 0.0
    variant: int = 0
    forked: int = 0
    overtime: float = 0.0
    attempts: int = 1

    @property
    def id(self) -> str:
        """Unique in a run: what for, in which round, by whom, from which initial condition."""
        named = f"{self.purpose.value}-{self.round}-{self.policy}-{self.seed:016x}"
        return f"{named}-{self.variant}" if self.variant else named

    def streams(self) -> Streams:
        """What its random draws come from, anew."""
        variation, noise, exploration, handling = np.random.default_rng(self.seed).spawn(4)
        if not self.variant:
            return Streams(variation, noise, exploration, handling)
        _, own, exploration, handling = np.random.default_rng((self.seed, self.variant)).spawn(4)
        if not self.forked:
            return Streams(variation, own, exploration, handling)
        return Streams(variation, noise, exploration, handling, forked_noise=own)


class Phase(Enum):
    """Where in its episode a station is."""

    IDLE = "idle"
    RESET = "reset"
    EXECUTE = "execute"
    VERIFY = "verify"


@dataclass(frozen=True, slots=True)
class Sensed:
    """Stations in the middle of a control period: what they see, before anything acts on it.

    rows: the stations that execute, or did until now. executing: positions in `rows` of those that
    go on, and wait for an action. readings and jacobian: those of `rows`.
    """

    rows: Rows
    executing: list[int]
    readings: Readings
    jacobian: FloatArray


@dataclass(slots=True)
class _Running:
    """One station's episode under way; counts are in control periods.

    target: what a physical reset has to bring about, None in a fast one. alone: for how long the
    scene settles by itself, after a period. restoring: its try under way. lost: all its tries have
    failed. look: what the cameras say, asked for the `looks`-th time. again: the attempt has failed
    and another begins. execute, verify: of the attempt under way; executed, verified: of those
    before.
    """

    job: Job
    streams: Streams
    phase: Phase = Phase.RESET
    target: FloatArray | None = None
    restoring: Restoring | None = None
    lost: bool = False
    diverged: bool = False
    tries: int = 0
    settling: int = 0
    alone: int = 0
    reset: int = 0
    execute: int = 0
    verify: int = 0
    attempt: int = 1
    again: bool = False
    executed: int = 0
    verified: int = 0
    looks: int = 0
    look: Future[Verdict] | None = None
    planner: Planner | None = None
    plan: Float32Array = field(default_factory=lambda: np.empty((0, 0), np.float32))
    unseen: list[Readings] = field(default_factory=list)  # of the periods of the plan
    observations: list[Float32Array] = field(default_factory=list)
    actions: list[Float32Array] = field(default_factory=list)
    evidence: list[Readings] = field(default_factory=list)
    verdict: Verdict | None = None

    def follow(self, readings: Readings) -> Float32Array:
        """The next actions of the plan, carried out with these readings, (k, act)."""
        count = len(readings.joints)
        actions, self.plan = self.plan[:count], self.plan[count:]
        self.unseen.append(readings)
        self.actions.extend(actions)
        self.execute += count
        return actions

    def begin_again(self) -> None:
        """The next attempt."""
        self.attempt += 1
        self.executed += self.execute
        self.verified += self.verify
        self.execute = self.verify = self.looks = 0
        self.again, self.look, self.phase = False, None, Phase.EXECUTE
        self.plan = self.plan[:0]
        self.evidence.clear()

    def record(self, missed: Float32Array) -> None:
        """What was to be seen in the periods of the plan."""
        self.observations.extend(missed)
        self.unseen.clear()


class Stations:
    """n stations of one task on one twin."""

    def __init__(
        self,
        task: Task,
        world: World,
        robot: Robot,
        stations: int,
        threads: int = 0,
        packs: dict[str, str] | None = None,
        reset: ResetMode = ResetMode.FAST,
    ) -> None:
        """Compile the scene and make `stations` of it; raises PackError if it does not compile.

        packs: content hashes by pack, written into every episode. threads: 0 is one a processor.
        """
        self.task = task
        scene = compose(world, robot, task.build)
        self.twin = Twin(scene, stations, threads)
        self.period = 1.0 / task.control_hz
        self.substeps = round(self.period / scene.model.opt.timestep)
        self.control = CartesianControl(self.twin, task.actions, self.period, task.reset_actions)
        longest = task.time_limit + task.probe_limit + 2 * self.period
        self.sensors = Sensors(self.control, task.tracked, task.noise, round(longest / self.period))
        self.packs = dict(packs or {})
        self.execute_periods = round(task.time_limit / self.period)
        self.eyes: Eyes | None = None  # through which a task that looks is verified
        self._running: dict[int, _Running] = {}
        self._planted = type(task).plant is not Task.plant
        self._autopilot = Autopilot(self.sensors, self.substeps, task.force_limit)
        self._periods = Periods(
            self.twin.crew, self._think, lambda row, most: self.fly(row, most), self._goes_on
        )
        self.reset = reset
        self.aside: dict[int, str] = {}  # stations whose reset failed for good, and why
        self._standing: set[int] = set()  # stations with a scene that skills can begin from
        names = task.variation_names
        self._target = np.array([names.index(name) for name in task.target_names], np.int64)
        task.prepare(self.twin)

    def __len__(self) -> int:
        return self.twin.stations

    @property
    def idle(self) -> list[int]:
        """Stations without an episode that can take one."""
        taken = self._running.keys() | self.aside.keys()
        return [row for row in range(len(self)) if row not in taken]

    def phase(self, row: int) -> Phase:
        """Where in its episode a station is."""
        running = self._running.get(row)
        return Phase.IDLE if running is None else running.phase

    def tries(self, row: int) -> int:
        """How often a station's reset has been tried for its episode so far."""
        running = self._running.get(row)
        return 0 if running is None else running.tries

    @property
    def busy(self) -> bool:
        """Whether any episode is under way."""
        return bool(self._running)

    @property
    def name(self) -> str:
        """The task's."""
        return self.task.name

    @property
    def verified_by(self) -> str:
        """What verdicts are come by with, for a person."""
        return "cameras" if self.eyes is not None and self.task.looks else "sensors only"

    @property
    def observation_size(self) -> int:
        """Entries of an observation."""
        return len(self.task.observation_names)

    @property
    def action_size(self) -> int:
        """Entries of an action."""
        return self.task.actions.size

    @property
    def steps_done(self) -> int:
        """Of the simulation, by all stations together."""
        return self.twin.substeps_done

    @property
    def repeatable(self) -> bool:
        """Whether the same seed gives the same episode to the last bit."""
        return self.reset is ResetMode.FAST

    @property
    def starter(self) -> tuple[str, Controller]:
        """Who shows how it is done, by name."""
        return "demonstrator", Demonstrations(self.task)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Of the task's skill script; none if it has no such script."""
        return self.task.parameters

    def begin(self, row: int, job: Job) -> None:
        """Start an episode on an idle station; its reset begins with the next tick.

        A physical one begins from what the last episode left there. The first episode of a station
        finds a scene that somebody has set up, and so does the first after `recover`.

        Whatever a task's own code raises for one station, in here or later, ends the episode as
        invalid, with file and line, and sets the station aside.
        """
        streams = job.streams()
        planner = job.controller if isinstance(job.controller, Planner) else None
        running = _Running(job, streams, planner=planner)
        self._running[row] = running
        with self._blamed(running):
            if self.reset is ResetMode.PHYSICAL and row in self._standing:
                drawn = self.task.sample(streams.variation)
                self.task.vary(self.twin, row, drawn)
                running.target = drawn[self._target]
                self._restore(row, running)
            else:
                self._place(row)
        job.controller.begin(row, streams.exploration, job.exploration)

    @contextmanager
    def _blamed(self, running: _Running) -> Iterator[None]:
        """What the task's own code raises is the end of this episode, and of its station's work."""
        try:
            yield
        except EnpireError:
            raise
        except Exception as error:
            reason = described(error, self.task.folder)
            running.verdict = Verdict(Outcome.INVALID, reason=reason)
            running.lost = True

    def recover(self, row: int) -> None:
        """Take a station back that was set aside: somebody has set its scene up."""
        self.aside.pop(row, None)
        self._standing.discard(row)

    def restoring(self, row: int) -> bool:
        """Whether a station's episode began, or begins, with a physical reset."""
        running = self._running.get(row)
        return running is not None and running.target is not None

    def abort(self, reason: str) -> list[Episode]:
        """End every episode under way, labelled aborted; returns them."""
        self.wait()
        verdict = Verdict(Outcome.ABORTED, reason=reason)
        return [self._finish(row, verdict) for row in sorted(self._running)]

    def tick(self, ahead: int = 0) -> list[Episode]:
        """One control period of every busy station; returns the episodes that ended.

        The physics of the period may still be under way; `wait` before looking at the twin.
        Stations may run up to `ahead` periods ahead of the ticks, which keeps threads busy and
        changes no episode: one that ends is returned by the tick it belongs to.

        Raises:
            PolicyError: a controller returned a wrong shape or a value that is not a number. The
                episodes under way are untouched: `abort` them.
        """
        self._periods.tick(list(self._running), ahead)
        return self.ended()

    def _goes_on(self, row: int) -> bool:
        """Whether a station is in the middle of its episode."""
        running = self._running.get(row)
        return running is not None and running.verdict is None

    def _think(self, rows: list[int]) -> list[int]:
        """Look at stations that have landed and decide; returns those that go on."""
        sensed, due = self._look(rows)
        return due if sensed is None else due + self._decide(sensed)

    def fly(self, row: int, most: int) -> int:
        """Carry a station over a period, and on while it settles or has a plan; over how many.

        A plan ends early at whatever is not just its next period: that is for `_think`.
        """
        running = self._running[row]
        if running.phase is Phase.RESET:
            alone = min(most - 1, running.alone)
            self.twin.fly(row, (1 + alone) * self.substeps)
            running.settling += alone
            running.reset += alone
            return 1 + alone
        left = min(most - 1, len(running.plan), self.execute_periods - running.execute)
        if left <= 0 or self._planted:
            self.twin.fly(row, self.substeps)
            return 1
        readings = self._autopilot.fly(row, running.plan[:left], running.execute)
        return 1 + len(running.follow(readings))

    def sense(self, rows: list[int]) -> Sensed | None:
        """The first part of a control period of some busy stations; the second is `act`.

        For who has to say something in between; `tick` is both. Those that reset or verify are on
        their way when it returns. None if no other is left.
        """
        self.twin.wait(rows)
        sensed, due = self._look(rows)
        self.twin.launch(due, self.substeps)
        return sensed

    def act(self, sensed: Sensed) -> None:
        """The second part: the controllers of stations that execute say what they do.

        Raises:
            PolicyError: as `tick` does.
        """
        self.twin.launch(self._decide(sensed), self.substeps)

    def _look(self, rows: list[int]) -> tuple[Sensed | None, list[int]]:
        """What stations that have landed see; and those that go on without a decision."""
        diverged = self.twin.landed(rows)
        for row in diverged:
            self._running[row].verdict = Verdict(Outcome.INVALID, reason="physics diverged")
            self._running[row].verify += 1  # the verdict takes a period of its own
            self._running[row].diverged = True
        states = {row: self._running[row] for row in rows if self._running[row].verdict is None}
        if self._planted:
            for row, state in states.items():
                with self._blamed(state):
                    self.task.plant(self.twin, row)
        resetting = [row for row, state in states.items() if state.phase is Phase.RESET]
        if resetting:
            self._put_back(resetting)
        seen = [row for row, state in states.items() if state.phase is not Phase.RESET]
        sensed = self._sense(np.array(seen)) if seen else None
        going_on = [
            row
            for row, state in states.items()
            if state.phase is not Phase.EXECUTE and state.verdict is None
        ]
        return sensed, going_on

    def _put_back(self, rows: list[int]) -> None:
        """One control period of resets: by skills, or waiting for a placed scene to be still."""
        restoring = [row for row in rows if self._running[row].restoring is not None]
        if restoring:
            self._handle(np.array(restoring))
        for row in rows:
            if row not in restoring:
                with self._blamed(self._running[row]):
                    self._reset(row, self._running[row])

    def _decide(self, sensed: Sensed) -> list[int]:
        """What stations that execute do: move their setpoints; returns their rows."""
        executing = sensed.executing
        if not executing:
            return []
        rows, readings, jacobian = sensed.rows, sensed.readings, sensed.jacobian
        if len(executing) < len(rows):
            rows, readings, jacobian = rows[executing], readings.at(executing), jacobian[executing]
        actions = self._choose(rows, readings)
        self.control.apply(rows, actions, jacobian, readings.wrist_force)
        decided: list[int] = rows.tolist()
        return decided

    def ended(self) -> list[Episode]:
        """Episodes that have their verdict; their stations are idle from now on."""
        judged = [
            (row, running.verdict)
            for row, running in self._running.items()
            if running.verdict is not None
        ]
        if not judged:  # as nearly always
            return []
        early = self._periods.early
        return [self._finish(row, verdict) for row, verdict in judged if not early(row)]

    def place(self, row: int, variation: FloatArray, poses: FloatArray | None = None) -> None:
        """Write a scene into an idle station, as a fast reset does before it settles.

        poses: the draw that what skills bring about is taken from, if it is another.
        """
        self.twin.reset(row)
        self.task.vary(self.twin, row, variation)
        self.task.place(self.twin, self.control, row, variation if poses is None else poses)
        self.twin.forward(row)

    def wait(self) -> None:
        """Wait for the physics that is under way."""
        self._periods.wait()
        self.twin.wait(range(len(self)))

    def _place(self, row: int) -> None:
        running = self._running[row]
        running.tries += 1
        running.settling = 0
        self.place(row, self.task.sample(running.streams.variation))

    def _restore(self, row: int, running: _Running) -> None:
        """Begin a try at a physical reset, for the same initial condition as the one before."""
        if running.target is None:
            return
        running.tries += 1
        running.settling = 0
        self.control.relax(row)
        (rng,) = running.streams.handling.spawn(1)
        self.sensors.draw(row, rng)
        restorer = self.task.restorer(rng, running.target)
        running.restoring = Restoring(self.task, restorer, self.period)

    def _handle(self, rows: Rows) -> None:
        """One control period of tries at physical resets."""
        states = [self._running[row] for row in rows.tolist()]
        # A long try sees the same white noise again.
        periods = [state.reset % self.sensors.periods for state in states]
        readings, jacobian = self.sensors.read(rows, periods)
        actions = np.zeros((len(rows), self.task.actions.size), dtype=np.float32)
        acting: list[int] = []
        for i, (row, state) in enumerate(zip(rows.tolist(), states, strict=True)):
            state.reset += 1
            restoring = state.restoring
            if restoring is None:
                continue
            with self._blamed(state):
                try:
                    action = restoring.next(readings.row(i))
                    self.task.operate(self.twin, row, restoring.fixture)
                    if action is not None:
                        actions[i] = action
                        acting.append(i)
                    elif restoring.pressed.any():
                        self.control.relax(row, restoring.pressed)
                    elif restoring.looked():
                        self._end_try(row, state)  # `settle` has the last word
                    elif restoring.homing:
                        self.control.approach(row, *restoring.posture, jacobian[i])
                except ResetFailed as error:
                    self._failed(row, state, error)
        if acting:
            force = readings.wrist_force[acting]
            limits = self.control.reset_limits
            self.control.apply(rows[acting], actions[acting], jacobian[acting], force, limits)

    def _end_try(self, row: int, running: _Running) -> None:
        """No skill is under way any more, and the station's fixture is off."""
        if running.restoring is not None:
            running.restoring = None
            self.task.operate(self.twin, row, ())

    def _failed(self, row: int, running: _Running, error: ResetFailed) -> None:
        """Try the reset again, or give it up."""
        physical = running.target is not None
        tries = RESTORE_TRIES if physical else RESET_TRIES
        self._end_try(row, running)
        if running.tries >= tries:
            reason = f"reset failed {tries} times: {error}"
            running.verdict = Verdict(Outcome.INVALID, reason=reason)
            running.lost = physical
        elif physical:
            self._restore(row, running)
        else:
            self._place(row)

    def _reset(self, row: int, running: _Running) -> None:
        elapsed, limit = running.settling * self.period, self.task.settle_limit
        try:
            left = self.task.settle(self.twin, self.control, row, elapsed)
            if left and elapsed > limit:
                raise ResetFailed(f"not settled after {elapsed:.1f} s")
        except ResetFailed as error:
            left = self.period
            self._failed(row, running, error)
        if not left:
            streams = running.streams
            self.sensors.begin(row, streams.noise)
            if streams.forked_noise is not None:
                self.sensors.draw_again(row, streams.forked_noise, running.job.forked)
            running.phase = Phase.EXECUTE
            return
        running.settling += 1
        running.reset += 1
        after = min(left, limit + self.period - elapsed) / self.period
        running.alone = 0 if self._planted else max(math.ceil(after - ROUNDING) - 1, 0)

    def _sense(self, rows: Rows) -> Sensed | None:
        """Read the sensors, see who is done, and let those that verify do so."""
        states = [self._running[row] for row in rows.tolist()]
        for row, state in zip(rows.tolist(), states, strict=True):
            if state.again:
                self._begin_again(row, state)
        longest = self.sensors.periods  # overtime sees the same white noise again
        periods = [(state.execute + state.verify) % longest for state in states]
        readings, jacobian = self.sensors.read(rows, periods)
        executed = [i for i, state in enumerate(states) if state.phase is Phase.EXECUTE]
        if executed:
            self._stop(states, readings)
        verifying = [i for i, state in enumerate(states) if state.phase is Phase.VERIFY]
        if verifying:
            self._probe(rows, states, verifying, readings, jacobian)
        if not executed:
            return None
        if len(executed) < len(rows):
            states = [states[i] for i in executed]
            rows, readings, jacobian = rows[executed], readings.at(executed), jacobian[executed]
        going_on = [
            i
            for i, state in enumerate(states)
            if state.phase is Phase.EXECUTE and state.verdict is None
        ]
        return Sensed(rows, going_on, readings, jacobian)

    def _stop(self, states: list[_Running], readings: Readings) -> None:
        """End executions that look done, are out of time, or press too hard."""
        ready = self.task.ready(readings).tolist()
        for state, done, hands in zip(states, ready, readings.wrist_force.tolist(), strict=True):
            if state.phase is not Phase.EXECUTE:
                continue
            felt = max(starmap(math.hypot, hands))
            if felt > self.task.force_limit:
                state.verdict = self._too_hard(felt)
                state.verify += 1
            elif (done and not len(state.plan)) or state.execute >= self._limit(state.job):
                state.phase = Phase.VERIFY

    def _limit(self, job: Job) -> int:
        """Control periods that an episode may execute."""
        return self.execute_periods + round(job.overtime / self.period)

    def _probe(
        self,
        rows: Rows,
        states: list[_Running],
        verifying: list[int],
        readings: Readings,
        jacobian: FloatArray,
    ) -> None:
        actions = np.zeros((len(rows), self.task.actions.size), dtype=np.float32)
        for i in verifying:
            with self._blamed(states[i]):
                self._verify(int(rows[i]), states[i], readings.row(i), actions[i])
        moving = [i for i in verifying if states[i].verdict is None and not states[i].looks]
        if moving:
            no_force = np.zeros_like(readings.wrist_force[moving])  # a probe minds its own pull
            self.control.apply(rows[moving], actions[moving], jacobian[moving], no_force)

    def _choose(self, rows: Rows, readings: Readings) -> Float32Array:
        """What the stations' controllers do, (m, act); recorded as it is carried out."""
        states = [self._running[row] for row in rows.tolist()]
        actions = np.empty((len(rows), self.action_size), dtype=np.float32)
        asked: list[int] = []
        for i, state in enumerate(states):
            if len(state.plan):
                (actions[i],) = state.follow(readings.row(i))
            else:
                asked.append(i)
        if len(asked) == len(rows):
            actions[:] = self._ask(rows, states, readings)
        elif asked:
            chosen = [states[i] for i in asked]
            actions[asked] = self._ask(rows[asked], chosen, readings.at(asked))
        for i in asked:
            states[i].actions.append(actions[i])
            states[i].execute += 1
        return actions

    def _ask(self, rows: Rows, states: list[_Running], readings: Readings) -> Float32Array:
        """Show the controllers what they have not seen, and have them act, (m, act)."""
        unseen = [one for state in states for one in state.unseen]
        seen = self.task.observe(Readings.joined([readings, *unseen]) if unseen else readings)
        observations, before = seen[: len(rows)], seen[len(rows) :]
        for row, state in zip(rows.tolist(), states, strict=True):
            if state.planner and state.unseen:
                count = sum(len(one.joints) for one in state.unseen)
                missed, before = before[:count], before[count:]
                state.record(missed)
                state.planner.saw(row, missed)
        controllers = {id(state.job.controller): state.job.controller for state in states}
        actions = np.empty((len(rows), self.action_size), dtype=np.float32)
        for key, controller in controllers.items():
            if len(controllers) == 1:  # as nearly always
                chosen = controller.act(rows, observations, readings)
                actions[:] = checked(chosen, len(rows), self.action_size)
            else:
                mine = [i for i, state in enumerate(states) if id(state.job.controller) == key]
                chosen = controller.act(rows[mine], observations[mine], readings.at(mine))
                actions[mine] = checked(chosen, len(mine), self.action_size)
        for row, state in zip(rows.tolist(), states, strict=True):
            if state.planner:
                plan = state.planner.plan(row)
                state.plan = self._keep(checked(plan, len(plan), self.action_size))
        for state, observation in zip(states, observations, strict=True):
            state.observations.append(observation)
        return self._keep(actions)

    def _keep(self, actions: Float32Array) -> Float32Array:
        """Actions (m, act) with what the task keeps written into them."""
        if not self.task.kept:
            return actions
        actions = actions.copy()
        for entry, value in self.task.kept.items():
            actions[:, entry] = value
        return actions

    def _verify(self, row: int, state: _Running, readings: Readings, action: Float32Array) -> None:
        state.verify += 1  # the verdict takes a period of its own
        state.evidence.append(readings)
        if state.look is not None:
            verdict = state.look.result()
            if state.looks < LOOKS and verdict.undecided:
                self._look_at(row, state)
            else:
                self._judged(state, verdict)
            return
        evidence = Evidence(state.evidence, self.period)
        probe = self.task.probe(evidence) if evidence.elapsed < self.task.probe_limit else None
        if probe is not None:
            action[:] = probe
        elif self.eyes is not None and self.task.looks:
            self._look_at(row, state)
        else:
            task = self.task
            self._judged(state, within(TOO_LONG, lambda: task.judge(evidence), task.folder))

    def _judged(self, state: _Running, verdict: Verdict) -> None:
        """The end of an episode, or of an attempt."""
        if verdict.outcome is Outcome.FAILURE and state.attempt < state.job.attempts:
            state.again = True
        else:
            state.verdict = verdict

    def _begin_again(self, row: int, state: _Running) -> None:
        """Another attempt, by a controller that knows nothing of the last one."""
        if state.unseen:
            state.record(self.task.observe(Readings.joined(state.unseen)))
        state.begin_again()
        state.job.controller.begin(row, state.streams.exploration, state.job.exploration)

    def _look_at(self, row: int, state: _Running) -> None:
        """Have the cameras' thread judge; the station stands still meanwhile, others go on."""
        if self.eyes is None:
            return
        task, period, readings = self.task, self.period, tuple(state.evidence)

        def judge(views: list[View]) -> Verdict:
            untracked = [one.untracked() for one in readings]
            return task.judge_views(Evidence(untracked, period, views))

        self._periods.hold(row)
        state.looks += 1
        state.look = self.eyes.look(row, Evidence(readings, period).elapsed, judge)
        expire(state.look, TOO_LONG, f"{task.folder / 'task.py'}: judge_views")
        state.look.add_done_callback(lambda _: self._periods.release(row))

    def _leave(self, row: int, running: _Running, verdict: Verdict) -> None:
        """Note what an episode leaves behind: a scene to put back, none, or one beyond help."""
        self._end_try(row, running)  # aborted in the middle of a reset
        unplaced = running.phase is Phase.RESET and running.target is None
        if running.diverged or unplaced:
            self._standing.discard(row)
        else:
            self._standing.add(row)
        if running.lost:
            self.aside[row] = verdict.reason

    def _too_hard(self, force: float) -> Verdict:
        limit = Predicate("force", force, self.task.force_limit, "N", at_least=False)
        reason = f"wrist force {force:.0f} N above the limit of {limit.threshold:.0f} N"
        return Verdict(Outcome.FAILURE, (limit,), stage="stopped", reason=reason)

    def _finish(self, row: int, verdict: Verdict) -> Episode:
        running = self._running.pop(row)
        self._periods.leave(row)
        self._leave(row, running, verdict)
        if running.unseen:
            running.record(self.task.observe(Readings.joined(running.unseen)))
        job, length = running.job, len(running.actions)
        rewards = np.zeros(length, dtype=np.float32)
        if verdict.outcome is Outcome.SUCCESS and length:
            rewards[-1] = 1.0
        actions = np.array(running.actions, np.float32).reshape(-1, self.action_size)
        return Episode(
            id=job.id,
            task=self.task.name,
            seed=job.seed,
            purpose=job.purpose,
            policy=job.policy,
            round=job.round,
            station=row,
            verdict=verdict,
            times=Times(
                self.period * running.reset,
                self.period * (running.executed + running.execute),
                self.period * (running.verified + running.verify),
            ),
            observations=np.array(running.observations, np.float32).reshape(
                -1, self.observation_size
            ),
            actions=actions.clip(-1.0, 1.0),  # as they were carried out
            stamps=self.period * np.arange(length, dtype=np.float64),
            rewards=rewards,
            exploration=job.exploration,
            packs=self.packs,
            variant=job.variant,
            forked=job.forked,
            attempts=running.attempt,
            intervened=intervened(job.controller, row, length),
        )


def checked(actions: Float32Array, *shape: int) -> Float32Array:
    """What a controller returned; raises PolicyError unless it is finite, of this shape."""
    if actions.shape != shape:
        raise PolicyError(f"actions of shape {actions.shape}, expected {shape}")
    if not all(map(math.isfinite, actions.ravel().tolist())):
        raise PolicyError("the policy returned actions that are not finite numbers")
    return actions
