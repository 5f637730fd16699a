"""The clock of a fleet's stations: the twin's own, or the one on the wall."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol


class Clock(Protocol):
    """Says how late it is for the stations [s], and lets a control period pass."""

    @property
    def now(self) -> float:
        """Seconds since the run began, over all its starts."""

    def tick(self, period: float) -> None:
        """The stations have begun a control period of so many seconds: let it pass."""

    def wait(self, seconds: float) -> None:
        """No station has anything to do: look again after so long."""


class SimulatedClock:
    """A twin's: time passes as fast as it can be simulated, and stands still while nothing is."""

    def __init__(self, now: float = 0.0) -> None:
        self.now = now

    def tick(self, period: float) -> None:
        """See `Clock`."""
        self.now += period

    def wait(self, seconds: float) -> None:
        """See `Clock`."""
        time.sleep(seconds)


class WallClock:
    """Real time, as arms have it. Where the machine cannot keep up, periods take longer."""

    def __init__(self, now: float = 0.0) -> None:
        self._began = time.monotonic() - now
        self._due = self.now

    @property
    def now(self) -> float:
        """See `Clock`."""
        return time.monotonic() - self._began

    def tick(self, period: float) -> None:
        """See `Clock`. What was late is not caught up with: an arm would not move faster either."""
        late = self.now
        self._due = max(self._due + period, late)
        time.sleep(self._due - late)

    def wait(self, seconds: float) -> None:
        """See `Clock`."""
        time.sleep(seconds)


class PacedClock:
    """A twin's that keeps to the pace of the wall's while somebody has a hand in its stations."""

    def __init__(self, clock: Clock, real: Callable[[], bool]) -> None:
        """clock: of the stations; real: whether somebody has, now."""
        self._clock, self._real, self._due = clock, real, 0.0

    @property
    def now(self) -> float:
        """See `Clock`: what the stations have passed, however long that took."""
        return self._clock.now

    def tick(self, period: float) -> None:
        """See `Clock`; what was late is not caught up with."""
        self._clock.tick(period)
        if self._real():
            late = time.monotonic()
            self._due = max(self._due + period, late)
            time.sleep(self._due - late)

    def wait(self, seconds: float) -> None:
        """See `Clock`."""
        self._clock.wait(seconds)


class WatchedClock:
    """A clock at whose every tick somebody looks at the stations."""

    def __init__(self, clock: Clock, look: Callable[[], None]) -> None:
        self._clock, self._look = clock, look

    @property
    def now(self) -> float:
        """See `Clock`."""
        return self._clock.now

    def tick(self, period: float) -> None:
        """See `Clock`."""
        self._clock.tick(period)
        self._look()

    def wait(self, seconds: float) -> None:
        """See `Clock`."""
        self._clock.wait(seconds)
        self._look()
