"""The stations of one process, each in its own phase of its own episode.

A station runs reset → execute → verify and is then free for the next episode at once; nobody waits
for another. One `tick` is one control period of every busy station: look at those whose physics is
done, tell those that execute under one controller in one call what to do, and carry their physics
over the period. `StepScheduler` says when and on which thread.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from enpire.environment.cameras.camera import VerifierCameras
from enpire.environment.control.cartesian_control import CartesianControl
from enpire.environment.control.chunk_executor import ChunkExecutor
from enpire.environment.control.joint_actions import JointTargets, MovesHands
from enpire.environment.control.sensing import SensorNoise, Sensors
from enpire.environment.control.step_scheduler import StepScheduler
from enpire.environment.core.controller import (
    DEMONSTRATOR,
    ChunkedController,
    Controller,
    Demonstrations,
    SupervisedController,
)
from enpire.environment.core.faults import told_with_its_line
from enpire.environment.core.jobs import Job
from enpire.environment.core.policy_cameras import FrameCapture, PolicyCameras
from enpire.environment.core.task import Parameter, Task
from enpire.environment.resets.perturbation import Perturbation
from enpire.environment.stations.action_selector import ActionSelector
from enpire.environment.stations.episode_state import EpisodeState, StationPhase
from enpire.environment.stations.execution_ending import ExecutionEnding
from enpire.environment.stations.period_start import PeriodStart, Sensed
from enpire.environment.stations.policy_pictures import waits_for_picture
from enpire.environment.stations.recorded_episode import episode_of
from enpire.environment.stations.resets import ResetMode, Resets
from enpire.environment.stations.verifier import Verifier
from enpire.errors import PackError
from enpire.packs import Robot, World
from enpire.packs.models import require_files_of
from enpire.twin import Twin, compose
from enpire.twin.scene import Scene
from enpire.types import LOST, Episode, FloatArray, Outcome, Verdict


class Stations:
    """n stations of one task on one twin."""

    live = False  # a twin's time stands still while a policy thinks

    def __init__(
        self,
        task: Task,
        world: World,
        robot: Robot,
        stations: int,
        threads: int = 0,
        packs: dict[str, str] | None = None,
        reset: ResetMode = ResetMode.FAST,
        perturbation: Perturbation | None = None,
    ) -> None:
        """Compile the scene and make `stations` of it; raises PackError if it does not compile.

        packs: content hashes by pack, written into every episode. threads: 0 is one a processor.
        perturbation: a change to every episode, on top of what it draws.
        """
        self.task = task
        self._perturbation = perturbation
        build = task.build if perturbation is None else partial(perturbation.build, task)
        with told_with_its_line(task.folder):
            scene = compose(world, robot, build)
            require_files_of(scene.model, task.folder, [world.model, *robot.models])
        self.twin = self._twin(scene, stations, threads)
        self.period = 1.0 / task.control_hz
        self.substeps = max(1, round(self.period / scene.model.opt.timestep))
        self.control = CartesianControl(
            self.twin, task.actions, self.period, task.reset_actions, task.reset_stretch
        )
        longest = task.time_limit + task.probe_limit + 2 * self.period
        periods = round(longest / self.period)
        self._require_tracked()
        self.sensors = Sensors(self.control, task.tracked, self._noise, periods)
        self.packs = dict(packs or {})
        self.execute_periods = round(task.time_limit / self.period)
        self._running: dict[int, EpisodeState] = {}
        self._after_step = type(task).after_step is not Task.after_step
        joints = task.joint_actions
        self._move = self.control.apply if joints is None else self.control.follow
        self._targets = (
            None if joints is None else JointTargets(self.control, joints, task.fixed_action_dims)
        )
        self._chunk_executor = ChunkExecutor(
            self.sensors, self.substeps, task.force_limit, to_joints=joints is not None
        )
        self._scheduler = StepScheduler(
            self.twin.pool,
            self._policy_step,
            lambda row, most: self.advance(row, most),
            self._goes_on,
        )
        self._resets = self._made_resets()
        self._acting = ActionSelector(task)
        self._verifier = Verifier(task, self.control, self.period, self._scheduler)
        ending = ExecutionEnding(task, self.period)
        self._start = PeriodStart(
            task, self.sensors, self._resets, ending, self._verifier, self._after_step
        )
        self.reset = reset
        self.frame_capture: FrameCapture | None = None  # of pictures for policies
        self.aside: dict[int, str] = {}  # stations whose reset failed for good, and why
        self._standing: set[int] = set()  # stations with a scene that skills can begin from
        with told_with_its_line(task.folder):
            task.after_compile(self.twin)

    def _require_tracked(self) -> None:
        """Raise PackError for a tracked site that the scene does not have."""
        model = self.twin.model
        known = [model.site(i).name for i in range(model.nsite)]
        for name in self.task.tracked:
            if name not in known:
                raise PackError(
                    f"{self.task.folder / 'task.py'}: {name} is tracked, and its scene has no such "
                    f"site; it has {', '.join(known)}"
                )

    def _made_resets(self) -> Resets:
        """What puts their scenes back."""
        return Resets(self.task, self.sensors, self.period, self._after_step, self._perturbation)

    def _twin(self, scene: Scene, stations: int, threads: int) -> Twin:
        """What the stations are on."""
        return Twin(scene, stations, threads)

    @property
    def _noise(self) -> SensorNoise:
        """That is added to what sensors say."""
        noise = self.task.noise
        return noise if self._perturbation is None else self._perturbation.noise(noise)

    def __len__(self) -> int:
        return self.twin.stations

    @property
    def idle(self) -> list[int]:
        """Stations without an episode that can take one."""
        taken = self._running.keys() | self.aside.keys()
        return [row for row in range(len(self)) if row not in taken]

    def phase(self, row: int) -> StationPhase:
        """The part of its episode that a station is in."""
        running = self._running.get(row)
        return StationPhase.IDLE if running is None else running.phase

    def tries(self, row: int) -> int:
        """How often a station's reset has been tried for its episode so far."""
        running = self._running.get(row)
        return 0 if running is None else running.tries

    @property
    def busy(self) -> bool:
        """Whether any episode is under way."""
        return bool(self._running)

    @property
    def attended(self) -> bool:
        """Whether somebody may have a hand in an episode under way."""
        return any(running.attended is not None for running in self._running.values())

    @property
    def name(self) -> str:
        """The task's."""
        return self.task.name

    @property
    def verifier_cameras(self) -> VerifierCameras | None:
        """Through which a task that looks is verified; None: by sensors."""
        return self._verifier.verifier_cameras

    @verifier_cameras.setter
    def verifier_cameras(self, verifier_cameras: VerifierCameras | None) -> None:
        self._verifier.verifier_cameras = verifier_cameras

    @property
    def verified_by(self) -> str:
        """What verdicts are come by with, for a person."""
        return (
            "cameras"
            if self.verifier_cameras is not None and self.task.verifies_views
            else "sensors only"
        )

    @property
    def policy_cameras(self) -> PolicyCameras | None:
        """What policies see by cameras; None: what a tracker says."""
        return None if self.frame_capture is None else self.frame_capture.policy_cameras

    @property
    def observation_size(self) -> int:
        """Entries of an observation."""
        return len(self.task.observation_names)

    @property
    def action_size(self) -> int:
        """Entries of an action."""
        return self.task.policy_actions.size

    @property
    def steps_done(self) -> int:
        """The steps of the simulation, by all stations together."""
        return self.twin.substeps_done

    @property
    def repeatable(self) -> bool:
        """Whether the same seed gives the same episode to the last bit."""
        return self.reset is ResetMode.FAST

    @property
    def starter(self) -> tuple[str, Controller]:
        """Who shows how it is done, by name."""
        return DEMONSTRATOR, Demonstrations(self.task)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters of the task's skill script; none if it has no such script."""
        return self.task.parameters

    def begin(self, row: int, job: Job) -> None:
        """Start an episode on an idle station; its reset begins with the next tick.

        A physical one begins from what the last episode left there. The first episode of a station
        finds a scene that somebody has set up, and so does the first after `recover`.

        Whatever a task's own code raises for one station, in here or later, ends the episode as
        invalid, with file and line, and sets the station aside.
        """
        streams = job.streams()
        planner = job.controller if isinstance(job.controller, ChunkedController) else None
        attended = job.controller if isinstance(job.controller, SupervisedController) else None
        running = EpisodeState(job, streams, planner=planner, attended=attended)
        self._running[row] = running
        if self.frame_capture is not None:
            self.frame_capture.begin(row, streams.looks)
        physical = self.reset is ResetMode.PHYSICAL and row in self._standing
        with running.blamed(self.task.folder):
            self._resets.begin(row, running, physical)
        if self._targets is not None and isinstance(job.controller, MovesHands):
            job.controller.connect(self._targets)
        job.controller.begin(row, streams.exploration, job.exploration)

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

    def lose(self, row: int, reason: str) -> Episode:
        """A station is lost in the middle of its episode: that ends, and the station is aside."""
        self.wait()
        self._running[row].lost = True
        return self._finish(row, Verdict(Outcome.INVALID, stage=LOST, reason=reason))

    def tick(self, ahead: int = 0) -> list[Episode]:
        """One control period of every busy station; returns the episodes that ended.

        The physics of the period may still be under way; `wait` before looking at the twin.
        Stations may run up to `ahead` periods ahead of the ticks, which keeps threads busy and
        changes no episode: one that ends is returned by the tick it belongs to.

        Raises:
            PolicyError: a controller returned a wrong shape or a value that is not a number. The
                episodes under way are untouched: `abort` them.
        """
        self._scheduler.tick(list(self._running), ahead)
        return self.ended()

    def _goes_on(self, row: int) -> bool:
        """Whether a station is in the middle of its episode."""
        running = self._running.get(row)
        return running is not None and running.verdict is None

    def _policy_step(self, rows: list[int]) -> list[int]:
        """Sense and decide for stations whose physics is done; returns those that go on."""
        sensed, due = self._look(rows)
        return due if sensed is None else due + self._decide(self._with_pictures(sensed))

    def _with_pictures(self, sensed: Sensed) -> Sensed:
        """Leave out the stations whose policy waits for its picture."""
        capture = self.frame_capture
        if capture is None:
            return sensed
        states = {i: self._running[int(sensed.rows[i])] for i in sensed.executing}
        executing = [
            i
            for i, state in states.items()
            if not waits_for_picture(int(sensed.rows[i]), state, capture, self._scheduler)
        ]
        return replace(sensed, executing=executing)

    def advance(self, row: int, most: int) -> int:
        """Carry a station over a period, and on while it settles or has a plan; over how many.

        A plan ends early at whatever is not just its next period: that is for `_policy_step`.
        """
        running = self._running[row]
        if running.phase is StationPhase.RESET:
            alone = min(most - 1, running.alone)
            self.twin.advance(row, (1 + alone) * self.substeps)
            running.settling += alone
            running.reset += alone
            return 1 + alone
        left = min(most - 1, len(running.plan), self.execute_periods - running.execute)
        if left <= 0 or self._after_step:
            self.twin.advance(row, self.substeps)
            return 1
        readings, sent = self._chunk_executor.advance(row, running.plan[:left], running.execute)
        followed = len(running.follow(readings))
        running.moved(readings.axes, sent)
        return 1 + followed

    def sense(self, rows: list[int]) -> Sensed | None:
        """The first part of a control period of some busy stations; the second is `act`.

        For who has to say something in between; `tick` is both. Those that reset or verify are on
        their way when it returns. None if no other is left.
        """
        self.twin.wait(rows)
        sensed, due = self._look(rows)
        self.twin.start(due, self.substeps)
        return sensed

    def act(self, sensed: Sensed) -> None:
        """The second part: the controllers of stations that execute say what they do.

        Raises:
            PolicyError: as `tick` does.
        """
        self.twin.start(self._decide(sensed), self.substeps)

    def _look(self, rows: list[int]) -> tuple[Sensed | None, list[int]]:
        """What stations whose physics is done see; and those that go on without a decision."""
        self._interrupt(rows)
        states = {row: self._running[row] for row in rows if self._running[row].verdict is None}
        return self._start.begin(states, self.execute_periods)

    def _interrupt(self, rows: list[int]) -> None:
        """End the episodes of stations on which nothing can go on."""
        for row in self.twin.diverged(rows):
            self._running[row].finish(Verdict(Outcome.INVALID, reason="physics diverged"))
            self._running[row].diverged = True

    def _decide(self, sensed: Sensed) -> list[int]:
        """What stations that execute do: move their setpoints; returns those that go on."""
        executing = sensed.executing
        if not executing:
            return []
        rows, readings, jacobian = sensed.rows, sensed.readings, sensed.jacobian
        if len(executing) < len(rows):
            rows, readings, jacobian = rows[executing], readings.at(executing), jacobian[executing]
        states = [self._running[row] for row in rows.tolist()]
        actions = self._acting.choose(rows, states, readings)
        self._move(rows, actions, jacobian, readings.wrist_force)
        joints, sent = readings.axes, self.control.command[rows].reshape(len(rows), -1)
        for i, state in enumerate(states):
            state.moved(joints[i : i + 1], sent[i : i + 1])
        pairs = zip(rows.tolist(), states, strict=True)
        return [row for row, state in pairs if state.verdict is None]

    def ended(self) -> list[Episode]:
        """Episodes that have their verdict; their stations are idle from now on."""
        judged = [
            (row, running.verdict)
            for row, running in self._running.items()
            if running.verdict is not None
        ]
        if not judged:  # as nearly always
            return []
        early = self._scheduler.early
        return [self._finish(row, verdict) for row, verdict in judged if not early(row)]

    def set_initial_state(
        self, row: int, variation: FloatArray, poses: FloatArray | None = None
    ) -> None:
        """Write a scene into an idle station, as a fast reset does before it settles.

        poses: the draw that what skills bring about is taken from, if it is another.
        """
        self._resets.set_initial_state(row, variation, poses)

    def wait(self) -> None:
        """Wait for the physics that is under way."""
        self._scheduler.wait()
        self.twin.wait(range(len(self)))

    def _leave(self, row: int, running: EpisodeState, verdict: Verdict) -> None:
        """Note what an episode leaves behind: a scene to put back, none, or one beyond help."""
        self._resets.end_try(row, running)  # aborted in the middle of a reset
        unplaced = running.phase is StationPhase.RESET and running.target is None
        if running.diverged or unplaced:
            self._standing.discard(row)
        else:
            self._standing.add(row)
        if running.lost:
            self.aside[row] = verdict.reason

    def _finish(self, row: int, verdict: Verdict) -> Episode:
        running = self._running.pop(row)
        self._scheduler.leave(row)
        self._leave(row, running, verdict)
        if running.attended is not None:
            running.attended.ended(row)
        axes = self.control.command[0].size
        return episode_of(running, verdict, row, self.task, self.period, axes, self.packs)
