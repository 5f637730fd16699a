"""R: a fleet of stations that is handed episodes one at a time, and recorded.

A station that finishes gets the next episode at once, of whichever work is furthest behind its
share (`scheduler.py`). Every episode is put to the store before it is handed on, and every stretch
of robot time is accounted for: reset, execution, verification, idleness, and being set aside.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import replace

from enpire.environment import Eventful, Job, StationBackend
from enpire.errors import EnpireError, ResetFailed
from enpire.rollout.fleet.clock import Clock, SimulatedClock
from enpire.rollout.fleet.recovery import Recovery
from enpire.rollout.fleet.requests import Requests
from enpire.rollout.fleet.scheduler import Queue, ScheduledJob, Scheduler
from enpire.rollout.fleet.station_state import StationState
from enpire.store import EpisodeWriter, Interval, Phase
from enpire.types import FAULT, LOST, SERVER, Episode, Outcome, Purpose

AHEAD = 32  # control periods that stations may run ahead of the fleet's clock
WAIT_S = 0.2  # for help, before it is asked again whether to stop
LOST_ON = 3  # stations under which a job's episode may be lost, before it counts as its own fault
FAULTS = 2  # the same of faults of its environment; fewer than those that set a station aside
UNSURE = 2  # episodes in a row, in which the verifier is, that set a station aside
LOOK_S = 0.05  # while no work is due, before it is asked again
PHASES = (Phase.RESET, Phase.EXECUTE, Phase.VERIFY)  # of an episode, in order


class Stopped(EnpireError):
    """The fleet was told to stop; what was under way is recorded as aborted."""


class Fleet:
    """The stations of a run."""

    def __init__(
        self,
        stations: StationBackend,
        writer: EpisodeWriter,
        should_stop: Callable[[float], str | None] = lambda robot_s: None,
        on_episode: Callable[[Episode], None] = lambda episode: None,
        robot_s: float = 0.0,
        clock: Clock | None = None,
        recovery: Recovery | None = None,
        note: Callable[[str, int, str], None] = lambda kind, station, text: None,
        requests: Requests | None = None,
        ahead: Callable[[], int] = lambda: AHEAD,
        before: Sequence[Interval] = (),
    ) -> None:
        """Record to `writer`; ask `should_stop` (with robot seconds so far, sealed evaluations
        apart) before every episode and every control period: a reason ends the run.

        robot_s: robot time used so far, where a run is continued [s]. clock: the stations'; by
        default a twin's. recovery: is called for stations that are set aside; without it they stay
        so. note: told of such stations what happened (`aside`, `back`, `left aside`), which, and
        why, and of any what is `StationEvent` on it. requests: of a person, to pause or resume
        stations. ahead: control periods that stations may now run ahead of the clock: none while
        somebody has a hand in it. before: what the stations did, where a run is continued: what
        they did after it is lost with the process that died, and counts as idle.
        """
        self.stations = stations
        self._eventful = stations if isinstance(stations, Eventful) else None
        self.robot_s = robot_s
        self.stepping_s = 0.0  # on the clock, in which the stations stepped
        self.clock: Clock = clock or SimulatedClock()
        self._writer = writer
        self._should_stop = should_stop
        self._on_episode = on_episode
        self._recovery, self._note, self._requests = recovery, note, requests
        self._ahead = ahead
        self._aside: set[int] = set()  # stations that are aside, as far as is noted
        self._paused: set[int] = set()  # those of them, or soon, that a person has paused
        self._unsure = dict.fromkeys(range(len(stations)), 0)  # verdicts in a row
        self._scheduler = Scheduler()
        self._drawn: dict[int, ScheduledJob] = {}  # what stations run
        self._now = self.clock.now
        self._free_since = dict.fromkeys(range(len(stations)), 0.0 if before else self._now)
        for interval in before:
            since = self._free_since.get(interval.station, 0.0)
            self._free_since[interval.station] = max(since, interval.end_s)
        for row in range(len(stations)):
            self._idle(row)

    def beside(self, jobs: Iterable[Job | None], share: float = 0.0) -> Queue:
        """Have jobs run beside those of the next `run`s, which yield their episodes too.

        share: of robot time; 0.0 is what would otherwise be idle. Such work outlasts a `run`: end
        it with `run_out`, or with `stop`.
        """
        return self._scheduler.add(jobs, share)

    def run(self, jobs: Iterable[Job | None]) -> Generator[Episode]:
        """Run all jobs; yields episodes as they end, in any order, those `beside` among them.

        Jobs are drawn when a station is free, so an iterable may decide late what comes next, or
        say with `None` that nothing is due yet. A job whose station is lost goes to another; one
        whose environment or server was at fault is run once more.

        Raises:
            Stopped: told to; episodes under way were recorded as aborted.
            ResetFailed: there are jobs, all stations are set aside, and no help is under way.
            PolicyError: a policy returned something that is no action; likewise.
        """
        yield from self.run_out(self._scheduler.add(jobs))

    def run_out(self, queue: Queue) -> Generator[Episode]:
        """Go on until all jobs of a queue have had their episodes; otherwise as `run`."""
        queue.share = queue.share or 1.0
        try:
            yield from self.go_on(lambda: queue.over)
        finally:
            self._scheduler.remove(queue)

    def go_on(self, over: Callable[[], bool]) -> Generator[Episode]:
        """Go on with whatever is `beside`, until `over`, which is asked before every period.

        It may add and drop queues. Raises as `run`.
        """
        try:
            while not over():
                self._hand_out()
                reason = self._should_stop(self.robot_s)
                if reason is not None:
                    raise Stopped(reason)
                yield from self._period()
        except BaseException as error:
            self.stop(str(error) or type(error).__name__)
            raise
        finally:
            for row in self._free_since.keys() - self._drawn.keys():
                self._idle(row)

    def drop(self, queue: Queue) -> None:
        """Begin no more of a queue's jobs."""
        self._scheduler.remove(queue)

    def stop(self, reason: str) -> None:
        """End everything; what is under way is recorded as aborted."""
        cut_short = self.stations.abort(reason)
        # Under a name of their own: a run that is continued begins the same episodes anew.
        token = secrets.token_hex(4)
        self._record([replace(e, id=f"{e.id}-aborted-{token}") for e in cut_short])
        self._drawn.clear()
        self._scheduler = Scheduler()

    @property
    def states(self) -> list[StationState]:
        """What every station does right now; from any thread."""
        drawn, aside, since = dict(self._drawn), dict(self.stations.aside), dict(self._free_since)
        states = []
        for row in sorted(since):
            seconds = max(0.0, self._now - since[row])
            if row in drawn:
                job, reason = drawn[row].job, aside.get(row, "")
                what = job.id, str(job.purpose), job.policy
                state = StationState(row, "running", seconds, *what, reason)
            elif row in aside:
                state = StationState(row, "aside", seconds, reason=aside[row])
            else:
                state = StationState(row, "idle", seconds)
            states.append(state)
        return states

    def note_events(self, last: bool = False) -> None:
        """Have noted what has happened on stations; last: the run ends."""
        if self._eventful is not None:
            for event in self._eventful.new_events(last):
                self._note(event.kind, event.station, event.text)

    def _hand_out(self) -> None:
        """Begin an episode on every station that is free, while there is work."""
        for row in self.stations.idle:
            drawn = self._scheduler.next()
            if drawn is None:
                return
            self._idle(row)
            self._drawn[row] = drawn
            self.stations.begin(row, drawn.job)

    def _period(self) -> list[Episode]:
        """Let a control period pass; the episodes that ended in it and are not run again."""
        if not self.stations.busy:
            self._rest()
            return []
        began = time.perf_counter()
        ended = self.stations.tick(self._ahead())
        self.stepping_s += time.perf_counter() - began
        self.clock.tick(self.stations.period)
        self._now = self.clock.now
        done = self._handed_back(ended)
        self._record([episode for episode, _ in done])
        for episode in ended:
            self._doubt(episode)
        self._look_after()
        return [episode for episode, again in done if not again]

    def _rest(self) -> None:
        """No station does anything: all are aside, or no work is due."""
        drawn = None if self.stations.idle else self._scheduler.next()
        if drawn is not None:
            self._scheduler.give_back(drawn)
            self._look_after(WAIT_S)
        else:
            self.clock.wait(LOOK_S)
            self._look_after()
        self._now = self.clock.now

    def _handed_back(self, ended: list[Episode]) -> list[tuple[Episode, bool]]:
        """Episodes that ended, and whether their jobs go to other stations."""
        result = []
        for episode in ended:
            drawn = self._drawn.pop(episode.station)
            again = self._scheduler.end_job(drawn, episode.times.total, self._tries(episode))
            if again:  # its name is the one of the episode to come
                episode = replace(episode, id=f"{episode.id}-lost-{secrets.token_hex(4)}")
            result.append((episode, again))
        return result

    def _tries(self, episode: Episode) -> int:
        """How often in all its job may be run: 1 unless it came to nothing for its station's sake.

        Where the same seed gives the same episode, a reset that fails would fail elsewhere too.
        """
        verdict = episode.verdict
        if verdict.outcome is not Outcome.INVALID:
            return 1
        aside = episode.station in self.stations.aside
        if verdict.stage == LOST or (aside and not self.stations.repeatable):
            return LOST_ON
        return FAULTS if verdict.stage in (FAULT, SERVER) else 1

    def _doubt(self, episode: Episode) -> None:
        """Set a station aside whose verifier could not tell, time and again.

        Not where a reset puts everything right, cameras too: there it is the policy that hides
        things.
        """
        row = episode.station
        self._unsure[row] = self._unsure[row] + 1 if episode.verdict.unsure else 0
        if self._unsure[row] >= UNSURE and not self.stations.repeatable:
            self._unsure[row] = 0
            self.stations.aside[row] = (
                f"the verifier was unsure {UNSURE} times in a row: its cameras?"
            )

    def _record(self, episodes: list[Episode]) -> None:
        """Put all of a period's episodes before anyone hears of one: a caller may raise."""
        if not episodes:
            return
        intervals: list[Interval] = []
        for episode in episodes:
            row, times = episode.station, episode.times
            begun, end = self._free_since[row], self._now
            # On the wall a period may take longer than it should; and an exception within one
            # leaves a reset counted that the clock has not seen.
            scale = (end - begun) / times.total if times.total else 0.0
            until = min(begun + scale * times.reset, end)  # rounded, it may be later
            marks = [begun, until, min(until + scale * times.execute, end), end]
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
        self.note_events()
        aside = self.stations.aside
        for row in self._aside - aside.keys():
            self._back(row, "by itself")
        for row in aside.keys() - self._aside - self._drawn.keys():
            self._set_aside(row, aside[row])
        if self._requests is not None:
            self._carry_out(self._requests)
        if self._recovery is not None and self._recovery.under_way:
            for found in self._recovery.take_ended(wait_s):
                if found.came:
                    self.stations.recover(found.station)
                    self._back(found.station, found.said)
                else:
                    self._note("left aside", found.station, found.said)
        elif wait_s and aside and not self._paused:
            raise ResetFailed(_all_aside(aside))
        elif wait_s:
            self.clock.wait(wait_s)

    def _carry_out(self, requests: Requests) -> None:
        """Pause and resume stations as a person asks."""
        for asked in requests.take():
            row = asked.station
            if asked.pause and row not in self.stations.aside:
                self._paused.add(row)
                self.stations.aside[row] = asked.reason
            elif not asked.pause and row in self._aside:
                self.stations.recover(row)
                self._back(row, asked.reason)
            elif not asked.pause and row in self._paused:  # in its last episode still
                self.stations.aside.pop(row, None)
                self._paused.discard(row)

    def _set_aside(self, row: int, reason: str) -> None:
        self._idle(row)
        self._aside.add(row)
        self._note("aside", row, reason)
        if self._recovery is not None and row not in self._paused:
            self._recovery.call(row, reason)

    def _back(self, row: int, said: str) -> None:
        self._idle(row)
        self._aside.discard(row)
        self._paused.discard(row)
        self._note("back", row, said)

    def _idle(self, row: int) -> None:
        """Account for a station's time since it last had an episode, or came aside, or back."""
        since = self._free_since[row]
        if self._now - since > 0.5 * self.stations.period:
            phase = Phase.ASIDE if row in self._aside else Phase.IDLE
            self._writer.put([], [Interval(row, phase, since, self._now)])
        self._free_since[row] = self._now


def _all_aside(reasons: dict[int, str]) -> str:
    said = "; ".join(f"{row}: {reason}" for row, reason in sorted(reasons.items()))
    return f"all stations are set aside ({said}): set their scenes up, or mend the task, and go on"
