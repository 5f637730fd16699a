"""The stations of one process, each in its own phase of its own episode.

A station runs reset → execute → verify and is then free for the next episode at once; nobody waits
for another. One `tick` is one control period of every busy station. The stations take it in groups,
each on the first thread that is free: that thread looks at the group's stations, tells those that
execute under one controller in one call what to do, and then carries their physics over the period.
Only one thread thinks at a time, so tasks and controllers need not know of threads; the physics of
other groups is under way meanwhile, and what is left of it when a tick returns goes on in the next.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import partial
from itertools import starmap

import numpy as np

from enpire.environment.cameras import Eyes
from enpire.environment.control import CartesianControl
from enpire.environment.controller import Controller, Demonstrations, Planner
from enpire.environment.sensing import Readings, Sensors
from enpire.environment.task import Evidence, Task
from enpire.errors import PolicyError, ResetFailed
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
GROUPS = 2  # of stations a thread, where there are enough


@dataclass(frozen=True, slots=True)
class Job:
    """One episode asked for: the seed fixes its initial condition, noise and exploration."""

    seed: int
    purpose: Purpose
    controller: Controller
    policy: str
    round: int = 0
    exploration: float = 0.0

    @property
    def id(self) -> str:
        """Unique in a run: what for, in which round, by whom, from which initial condition."""
        return f"{self.purpose.value}-{self.round}-{self.policy}-{self.seed:016x}"


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
    """One station's episode under way; counts are in control periods."""

    job: Job
    variation: np.random.Generator
    noise: np.random.Generator
    phase: Phase = Phase.RESET
    tries: int = 0
    settling: int = 0
    reset: int = 0
    execute: int = 0
    verify: int = 0
    looks: int = 0
    planner: Planner | None = None
    unseen: list[Readings] = field(default_factory=list)  # of periods that were decided before
    observations: list[Float32Array] = field(default_factory=list)
    actions: list[Float32Array] = field(default_factory=list)
    evidence: list[Readings] = field(default_factory=list)
    verdict: Verdict | None = None

    def record(self, missed: Float32Array) -> None:
        """What was to be seen in the periods decided before."""
        self.observations.extend(missed)
        self.unseen.clear()


@dataclass(slots=True)
class _Group:
    """Stations that take their control periods together, on one thread at a time.

    begun: periods that they have begun. at_work: from when a period is due until it has landed.
    """

    rows: range
    begun: int = 0
    at_work: bool = False
    error: BaseException | None = None


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
    ) -> None:
        """Compile the scene and make `stations` of it; raises PackError if it does not compile.

        packs: content hashes by pack, written into every episode. threads: 0 is one a processor.
        """
        self.task = task
        scene = compose(world, robot, task.build)
        self.twin = Twin(scene, stations, threads)
        self.period = 1.0 / task.control_hz
        self.substeps = round(self.period / scene.model.opt.timestep)
        self.control = CartesianControl(self.twin, task.actions, self.period)
        longest = task.time_limit + task.probe_limit + 2 * self.period
        self.sensors = Sensors(self.control, task.tracked, task.noise, self._periods(longest))
        self.packs = dict(packs or {})
        self.execute_periods = self._periods(task.time_limit)
        count = min(stations, GROUPS * self.twin.threads)
        self.eyes: Eyes | None = None  # with which a task that looks is verified
        self._groups = [_Group(range(i, stations, count)) for i in range(count)]
        self._thinking = threading.Lock()
        self._change = threading.Condition(threading.Lock())  # of any group
        self._ticks = 0
        self._ahead = 0
        self._running: dict[int, _Running] = {}
        task.prepare(self.twin)

    def __len__(self) -> int:
        return self.twin.stations

    @property
    def idle(self) -> list[int]:
        """Stations without an episode."""
        return [row for row in range(len(self)) if row not in self._running]

    def phase(self, row: int) -> Phase:
        """Where in its episode a station is."""
        running = self._running.get(row)
        return Phase.IDLE if running is None else running.phase

    @property
    def busy(self) -> bool:
        """Whether any episode is under way."""
        return bool(self._running)

    @property
    def name(self) -> str:
        """The task's."""
        return self.task.folder.name

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
    def starter(self) -> tuple[str, Controller]:
        """Who shows how it is done, by name."""
        return "demonstrator", Demonstrations(self.task)

    def begin(self, row: int, job: Job) -> None:
        """Start an episode on an idle station; its reset begins with the next tick."""
        variation, noise, exploration = np.random.default_rng(job.seed).spawn(3)
        planner = job.controller if isinstance(job.controller, Planner) else None
        self._running[row] = _Running(job, variation, noise, planner=planner)
        self._place(row)
        job.controller.begin(row, exploration, job.exploration)

    def abort(self, reason: str) -> list[Episode]:
        """End every episode under way, labelled aborted; returns them."""
        self.wait()
        for group in self._groups:
            group.begun = self._ticks
        verdict = Verdict(Outcome.ABORTED, reason=reason)
        return [self._finish(row, verdict) for row in sorted(self._running)]

    def tick(self, ahead: int = 0) -> list[Episode]:
        """One control period of every busy station; returns the episodes that ended.

        The physics of the period may still be under way; `wait` before looking at the twin. Groups
        whose stations are all busy may run `ahead` of the ticks by some periods, which keeps
        threads busy and changes no episode: one that ends is returned by the tick it belongs to.

        Raises:
            PolicyError: a controller returned a wrong shape or a value that is not a number. The
                episodes under way are untouched: `abort` them.
        """
        with self._change:
            self._ticks += 1
            self._ahead = ahead
            for group in self._groups:
                if not any(row in self._running for row in group.rows):
                    group.begun = self._ticks
                self._go_on(group)
        self._until(lambda: all(group.begun >= self._ticks for group in self._groups))
        for group in self._groups:
            if group.error is not None and group.begun <= self._ticks:
                error, group.error = group.error, None
                raise error
        return self.ended()

    def _until(self, reached: Callable[[], bool]) -> None:
        """Work with the crew until something is reached."""
        crew = self.twin.crew
        while not reached():
            if not crew.help():
                with self._change:
                    self._change.wait_for(lambda: reached() or crew.wanted)

    def _go_on(self, group: _Group) -> None:
        """Make a group's next period due, if it may begin it now."""
        states = [self._running.get(row) for row in group.rows]
        whole = all(state is not None and state.verdict is None for state in states)
        most = self._ticks + (self._ahead if whole and group.error is None else 0)
        if not group.at_work and group.begun < most:
            group.at_work = True
            self.twin.crew.put(partial(self._period, group))

    def _period(self, group: _Group) -> None:
        """A control period of one group: think, then fly."""
        try:
            due: list[int] = []
            try:
                with self._thinking:
                    due = self._think([row for row in group.rows if row in self._running])
            except BaseException as error:  # for `tick` to raise, on the thread that called it
                group.error = error
            with self._change:
                group.begun += 1
                self._change.notify_all()
            self.twin.fly(due, self.substeps)
        finally:
            with self._change:
                group.at_work = False
                self._go_on(group)
                self._change.notify_all()

    def _think(self, rows: list[int]) -> list[int]:
        """Look at stations that have landed and decide; returns those that go on."""
        sensed, due = self._look(rows)
        return due if sensed is None else due + self._decide(sensed)

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
        rows = [row for row in rows if row not in diverged]
        for row in rows:
            self.task.plant(self.twin, row)
            if self._running[row].phase is Phase.RESET:
                self._reset(row, self._running[row])
        seen = [row for row in rows if self._running[row].phase is not Phase.RESET]
        sensed = self._sense(np.array(seen)) if seen else None
        states = [(row, self._running[row]) for row in rows]
        going_on = [
            row
            for row, state in states
            if state.phase is not Phase.EXECUTE and state.verdict is None
        ]
        return sensed, going_on

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
        early = {row for g in self._groups if g.begun > self._ticks for row in g.rows}
        return [
            self._finish(row, running.verdict)
            for row, running in list(self._running.items())
            if running.verdict is not None and row not in early
        ]

    def wait(self) -> None:
        """Wait for the physics that is under way."""
        with self._change:
            self._ahead = 0
        self._until(lambda: not any(group.at_work for group in self._groups))
        self.twin.wait(range(len(self)))

    def _place(self, row: int) -> None:
        running = self._running[row]
        running.tries += 1
        running.settling = 0
        self.twin.reset(row)
        self.task.place(self.twin, self.control, row, self.task.sample(running.variation))
        self.twin.forward(row)

    def _reset(self, row: int, running: _Running) -> None:
        elapsed = running.settling * self.period
        try:
            settled = self.task.settle(self.twin, self.control, row, elapsed)
            if not settled and elapsed > self.task.settle_limit:
                raise ResetFailed(f"not settled after {elapsed:.1f} s")
        except ResetFailed as error:
            settled = False
            if running.tries < RESET_TRIES:
                self._place(row)
            else:
                reason = f"reset failed {RESET_TRIES} times: {error}"
                running.verdict = Verdict(Outcome.INVALID, reason=reason)
        if settled:
            self.sensors.begin(row, running.noise)
            running.phase = Phase.EXECUTE
        else:
            running.settling += 1
            running.reset += 1

    def _sense(self, rows: Rows) -> Sensed | None:
        """Read the sensors, see who is done, and let those that verify do so."""
        states = [self._running[row] for row in rows.tolist()]
        jacobian = self.control.jacobian(rows)
        periods = [state.execute + state.verify for state in states]
        readings = self.sensors.read(rows, periods, jacobian)
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
            elif done or state.execute >= self.execute_periods:
                state.phase = Phase.VERIFY

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
            self._verify(int(rows[i]), states[i], readings.row(i), actions[i])
        moving = [i for i in verifying if states[i].verdict is None and not states[i].looks]
        if moving:
            no_force = np.zeros_like(readings.wrist_force[moving])  # a probe minds its own pull
            self.control.apply(rows[moving], actions[moving], jacobian[moving], no_force)

    def _choose(self, rows: Rows, readings: Readings) -> Float32Array:
        """What the stations' controllers do, (m, act); recorded as it is carried out."""
        states = [self._running[row] for row in rows.tolist()]
        actions = np.empty((len(rows), self.action_size), dtype=np.float32)
        decided, asked = list[int](), list[int]()
        for i, (row, state) in enumerate(zip(rows.tolist(), states, strict=True)):
            action = state.planner.decided(row) if state.planner else None
            if action is None:
                asked.append(i)
            else:
                decided.append(i)
                actions[i] = checked(action[None], 1, self.action_size)[0]
        if len(asked) == len(rows):
            actions[:] = self._ask(rows, states, readings)
        elif asked:
            chosen = [states[i] for i in asked]
            actions[asked] = self._ask(rows[asked], chosen, readings.at(asked))
        for i in decided:
            states[i].unseen.append(readings.row(i))
        for state, action in zip(states, actions, strict=True):
            state.actions.append(action)
            state.execute += 1
        return actions

    def _ask(self, rows: Rows, states: list[_Running], readings: Readings) -> Float32Array:
        """Show the controllers what they have not seen, and have them act, (m, act)."""
        unseen = [one for state in states for one in state.unseen]
        seen = self.task.observe(Readings.joined([readings, *unseen]) if unseen else readings)
        observations, before = seen[: len(rows)], seen[len(rows) :]
        for row, state in zip(rows.tolist(), states, strict=True):
            if state.planner and state.unseen:
                missed, before = before[: len(state.unseen)], before[len(state.unseen) :]
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
        for state, observation in zip(states, observations, strict=True):
            state.observations.append(observation)
        return actions

    def _verify(self, row: int, state: _Running, readings: Readings, action: Float32Array) -> None:
        state.verify += 1  # the verdict takes a period of its own
        state.evidence.append(readings)
        evidence = Evidence(state.evidence, self.period)
        over = state.looks or evidence.elapsed >= self.task.probe_limit
        probe = None if over else self.task.probe(evidence)
        if probe is not None:
            action[:] = probe
        elif self.eyes is None or not self.task.looks:
            state.verdict = self.task.judge(evidence)
        else:
            state.looks += 1
            views = self.eyes.look(row, evidence.elapsed)
            verdict = self.task.judge_views(replace(evidence, views=views))
            if not verdict.undecided or state.looks == LOOKS:
                state.verdict = verdict

    def _too_hard(self, force: float) -> Verdict:
        limit = Predicate("force", force, self.task.force_limit, "N", at_least=False)
        reason = f"wrist force {force:.0f} N above the limit of {limit.threshold:.0f} N"
        return Verdict(Outcome.FAILURE, (limit,), stage="stopped", reason=reason)

    def _finish(self, row: int, verdict: Verdict) -> Episode:
        running = self._running.pop(row)
        if running.unseen:
            running.record(self.task.observe(Readings.joined(running.unseen)))
        job, length = running.job, len(running.actions)
        rewards = np.zeros(length, dtype=np.float32)
        if verdict.outcome is Outcome.SUCCESS and length:
            rewards[-1] = 1.0
        actions = np.array(running.actions, np.float32).reshape(-1, self.action_size)
        return Episode(
            id=job.id,
            task=self.task.folder.name,
            seed=job.seed,
            purpose=job.purpose,
            policy=job.policy,
            round=job.round,
            station=row,
            verdict=verdict,
            times=Times(
                *(n * self.period for n in (running.reset, running.execute, running.verify))
            ),
            observations=np.array(running.observations, np.float32).reshape(
                -1, self.observation_size
            ),
            actions=actions.clip(-1.0, 1.0),  # as they were carried out
            stamps=self.period * np.arange(length, dtype=np.float64),
            rewards=rewards,
            exploration=job.exploration,
            packs=self.packs,
        )

    def _periods(self, seconds: float) -> int:
        return round(seconds / self.period)


def checked(actions: Float32Array, rows: int, size: int) -> Float32Array:
    """What a controller returned; raises PolicyError unless it is finite, (rows, size)."""
    if actions.shape != (rows, size):
        raise PolicyError(f"actions of shape {actions.shape}, expected {(rows, size)}")
    if not all(map(math.isfinite, actions.ravel().tolist())):
        raise PolicyError("the policy returned actions that are not finite numbers")
    return actions
