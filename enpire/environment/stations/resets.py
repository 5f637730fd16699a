"""How scenes are put back: written into the twin, or by the task's own skills."""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import StrEnum

import mujoco
import numpy as np

from enpire.environment.control.sensing import Sensors
from enpire.environment.core.task import Task
from enpire.environment.resets.identified import Identified
from enpire.environment.resets.perturbation import Perturbation, Perturber
from enpire.environment.resets.physical_reset import TRIES as RESTORE_TRIES
from enpire.environment.resets.physical_reset import PhysicalReset
from enpire.environment.resets.varied_arms import VariedArms
from enpire.environment.stations.episode_state import EpisodeState, StationPhase
from enpire.errors import PackError, ResetFailed
from enpire.twin.twin import Rows
from enpire.types import FloatArray, Outcome, Verdict

FARTHEST = 50.0  # that a thing is from the middle of a bench [m]
FASTEST = 2.0  # that a thing falls once it is settled: what was free for 0.2 s does [m/s]
RESET_TRIES = 4  # one, and again up to three times
TWICE = 1, 3  # of the scenes, that are written twice: the same variation gives the same
ROUNDING = 1e-6  # of a count of periods


class ResetMode(StrEnum):
    """How scenes are put back: written into the twin, or by the task's own skills."""

    FAST = "fast"
    PHYSICAL = "physical"


class Resets:
    """The first phase of every episode of one twin's stations."""

    def __init__(
        self,
        task: Task,
        sensors: Sensors,
        period: float,
        after_step: bool,
        perturbation: Perturbation | None = None,
    ) -> None:
        """period: of control [s]. after_step: the task looks at every period of a resting scene.

        perturbation: comes on top of what episodes draw.
        """
        self.task, self.sensors, self.period = task, sensors, period
        self.control, self.twin = sensors.control, sensors.twin
        self._after_step = after_step
        self._arms, self._identified = VariedArms(self.twin), Identified(self.twin)
        self._perturber = Perturber(perturbation, task, self.twin)
        names = task.variation_names
        self._target = np.array([names.index(name) for name in task.target_names], np.int64)
        model = self.twin.model
        self._placed = 0  # scenes
        self._free = np.flatnonzero(model.jnt_type == mujoco.mjtJoint.mjJNT_FREE)

    def begin(self, row: int, running: EpisodeState, physical: bool) -> None:
        """Draw the initial condition, and begin to bring it about."""
        self._perturber.restore(row)
        self._identified.vary(row, running.streams.dynamics)
        self._arms.vary(row, running.streams.dynamics)
        if not physical:
            self._place(row, running)
            return
        drawn = self._perturber.sample(running.streams.variation)
        self.task.randomize_physics(self.twin, row, drawn)
        self._identified.weigh(row)
        self._perturber.scale(row)
        running.target = drawn[self._target]
        self._restore(row, running)

    def period_over(self, rows: Sequence[int], states: Sequence[EpisodeState]) -> None:
        """One control period of resets: by skills, or waiting for a placed scene to be still."""
        handled = [i for i, state in enumerate(states) if state.restoring is not None]
        if handled:
            self._handle(np.array([rows[i] for i in handled]), [states[i] for i in handled])
        for i, (row, state) in enumerate(zip(rows, states, strict=True)):
            if i not in handled:
                with state.blamed(self.task.folder):
                    self._wait(row, state)

    def set_initial_state(
        self, row: int, variation: FloatArray, poses: FloatArray | None = None
    ) -> None:
        """See `Stations.set_initial_state`.

        Raises:
            PackError: the task places its scene otherwise for the same variation.
        """
        self._write(row, variation, poses)
        self._placed += 1
        if self._placed not in TWICE:
            return
        before = np.array(self.twin.qpos[row])
        self._write(row, variation, poses)
        if not np.array_equal(before, self.twin.qpos[row], equal_nan=True):
            raise PackError(
                f"{self.task.folder / 'task.py'}: set_initial_state places otherwise for the same "
                "variation: no seed fixes where an episode begins. Draw in `sample`, from its "
                "`rng` alone, and keep nothing from one episode to the next"
            )

    def _write(self, row: int, variation: FloatArray, poses: FloatArray | None) -> None:
        """Write a scene into a station."""
        self.twin.reset(row)
        self._perturber.restore(row)
        self.task.randomize_physics(self.twin, row, variation)
        self._identified.weigh(row)
        self._perturber.scale(row)
        self.task.set_initial_state(
            self.twin, self.control, row, variation if poses is None else poses
        )
        self.twin.forward(row)

    def end_try(self, row: int, running: EpisodeState) -> None:
        """No skill is under way any more, and the station's fixture is off."""
        if running.restoring is not None:
            running.restoring = None
            self.task.operate(self.twin, row, ())

    def _place(self, row: int, running: EpisodeState) -> None:
        running.tries += 1
        running.settling = 0
        self.set_initial_state(row, self._perturber.sample(running.streams.variation))

    def _restore(self, row: int, running: EpisodeState) -> None:
        """Begin a try at a physical reset, for the same initial condition as the one before."""
        if running.target is None:
            return
        running.tries += 1
        running.settling = 0
        (rng,) = running.streams.handling.spawn(1)
        self.sensors.draw(row, rng)
        restorer = self.task.restorer(rng, running.target)
        running.restoring = PhysicalReset(self.task, restorer, self.period)
        self.control.relax(row, bearing=restorer.bearing)

    def _handle(self, rows: Rows, states: Sequence[EpisodeState]) -> None:
        """One control period of tries at physical resets."""
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
            with state.blamed(self.task.folder):
                try:
                    action = restoring.next(readings.row(i))
                    self.task.operate(self.twin, row, restoring.fixture)
                    if action is not None:
                        actions[i] = action
                        acting.append(i)
                    elif restoring.pressed.any():
                        self.control.relax(row, restoring.pressed, restoring.bearing)
                    elif restoring.arrived:
                        measured = self.control.measured(rows[i : i + 1])[0]
                        self.control.set(row, restoring.start(measured), restoring.posture[1])
                    elif restoring.looked():
                        self.end_try(row, state)  # `settle` has the last word
                    elif restoring.homing:
                        self.control.approach(row, *restoring.posture, jacobian[i])
                except ResetFailed as error:
                    self._failed(row, state, error)
        if acting:
            force = readings.wrist_force[acting]
            limits = self.control.reset_limits
            self.control.apply(rows[acting], actions[acting], jacobian[acting], force, limits)

    def _failed(self, row: int, running: EpisodeState, error: ResetFailed) -> None:
        """Try the reset again, or give it up."""
        physical = running.target is not None
        tries = RESTORE_TRIES if physical else RESET_TRIES
        self.end_try(row, running)
        if running.tries >= tries:
            reason = f"reset failed {tries} times: {error}"
            running.verdict = Verdict(Outcome.INVALID, reason=reason)
            running.lost = physical
        elif physical:
            self._restore(row, running)
        else:
            self._place(row, running)

    def _wait(self, row: int, running: EpisodeState) -> None:
        """One control period of a placed scene that has to come to rest."""
        elapsed, limit = running.settling * self.period, self.task.settle_limit
        try:
            left = self.task.settle(self.twin, self.control, row, elapsed)
            if not left >= 0:  # true of what is no number, too
                raise ValueError(f"settle returns {left!r}: a time of 0 s or more is needed")
            if left and elapsed > limit:
                raise ResetFailed(f"not settled after {elapsed:.1f} s")
        except ResetFailed as error:
            left = self.period
            self._failed(row, running, error)
        if not left and (fault := self._falling(row)):
            left = self.period
            self._failed(row, running, ResetFailed(fault))
        if not left:
            self._identified.delay(row)
            self._perturber.delay(row)
            streams = running.streams
            self.sensors.begin(row, streams.noise)
            if streams.forked_noise is not None:
                self.sensors.draw_again(row, streams.forked_noise, running.job.forked)
            running.phase = StationPhase.EXECUTE
            return
        running.settling += 1
        running.reset += 1
        after = min(left, limit + self.period - elapsed) / self.period
        running.alone = 0 if self._after_step else max(math.ceil(after - ROUNDING) - 1, 0)

    def _falling(self, row: int) -> str:
        """Which thing falls though its scene has settled, for a person; empty if none does."""
        model = self.twin.model
        for joint in self._free:
            at = self.twin.qpos[row, model.jnt_qposadr[joint] :][:3].copy()
            if not (np.abs(at) <= FARTHEST).all():
                name = model.body(model.jnt_bodyid[joint]).name
                return (
                    f"{name} is at {', '.join(f'{x:.3g}' for x in at)} m once all has settled, "
                    f"beyond {FARTHEST:g} m: places are in m, no mm"
                )
            speed = -float(self.twin.qvel[row, model.jnt_dofadr[joint] + 2])
            if speed > FASTEST:
                name = model.body(model.jnt_bodyid[joint]).name
                return (
                    f"{name} falls at {speed:.1f} m/s once the scene has settled: is it placed "
                    "within something, or is there nothing below it that it meets?"
                )
        return ""
