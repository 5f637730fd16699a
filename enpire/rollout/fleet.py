"""R: a fleet of stations that is handed episodes one at a time, and recorded.

A station that finishes gets the next episode at once. Every episode is put to the store before it
is handed on, and every stretch of robot time is accounted for: reset, execution, verification,
idleness.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Generator, Iterable
from dataclasses import replace

from enpire.environment import Job, Workcells
from enpire.errors import EnpireError, ResetFailed
from enpire.rollout.recovery import Recovery
from enpire.store import EpisodeWriter, Interval, Phase
from enpire.types import Episode, Purpose

AHEAD = 32  # control periods that stations may run ahead of the fleet's clock
WAIT_S = 0.2  # for help, before it is asked again whether to stop
PHASES = (Phase.RESET, Phase.EXECUTE, Phase.VERIFY)  # of an episode, in order


class Stopped(EnpireError):
    """The fleet was told to stop; what was under way is recorded as aborted."""


class Fleet:
    """The stations of a run."""

    def __init__(
        self,
        stations: Workcells,
        writer: EpisodeWriter,
        should_stop: Callable[[float], str | None] = lambda robot_s: None,
        on_episode: Callable[[Episode], None] = lambda episode: None,
        robot_s: float = 0.0,
        now: float = 0.0,
        recovery: Recovery | None = None,
        note: Callable[[str, int, str], None] = lambda kind, station, text: None,
    ) -> None:
        """Record to `writer`; ask `should_stop` (with robot seconds so far, sealed evaluations
        apart) before every episode and every control period: a reason ends the run.

        robot_s, now: robot time used so far and the stations' clock, where a run is continued [s].
        recovery: is called for stations that are set aside; without it they stay so. note: told of
        such stations what happened (`aside`, `back`, `left aside`), which, and why.
        """
        self.stations = stations
        self.robot_s = robot_s
        self.stepping_s = 0.0  # on the clock, in which the stations stepped
        self._writer = writer
        self._should_stop = should_stop
        self._on_episode = on_episode
        self._recovery, self._note = recovery, note
        self._noted: set[int] = set()  # of the stations that are aside
        self._now = now
        self._free_since = dict.fromkeys(range(len(stations)), now)

    def run(self, jobs: Iterable[Job]) -> Generator[Episode]:
        """Run all jobs; yields episodes as they end, in any order.

        Jobs are drawn when a station is free, so an iterable may decide late what comes next.

        Raises:
            Stopped: told to; episodes under way were recorded as aborted.
            ResetFailed: there are jobs, all stations are set aside, and no help is under way.
            PolicyError: a policy returned something that is no action; likewise.
        """
        waiting = iter(jobs)
        drawn: Job | None = None  # for want of a station not begun yet
        self._free_since = dict.fromkeys(self._free_since, self._now)
        more = True
        try:
            while more or self.stations.busy:
                for row in self.stations.idle if more else ():
                    job, drawn = drawn or next(waiting, None), None
                    if job is None:
                        more = False
                        break
                    self._idle(row)
                    self.stations.begin(row, job)
                stuck = more and not self.stations.busy
                if stuck:
                    drawn = drawn or next(waiting, None)
                    if drawn is None:
                        break
                reason = self._should_stop(self.robot_s)
                if reason is not None:
                    raise Stopped(reason)
                if stuck:
                    self._look_after(WAIT_S)
                    continue
                began = time.perf_counter()
                done = self.stations.tick(AHEAD) if self.stations.busy else []
                self.stepping_s += time.perf_counter() - began
                self._now += self.stations.period
                self._record(done)
                if self.stations.aside:
                    self._look_after()
                yield from done
        except BaseException as error:
            cut_short = self.stations.abort(str(error) or type(error).__name__)
            # Under a name of their own: a run that is continued begins the same episodes anew.
            token = secrets.token_hex(4)
            self._record([replace(e, id=f"{e.id}-aborted-{token}") for e in cut_short])
            raise
        finally:
            for row in range(len(self.stations)):
                self._idle(row)

    def _record(self, episodes: list[Episode]) -> None:
        """Put all of a period's episodes before anyone hears of one: a caller may raise."""
        if not episodes:
            return
        intervals: list[Interval] = []
        for episode in episodes:
            row, times = episode.station, episode.times
            begun, end = self._free_since[row], self._now
            # An exception within a period leaves a reset counted that the clock has not seen.
            marks = [begun, begun + times.reset, begun + times.reset + times.execute, end]
            marks = [min(mark, end) for mark in marks]
            intervals += [
                Interval(row, phase, start, stop, episode.id)
                for phase, start, stop in zip(PHASES, marks, marks[1:], strict=False)
            ]
            self._free_since[row] = end
            if episode.purpose is not Purpose.SEALED:
                self.robot_s += times.total
        self._writer.put(episodes, intervals)
        for episode in episodes:
            self._on_episode(episode)

    def _look_after(self, wait_s: float = 0.0) -> None:
        """Have help called for stations that were set aside, and take back those it came to.

        Raises:
            ResetFailed: to be waited for was help, and none is under way.
        """
        for row, reason in self.stations.aside.items():
            if row not in self._noted:
                self._noted.add(row)
                self._note("aside", row, reason)
                if self._recovery is not None:
                    self._recovery.call(row, reason)
        if self._recovery is None or not self._recovery.under_way:
            if wait_s:
                raise ResetFailed(_all_aside(self.stations.aside))
            return
        for found in self._recovery.ended(wait_s):
            if found.came:
                self.stations.recover(found.station)
                self._noted.discard(found.station)
            self._note("back" if found.came else "left aside", found.station, found.said)

    def _idle(self, row: int) -> None:
        since = self._free_since[row]
        if self._now - since > 0.5 * self.stations.period:
            self._writer.put([], [Interval(row, Phase.IDLE, since, self._now)])
        self._free_since[row] = self._now


def _all_aside(reasons: dict[int, str]) -> str:
    said = "; ".join(f"{row}: {reason}" for row, reason in sorted(reasons.items()))
    return f"all stations are set aside ({said}): set their scenes up, or mend the task, and go on"
