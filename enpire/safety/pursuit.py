"""What an arm can follow of a curve: the same way within its limits of speed and acceleration.

Whoever asks a supervisor for more has it sent less, and is farther from where the arm is with each
period, until that is a jump. This asks for what would be sent anyway.
"""

from __future__ import annotations

from dataclasses import replace

from enpire.safety.gate import Motion, towards
from enpire.safety.limits import SafetyLimits
from enpire.types import FloatArray

SHARE = 0.98  # of both limits: the supervisor's periods are not exactly the streamer's


class Pursuit:
    """Goes after a curve that may be faster than the arms."""

    def __init__(self, limits: SafetyLimits, period: float) -> None:
        """period: of the supervisor [s]."""
        self._limits = replace(
            limits, speed=SHARE * limits.speed, acceleration=SHARE * limits.acceleration
        )
        self._period = period
        self._motion: Motion | None = None

    def next(self, wanted: FloatArray, sent: FloatArray) -> FloatArray:
        """The setpoint of this period; at first from rest at what was `sent` last."""
        before = self._motion or Motion.at_rest(sent)
        velocity, _ = towards(before, wanted, self._limits, self._period)
        position = before.position + velocity * self._period
        self._motion = Motion(position, velocity, wanted)
        return position

    def rest(self) -> None:
        """There is nothing to follow; what comes next is another curve."""
        self._motion = None
