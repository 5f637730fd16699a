"""A physical reset: skills put the scene back, the arms go to their posture, and a look decides."""

from __future__ import annotations

import math
from collections.abc import Callable
from enum import Enum
from itertools import starmap

import numpy as np

from enpire.environment.sensing import Readings
from enpire.environment.task import Restorer, Task
from enpire.errors import ResetFailed
from enpire.types import Float32Array, FloatArray, Predicate

TRIES = 3
EASE = 0.2  # for which the hands give way to what they were pressed against [s]
LOOK = 0.4  # for which the hands rest and the scene is looked at [s]
AT = 0.03  # of a joint from its posture, so that the hand is there [rad]


class Step(Enum):
    """How far a try is."""

    EASE = "ease"
    CLEAR = "clear"
    BACK = "back"
    SKILLS = "skills"
    HOME = "home"
    LOOK = "look"


class Restoring:
    """One try of one station; it sees sensor readings only, so an arm is put back by the same."""

    def __init__(
        self, task: Task, restorer: Restorer, period: float, shift: Callable[[], None]
    ) -> None:
        """Run `restorer`'s skills at one action every `period` seconds.

        shift: has fixtures moved to where they are to be; called once the hands are clear of them.
        """
        self._restorer = restorer
        self._shift = shift
        self._force_limit = task.force_limit
        self._limit = task.restore_limit
        self._period = period
        self._step = Step.EASE
        self._periods = 0
        self._seen: list[Readings] = []

    @property
    def posture(self) -> tuple[FloatArray, FloatArray]:
        """Joints (arms, dof) [rad] and grippers (arms,) to go to once the skills are done."""
        return self._restorer.posture

    @property
    def homing(self) -> bool:
        """Whether the arms go to their posture, or are there and look."""
        return self._step in (Step.BACK, Step.HOME, Step.LOOK)

    def next(self, readings: Readings) -> Float32Array | None:
        """The skills' next action from one station's readings, or None: see `homing`.

        Raises:
            ResetFailed: the try is over, and why the scene is not in place.
        """
        self._periods += 1
        if self._periods * self._period > self._limit:
            raise ResetFailed(f"{self._step.value} not done after {self._limit:g} s")
        if self._step is Step.EASE:
            if self._periods * self._period > EASE:
                self._step = Step.CLEAR
            return None
        felt = max(starmap(math.hypot, readings.wrist_force[0].tolist()))
        if felt > self._force_limit:
            raise ResetFailed(f"wrist force {felt:.0f} N above {self._force_limit:.0f} N")
        action: Float32Array | None = None
        if self._step is Step.CLEAR:
            action = self._restorer.clear(readings)
            if action is None:
                self._shift()
                self._step = Step.BACK
        if self._step is Step.BACK and self._off(readings) < AT:
            self._step = Step.SKILLS
        if self._step is Step.SKILLS:
            action = self._restorer.act(readings)
            if action is None:
                self._step = Step.HOME
        if self._step is Step.HOME and self._off(readings) < AT:
            self._step = Step.LOOK
        if self._step is Step.LOOK:
            self._seen.append(readings)
        return action

    def looked(self) -> bool:
        """Whether the scene was looked at long enough, and is in place.

        Raises:
            ResetFailed: it is not; the measures that say so.
        """
        if len(self._seen) * self._period < LOOK:
            return False
        off = math.degrees(self._off(self._seen[-1]))
        posture = Predicate("posture", off, math.degrees(AT), "deg", at_least=False)
        missed = [p for p in (posture, *self._restorer.in_place(self._seen)) if not p.holds]
        if missed:
            said = [f"{p.name} {p.value:.1f} {p.unit} (needs {p.threshold:g})" for p in missed]
            raise ResetFailed("; ".join(said))
        return True

    def _off(self, readings: Readings) -> float:
        """Of the joint that is furthest from its posture [rad]."""
        return float(np.abs(readings.joints[0] - self.posture[0]).max())
