"""When a run has to end."""

from __future__ import annotations

import time
from dataclasses import dataclass, field


@dataclass(slots=True)
class Budget:
    """Limits of a run; an unlimited one is infinite, never None.

    wall_s on the clock, over all starts of the run; robot_s of all stations, sealed evaluations
    aside; rounds of collect, train, evaluate.
    """

    wall_s: float = float("inf")
    robot_s: float = float("inf")
    rounds: float = float("inf")
    interrupted: bool = False
    started: float = field(default_factory=time.monotonic)

    @property
    def elapsed(self) -> float:
        """Seconds on the clock."""
        return time.monotonic() - self.started

    def spent(self, robot_s: float) -> str | None:
        """Why the run has to end now, or None."""
        if self.interrupted:
            return "interrupted"
        if self.elapsed >= self.wall_s:
            return f"--max-time is used up ({self.elapsed / 60:.1f} min)"
        if robot_s >= self.robot_s:
            return f"--max-robot-hours is used up ({robot_s / 3600:.2f} h)"
        return None
