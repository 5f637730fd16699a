"""Twins that keep a fleet waiting as arms do: long resets, slow verdicts, stations that fail.

To test scheduling honestly: what a twin does in no time costs a real station most of its day. All
of it passes on the stations' own clock, a control period a tick.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from enpire.environment import Controller, Job, PolicyCameras, StationBackend
from enpire.types import Episode, Outcome, Times, Verdict


@dataclass(frozen=True, slots=True)
class Conditions:
    """The conditions of a real station, in seconds; nothing of the kind where it is 0.0."""

    # That a reset takes longer, on average; half to one and a half times as much.
    reset_time: float = 0.0
    latency: float = 0.0  # from the end of an episode until its verdict is there
    fault_every: float = 0.0  # mean time between failures of a station
    repair_time: float = 0.0  # mean time until it works again; both exponential

    def __bool__(self) -> bool:
        return any((self.reset_time, self.latency, self.fault_every))


NEVER = 2**62  # control periods
OF_TASKS = ("task", "execute_periods", "twin")  # what stations of a pack have besides
FAULT = "driver lost (simulated)"
REAL = Conditions(reset_time=8.0, latency=0.3, fault_every=1800.0, repair_time=60.0)
"""Of `--pace real`, unless told otherwise."""


class ConditionedStations:
    """Stations under such conditions. What they run is as it would be without."""

    def __init__(self, stations: StationBackend, conditions: Conditions, seed: int) -> None:
        """Delay `stations`, and have them fail; seed: of when."""
        self.stations, self._conditions = stations, conditions
        self.name, self.packs, self.aside = stations.name, stations.packs, stations.aside
        self.observation_size, self.action_size = stations.observation_size, stations.action_size
        self.period, self.parameters = stations.period, stations.parameters
        self.repeatable, self.live = stations.repeatable, stations.live
        self._rng = np.random.default_rng((seed, len(stations)))
        self._tick = 0
        self._resetting: dict[int, tuple[int, int, Job]] = {}  # from when, until when, for what
        self._judged: dict[int, tuple[int, Episode]] = {}  # when their verdict is there
        self._waited: dict[int, int] = {}  # by stations for the reset of their episode
        self._fails = {row: self._after(conditions.fault_every) for row in range(len(stations))}
        self._repaired: dict[int, int] = {}
        for name in OF_TASKS:
            if hasattr(stations, name):
                setattr(self, name, getattr(stations, name))

    def __len__(self) -> int:
        return len(self.stations)

    @property
    def verified_by(self) -> str:
        """See `StationBackend`."""
        return self.stations.verified_by

    @property
    def policy_cameras(self) -> PolicyCameras | None:
        """See `StationBackend`."""
        return self.stations.policy_cameras

    @property
    def steps_done(self) -> int:
        """See `StationBackend`."""
        return self.stations.steps_done

    @property
    def starter(self) -> tuple[str, Controller]:
        """See `StationBackend`."""
        return self.stations.starter

    @property
    def idle(self) -> list[int]:
        """See `StationBackend`."""
        taken = self._resetting.keys() | self._judged.keys()
        return [row for row in self.stations.idle if row not in taken]

    @property
    def busy(self) -> bool:
        """Whether anything changes by itself: an episode, or a repair."""
        waiting = self._resetting or self._judged or self._repaired
        return bool(waiting) or self.stations.busy

    def begin(self, row: int, job: Job) -> None:
        """Reset the scene at length, and then begin."""
        longer = self._conditions.reset_time * self._rng.uniform(0.5, 1.5)
        self._resetting[row] = (self._tick, self._tick + self._periods(longer), job)

    def recover(self, row: int) -> None:
        """See `StationBackend`."""
        self._repaired.pop(row, None)
        self.stations.recover(row)

    def lose(self, row: int, reason: str) -> Episode:
        """A station fails in the middle of its episode, or of the reset before."""
        if row in self._judged:
            self.stations.aside[row] = reason
            return self._judged.pop(row)[1]  # it had ended
        self._start(row, self._tick)
        return self._timed(self.stations.lose(row, reason))

    def abort(self, reason: str) -> list[Episode]:
        """See `StationBackend`."""
        for row in list(self._resetting):
            self._start(row, self._tick)
        cut_short = [self._timed(episode) for episode in self.stations.abort(reason)]
        nobody_knows = Verdict(Outcome.ABORTED, reason=reason)  # what the verdict would have been
        cut_short += [replace(ended, verdict=nobody_knows) for _, ended in self._judged.values()]
        self._judged.clear()
        return cut_short

    def tick(self, ahead: int = 0) -> list[Episode]:
        """See `StationBackend`; nothing runs `ahead` of a fault."""
        self._tick += 1
        for row, (_, until, _) in list(self._resetting.items()):
            if until < self._tick:
                self._start(row, self._tick - 1)
        ended = self.stations.tick(min(ahead, self._undisturbed())) if self.stations.busy else []
        for episode in ended:
            latency = self._periods(self._conditions.latency)
            self._judged[episode.station] = (self._tick + latency, self._timed(episode, latency))
        told = [row for row, (ready, _) in self._judged.items() if ready <= self._tick]
        done = [self._judged.pop(row)[1] for row in told]
        return done + self._faults()

    def _start(self, row: int, now: int) -> None:
        """The longer part of a reset is over, if that is what a station is at; now: a tick."""
        if row in self._resetting:
            since, _, job = self._resetting.pop(row)
            self._waited[row] = now - since
            self.stations.begin(row, job)

    def _timed(self, episode: Episode, latency: int = 0) -> Episode:
        """The episode with the waiting in its times; latency: of its verdict, in periods."""
        times = episode.times
        reset = times.reset + self.period * self._waited.pop(episode.station, 0)
        verify = times.verify + self.period * latency
        return replace(episode, times=Times(reset, times.execute, verify))

    def _faults(self) -> list[Episode]:
        """Stations that fail now, and those that somebody has repaired."""
        for row, ready in list(self._repaired.items()):
            if ready <= self._tick:
                self.recover(row)
        lost = []
        for row, at in self._fails.items():
            if at > self._tick:
                continue
            self._fails[row] = self._tick + self._after(self._conditions.fault_every)
            if row in self.aside:
                continue
            if row in self.idle:
                self.stations.aside[row] = FAULT
            else:
                lost.append(self.lose(row, FAULT))
            self._repaired[row] = self._tick + self._after(self._conditions.repair_time)
        return lost

    def _undisturbed(self) -> int:
        """Periods until the next station fails."""
        return max(min(self._fails.values()) - self._tick - 1, 0)

    def _periods(self, seconds: float) -> int:
        return round(seconds / self.period)

    def _after(self, mean: float) -> int:
        """Periods until something that happens every so many seconds; never for 0.0."""
        return 1 + self._periods(self._rng.exponential(mean)) if mean else NEVER
