"""A physical reset: skills put the scene back, the arms go to their posture, and a look decides."""

from __future__ import annotations

import math
from enum import Enum
from itertools import starmap

import numpy as np

from enpire.environment.control.cartesian_control import ActionSpec
from enpire.environment.control.sensing import Readings
from enpire.environment.core.task import Restorer, Task
from enpire.errors import ResetFailed
from enpire.types import Float32Array, FloatArray, Predicate

TRIES = 3
EASE = 0.2  # for which the hands give way to what they were pressed against [s]
LOOK = 0.4  # for which the hands rest and the scene is looked at [s]
PRESSED = 0.5  # share of the force limit that a hand feels which still presses on something
AT = 0.03  # of a joint from its posture, so that the hand is there [rad]
# A servo without feed-forward misses its setpoint by its load over its gain, and by its friction.
EXACT = 0.002  # of a joint from its posture, once its setpoint makes up for that [rad]
TRIM = 0.25  # share of what is missed by which a setpoint is moved on in `TRIM_EVERY`
TRIM_EVERY = 0.04  # a station that acts less often moves it as far in the same time [s]
TRIM_LIMIT = 1.5  # time for it; where a joint is held, the look decides [s]


class RestoringStep(Enum):
    """How far a try is."""

    EASE = "ease"
    CLEAR = "clear"
    BACK = "back"
    SKILLS = "skills"
    HOME = "home"
    TRIM = "trim"
    LOOK = "look"


class PhysicalReset:
    """One try of one station; it sees sensor readings only, so an arm is put back by the same."""

    def __init__(self, task: Task, restorer: Restorer, period: float) -> None:
        """Run `restorer`'s skills at one action every `period` seconds."""
        self._restorer = restorer
        self._force_limit = task.force_limit
        self._limit = task.restore_limit
        self._period = period
        self._spec = task.reset_actions or task.actions
        self._stretch = task.reset_stretch
        self._step = RestoringStep.EASE
        self._periods = 0
        self._seen: list[Readings] = []
        self._share = 1.0 - (1.0 - TRIM) ** (period / TRIM_EVERY)
        self._trim: FloatArray | None = None  # of the setpoints, beyond the posture [rad]
        self._trimmed = 0  # periods
        self.arrived = False  # in this very period
        self.pressed = np.zeros(len(task.actions.arms), np.bool_)  # hands that are to give way

    @property
    def posture(self) -> tuple[FloatArray, FloatArray]:
        """Setpoints of joints (arms, dof) [rad] and grippers (arms,) that lead to the posture."""
        joints, grippers = self._restorer.posture
        joints = joints + self.bearing
        return joints if self._trim is None else joints + self._trim, grippers

    @property
    def bearing(self) -> FloatArray | float:
        """How far setpoints are ahead of joints at the start, (arms, dof) [rad]."""
        return self._restorer.bearing

    def start(self, joints: FloatArray) -> FloatArray:
        """Setpoints (arms, dof) that a policy begins with; joints: as measured, both in rad.

        They are those of a fast reset, but of a joint that is held, which stays where it is.
        """
        posture = self._restorer.posture[0]
        there = np.abs(joints - posture) < EXACT
        begin: FloatArray = np.where(there, posture, joints) + self.bearing
        return begin

    @property
    def fixture(self) -> tuple[str, ...]:
        """What of the station's fixture is to be on."""
        return self._restorer.fixture

    @property
    def homing(self) -> bool:
        """Whether the arms go to their posture."""
        return self._step in (RestoringStep.BACK, RestoringStep.HOME, RestoringStep.TRIM)

    def next(self, readings: Readings) -> Float32Array | None:
        """The skills' next action from one station's readings, or None: see `homing`.

        Once the joints are measured at their posture `arrived` is set for one period: the setpoints
        are to be brought to `start`. Then the hands rest.

        Raises:
            ResetFailed: the try is over, and why the scene is not in place.
        """
        self._periods += 1
        if self._periods * self._period > self._limit:
            raise ResetFailed(f"{self._step.value} not done after {self._limit:g} s")
        if self._step is RestoringStep.EASE:
            feels = np.linalg.norm(readings.wrist_force[0], axis=1)
            self.pressed = feels > PRESSED * self._force_limit
            if self._periods * self._period > EASE:
                self._step = RestoringStep.CLEAR
            return None
        self.pressed[:] = False
        felt = max(starmap(math.hypot, readings.wrist_force[0].tolist()))
        if felt > self._force_limit:
            raise ResetFailed(f"wrist force {felt:.0f} N above {self._force_limit:.0f} N")
        action: Float32Array | None = None
        if self._step is RestoringStep.CLEAR:
            action = self._restorer.clear(readings)
            if action is None:
                self._step = RestoringStep.BACK
        if self._step is RestoringStep.BACK and self._distance(readings) < AT:
            self._step = RestoringStep.SKILLS
        if self._step is RestoringStep.SKILLS:
            action = self._restorer.act(readings)
            if action is None:
                self._step = RestoringStep.HOME
        if self._step is RestoringStep.HOME and self._distance(readings) < AT:
            self._step = RestoringStep.TRIM
            self._trim = np.zeros_like(readings.joints[0])
        self.arrived = self._step is RestoringStep.TRIM and self._at_rest(readings)
        if self.arrived:
            self._step = RestoringStep.LOOK
        elif self._step is RestoringStep.LOOK:
            self._seen.append(readings)
        if action is None:
            return None
        return within_stretch(action, readings, self._spec, self._stretch)

    def looked(self) -> bool:
        """Whether the scene was looked at long enough, and is in place.

        Raises:
            ResetFailed: it is not; the measures that say so.
        """
        if len(self._seen) * self._period < LOOK:
            return False
        off = math.degrees(self._distance(self._seen[-1]))
        posture = Predicate("posture", off, math.degrees(AT), "deg", at_least=False)
        missed = [p for p in (posture, *self._restorer.in_place(self._seen)) if not p.holds]
        if missed:
            raise ResetFailed("; ".join(p.reason for p in missed))
        return True

    def _at_rest(self, readings: Readings) -> bool:
        """Whether the joints are measured at the posture; else move their setpoints on."""
        self._trimmed += 1
        if self._distance(readings) < EXACT or self._trimmed * self._period > TRIM_LIMIT:
            return True
        missed = self._restorer.posture[0] - readings.joints[0]
        further = self._share * missed
        self._trim = further if self._trim is None else self._trim + further
        return False

    def _distance(self, readings: Readings) -> float:
        """The distance of the joint that is furthest from its posture [rad]."""
        return float(np.abs(readings.joints[0] - self._restorer.posture[0]).max())


def within_stretch(
    action: Float32Array, readings: Readings, spec: ActionSpec, most: float
) -> Float32Array:
    """The action (act,) of one station with which no hand's setpoint is too far ahead of the hand.

    One that is too far ahead already comes back, at the speed that an action has.

    Args:
        action: what the skills want.
        readings: of that station.
        spec: the layout of actions.
        most: how far a setpoint may be ahead of its hand [m].
    """
    if math.isinf(most):
        return action
    scale = spec.scale[:, :3]
    moves = action.reshape(-1, 7).copy()
    lead = readings.lead[0]
    ahead = lead + moves[:, :3] * scale
    far = np.linalg.norm(ahead, axis=1)
    for arm in np.flatnonzero(far > most):
        step = most / far[arm] * ahead[arm] - lead[arm]
        moves[arm, :3] = np.divide(step, scale[arm], out=np.zeros(3), where=scale[arm] > 0)
    moves[:, :3] = moves[:, :3].clip(-1.0, 1.0)
    return moves.reshape(action.shape)
