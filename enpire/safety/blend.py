"""From one setpoint a control period to a curve without a jump in place or speed.

Cubic Hermite segments, one from each setpoint to the next. The speed at a setpoint is that of the
slower of the two segments beside it, and zero where they point in opposite ways (Fritsch and
Butland 1984), as far as it can be known: of the segment to come only its past is. It does not know
of chunks, so it is as smooth across their boundaries as within.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from enpire.types import FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Segment:
    """A curve from `start` to `end` in `seconds`, (axes,) each, begun at `begin` [monotonic ns].

    Speeds at both, per second. slope: mean speed from the setpoint before to `end`.
    """

    begin: int
    seconds: float
    start: FloatArray
    start_speed: FloatArray
    end: FloatArray
    end_speed: FloatArray
    slope: FloatArray

    @classmethod
    def at_rest(cls, position: FloatArray, begin: int = 0) -> Segment:
        """Standing still, from the beginning to the end."""
        still = np.zeros_like(position)
        return cls(begin, 1e-3, position, still, position, still, still)

    def over(self, now: int) -> bool:
        """Whether the end is reached."""
        return now - self.begin >= self.seconds * 1e9

    @property
    def still(self) -> bool:
        """Whether it ends in standstill."""
        return not self.end_speed.any()

    def at(self, now: int) -> tuple[FloatArray, FloatArray]:
        """Position and speed at a time; after the end those of the end."""
        s = min(max((now - self.begin) * 1e-9 / self.seconds, 0.0), 1.0)
        way, t = self.end - self.start, self.seconds
        a = self.start_speed * t
        b = self.end_speed * t
        position = self.start + s * (a + s * (3 * way - 2 * a - b + s * (a + b - 2 * way)))
        speed = (a + s * (2 * (3 * way - 2 * a - b) + 3 * s * (a + b - 2 * way))) / t
        return position, speed

    def towards(self, now: int, setpoint: FloatArray, seconds: float) -> Segment:
        """Go on to the next setpoint, from wherever it is now."""
        start, speed = self.at(now)
        slope = (setpoint - self.end) / seconds
        same = np.sign(slope) == np.sign(self.slope)
        end_speed = np.where(same, np.sign(slope) * np.minimum(abs(slope), abs(self.slope)), 0.0)
        return Segment(now, seconds, start, speed, setpoint, end_speed, slope)

    def to_rest(self, now: int) -> Segment:
        """There is no next setpoint: come to rest at the last one."""
        start, speed = self.at(now)
        still = np.zeros_like(speed)
        return Segment(now, self.seconds, start, speed, self.end, still, still)
