"""What every station did when, in columns of time that a picture can show."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from enpire.observe import account
from enpire.rollout.evaluation.statistics import mru
from enpire.store import EpisodeRow, Phase, Run
from enpire.types import FloatArray

COLUMNS = (60, 240)  # fewest and most
PASSING = re.compile(r"\.\d+$")
"""Ends the names of policies that act in a few episodes only, as an online learner's versions do.
Each would be compared by itself, which takes long and tells nothing."""
EPISODES = 2.0  # of a station in a column, where that is possible; fewer would be all noise


@dataclass(frozen=True, slots=True, eq=False)
class StationTimeline:
    """One station."""

    number: int  # of the station, from 0
    # Of each column's time by phase, (columns,), in [0, 1]; they may sum to less than 1.
    shares: Mapping[Phase, FloatArray]
    seconds: Mapping[Phase, float]  # by phase, over the whole run [s]
    # Its judged episodes beside what other stations would have had; None without any.
    verdicts: account.Station | None

    @property
    def mru(self) -> float:
        """Share of its time spent executing; not a number before there is any."""
        return mru(self.seconds[Phase.EXECUTE], sum(self.seconds.values()))


@dataclass(frozen=True, slots=True, eq=False)
class Utilisation:
    """All stations on one clock, from 0 to `end_s` [s]."""

    end_s: float
    stations: tuple[StationTimeline, ...]


def read_utilisation(run: Run, rows: Sequence[EpisodeRow]) -> Utilisation:
    """Return what every station did; rows: all episodes of the run."""
    by_station = run.ledger.spans()
    ends = (part[-1][1] for phases in by_station.values() for part in phases.values())
    end = max(ends, default=0.0)
    verdicts = account.stations(row for row in rows if not PASSING.search(row.policy))
    each = len(rows) / max(len(by_station), 1)
    columns = int(np.clip(each / EPISODES, *COLUMNS))
    return Utilisation(
        end,
        tuple(
            _timeline(number, part, end, columns, verdicts.get(number))
            for number, part in sorted(by_station.items())
        ),
    )


def _timeline(
    number: int,
    spans: Mapping[Phase, Sequence[tuple[float, float]]],
    end: float,
    columns: int,
    verdicts: account.Station | None,
) -> StationTimeline:
    shares = {}
    seconds = dict.fromkeys(Phase, 0.0)
    for phase in (each for each in Phase if each in spans and end > 0.0):
        part = np.array(spans[phase])
        shares[phase] = occupancy(part, end, columns)
        seconds[phase] = float((part[:, 1] - part[:, 0]).sum())
    return StationTimeline(number, shares, seconds, verdicts)


def occupancy(intervals: FloatArray, end: float, columns: int) -> FloatArray:
    """Return the share of each of `columns` equal parts of [0, end] that intervals cover.

    Args:
        intervals: starts and ends [s], (n, 2), in order and apart from each other.
        end: of the last column [s].
        columns: how many there are.

    Returns:
        Shares in [0, 1], (columns,).
    """
    lengths = intervals[:, 1] - intervals[:, 0]
    before = np.concatenate([[0.0], np.cumsum(lengths)])
    # The time covered until t is a line between the edges of intervals.
    times = intervals.ravel()
    covered = np.stack([before[:-1], before[1:]], axis=1).ravel()
    edges = np.linspace(0.0, end, columns + 1)
    shares: FloatArray = np.diff(np.interp(edges, times, covered)) * (columns / end)
    return np.clip(shares, 0.0, 1.0)
