"""What an arm can follow of a curve: the same way within its limits of speed and acceleration.

Whoever asks a supervisor for more has it sent less, and is farther from where the arm is with each
period, until that is a jump. This asks for what would be sent anyway, going on from what was: the
supervisor may have had other reasons to send less.
"""

from __future__ import annotations

from dataclasses import replace

from enpire.safety.gate import SentSetpoint, towards
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
        self._before: tuple[FloatArray, FloatArray, int] | None = None

    def next(self, wanted: FloatArray, sent: FloatArray, at: int) -> FloatArray:
        """The setpoint of this period.

        sent: by the supervisor in the period before, which was due at `at` [monotonic ns].
        """
        before = SentSetpoint.at_rest(sent)
        if self._before is not None:
            then, target, earlier = self._before
            seconds = max((at - earlier) * 1e-9, self._period)
            before = SentSetpoint(sent, (sent - then) / seconds, target)
        self._before = (sent, wanted, at)
        velocity, _ = towards(before, wanted, self._limits, self._period)
        return sent + velocity * self._period

    def rest(self) -> None:
        """There is nothing to follow; what comes next is another curve."""
        self._before = None
