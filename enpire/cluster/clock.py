"""How late it is for stations on many machines, and what is known of each one's episode."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from enpire.environment import Job
from enpire.types import Episode


@dataclass(slots=True)
class RunningEpisode:
    """An episode under way, as far as is known here; counts are of periods of the clock."""

    row: int
    job: Job
    ticket: int
    coming: Any  # Ray's reference
    began: int
    passed: int = 0  # since it began
    until: int | None = None  # where it has ended
    asked: Any = None  # the reference of how far it is, awaited
    waited: float | None = None  # since when it is asked in vain to have got on, monotonic [s]
    heard: float = field(default_factory=time.monotonic)  # when it last had
    result: Episode | None = None  # what came of it

    @property
    def bound(self) -> int:
        """The time on the clock until which nothing unknown is to come of it."""
        return self.began + self.passed if self.until is None else self.until


class CommonClock:
    """The clock of all stations, in control periods; one of `enpire.rollout.fleet.clock.Clock`."""

    def __init__(self, period: float) -> None:
        """Periods of so many seconds."""
        self.periods = 0
        self._period, self._before = period, 0.0

    @property
    def now(self) -> float:
        """See `Clock`."""
        return self._before + self._period * self.periods

    def goes_on_from(self, now: float) -> None:
        """An earlier start of the run got to `now` [s]."""
        self._before = now - self._period * self.periods

    def due(self, episodes: Iterable[RunningEpisode]) -> list[RunningEpisode]:
        """Go on as far as all of them have got; those that end by then."""
        known = list(episodes)
        self.periods = max(self.periods, min((running.bound for running in known), default=0))
        return [u for u in known if u.until is not None and u.until <= self.periods]

    def tick(self, period: float) -> None:
        """Nothing: `due` moves it."""

    def wait(self, seconds: float) -> None:
        """Nobody has anything to do."""
        time.sleep(seconds)


def lagging_episodes(episodes: Iterable[RunningEpisode]) -> list[tuple[int, int]]:
    """Stations that one whose episode has ended waits for, and periods that theirs have to pass."""
    known = list(episodes)
    first = min((running.until for running in known if running.until is not None), default=0)
    return [(running.row, first - running.began) for running in known if running.bound < first]


def silent_episodes(episodes: Iterable[RunningEpisode], seconds: float) -> list[tuple[int, int]]:
    """Stations not heard of for so long; their episodes have to pass one more period."""
    since = time.monotonic() - seconds
    return [(e.row, e.passed + 1) for e in episodes if e.until is None and e.heard < since]
