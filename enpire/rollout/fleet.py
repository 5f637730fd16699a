"""R: a fleet of stations that is handed episodes one at a time, and recorded.

A station that finishes gets the next episode at once. Every episode is put to the store before it is
handed on, and every stretch of robot time is accounted for: reset, execution, verification, idleness.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from enpire.environment import Job, Stations
from enpire.errors import EnpireError
from enpire.store import EpisodeWriter, Interval, Phase
from enpire.types import Episode


class Stopped(EnpireError):
    """The fleet was told to stop; what was under way is recorded as aborted."""


class Fleet:
    """The stations of a run."""

    def __init__(
        self,
        stations: Stations,
        writer: EpisodeWriter,
        should_stop: Callable[[float], str | None] = lambda robot_s: None,
        on_episode: Callable[[Episode], None] = lambda episode: None,
        robot_s: float = 0.0,
    ) -> None:
        """Record to `writer`; ask `should_stop` (with robot seconds so far) before every episode
        and every control period: a reason ends the run.
        """
        self.stations = stations
        self.robot_s = robot_s
        self._writer = writer
        self._should_stop = should_stop
        self._on_episode = on_episode
        self._now = 0.0
        self._free_since = dict.fromkeys(range(len(stations)), 0.0)

    def run(self, jobs: Iterable[Job]) -> Iterator[Episode]:
        """Run all jobs; yields episodes as they end, in any order.

        Jobs are drawn when a station is free, so an iterable may decide late what comes next.

        Raises:
            Stopped: told to; episodes under way were recorded as aborted.
            PolicyError: a policy returned something that is no action; likewise.
        """
        waiting = iter(jobs)
        self._free_since = dict.fromkeys(self._free_since, self._now)
        more = True
        try:
            while more or self.stations.busy:
                for row in self.stations.idle if more else ():
                    job = next(waiting, None)
                    if job is None:
                        more = False
                        break
                    self._idle(row)
                    self.stations.begin(row, job)
                reason = self._should_stop(self.robot_s)
                if reason is not None:
                    raise Stopped(reason)
                done = self.stations.tick() if self.stations.busy else []
                self._now += self.stations.period
                for episode in done:
                    yield self._record(episode)
        except BaseException as error:
            for episode in self.stations.abort(str(error) or type(error).__name__):
                self._record(episode)
            raise
        for row in range(len(self.stations)):
            self._idle(row)

    def _record(self, episode: Episode) -> Episode:
        times, end = episode.times, self._now
        marks = [end - times.total, end - times.execute - times.verify, end - times.verify, end]
        phases = (Phase.RESET, Phase.EXECUTE, Phase.VERIFY)
        intervals = [
            Interval(episode.station, phase, start, stop, episode.id)
            for phase, start, stop in zip(phases, marks, marks[1:], strict=False)
        ]
        self._writer.put([episode], intervals)
        self._free_since[episode.station] = end
        self.robot_s += times.total
        self._on_episode(episode)
        return episode

    def _idle(self, row: int) -> None:
        since = self._free_since[row]
        if self._now - since > 0.5 * self.stations.period:
            self._writer.put([], [Interval(row, Phase.IDLE, since, self._now)])
        self._free_since[row] = self._now
