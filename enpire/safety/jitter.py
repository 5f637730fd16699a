"""How late a supervisor's periods begin on this machine, as it is loaded."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from enpire.safety.pace import Pace


@dataclass(frozen=True, slots=True)
class Jitter:
    """Lateness of periods [s]: median, 99th and 99.9th percentile, the worst; of how many."""

    periods: int
    median: float
    p99: float
    p999: float
    worst: float

    def __str__(self) -> str:
        return (
            f"{self.periods} periods began late by: median {self.median * 1e3:.3f} ms, "
            f"p99 {self.p99 * 1e3:.3f} ms, p99.9 {self.p999 * 1e3:.3f} ms, "
            f"worst {self.worst * 1e3:.3f} ms"
        )


def measure(period: float, seconds: float) -> Jitter:
    """Wait for deadlines as a supervisor does, in this process; see `pace.prepare`."""
    pace = Pace(period)
    late = np.array([pace.wait() for _ in range(max(1, round(seconds / period)))]) * 1e-9
    return Jitter(len(late), *(float(np.quantile(late, q)) for q in (0.5, 0.99, 0.999, 1.0)))
