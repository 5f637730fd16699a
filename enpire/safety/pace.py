"""Periods of equal length by the monotonic clock, and the hygiene that keeps them so."""

from __future__ import annotations

import gc
import os
import time
from contextlib import suppress
from pathlib import Path

from enpire.errors import SafetyError
from enpire.safety.station import RealTimeSettings

SLACK = 0.02  # share of a period by which two ticks may be nearer than one period


class Pace:
    """Deadlines a period apart. After a late tick the rest is late too: two never come close."""

    def __init__(self, period: float) -> None:
        """The first deadline is a period from now."""
        self._period = round(period * 1e9)
        self.deadline = time.monotonic_ns() + self._period

    def wait(self) -> int:
        """Sleep until the deadline, and set the next; returns how late it is now [ns]."""
        left = self.deadline - time.monotonic_ns()
        if left > 0:
            time.sleep(left * 1e-9)
        late = time.monotonic_ns() - self.deadline
        self.deadline += self._period + max(0, late - round(SLACK * self._period))
        return late


def prepare(wish: RealTimeSettings) -> None:
    """Pin this thread, give all threads their priority; no garbage collection from now on.

    All: what a driver hears comes by threads of its own, and is as urgent.

    Raises SafetyError if the system does not allow what a station file asks for.
    """
    try:
        if wish.cpu is not None:
            os.sched_setaffinity(0, {wish.cpu})
        if wish.priority is not None:
            for thread in Path("/proc/self/task").iterdir():
                with suppress(ProcessLookupError):  # it has ended meanwhile
                    parameter = os.sched_param(wish.priority)
                    os.sched_setscheduler(int(thread.name), os.SCHED_FIFO, parameter)
    except (OSError, ValueError) as error:
        raise SafetyError(
            f"[realtime] cannot be had here ({error}): see docs/safety.md on rtprio and cores"
        ) from error
    gc.collect()
    gc.freeze()
    gc.disable()
