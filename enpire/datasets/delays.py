"""Entries that come later than others that tell the same motion.

An arm's own sensors and a tracker tell the same motion: in the task at the same time. What comes
late is told, whatever the actions are.
"""

from __future__ import annotations

import math

import numpy as np

from enpire.datasets.compatibility import FEWEST, TaskInterface
from enpire.datasets.strides import (
    BETTER,
    PLAIN,
    ROWS,
    SHOWN,
    TIED,
    Pairs,
    Strides,
    by_delays,
    correlations,
    length,
)
from enpire.types import FloatArray

STEP = 3  # frames over which a change stands out from noise
CLEARLY = 3.0  # how many deviations a delay fits better


def odd_delays(theirs: Pairs, wanted: TaskInterface) -> list[str]:
    """Find entries of which one comes later than the other, and not so in the task.

    A clause about each, for a person; arguments as of `odd_strides`.
    """
    frames = length(theirs)
    ours = Strides.of(wanted.random)
    if frames < FEWEST or len(ours) < ROWS:
        return []
    tied = np.triu(np.abs(correlations(ours.ways, ours.ways)) >= TIED, 1)
    told: list[str] = []
    for one, other in np.argwhere(tied).tolist():
        mine, found = (_fits(pairs, one, other) for pairs in (wanted.random, theirs))
        due, best = int(mine.argmax()), int(found.argmax())
        gap = (
            float(np.arctanh(found[best]) - np.arctanh(found[due])) if found[best] < 1.0 else np.inf
        )
        clear = found[best] > found[due] + BETTER and gap * math.sqrt(frames) > CLEARLY
        if found[best] < PLAIN or not clear:
            continue
        first, second = (wanted.observation[entry] for entry in (one, other))
        late, soon = (second, first) if best > due else (first, second)
        told.append(
            f"{late} comes {abs(best - due)} frames later than {soon} (correlation "
            f"{found[best]:.2f}, at once {found[due]:.2f}), and in {wanted.task} not so: seen late?"
        )
    return told[:SHOWN]


def _fits(pairs: Pairs, one: int, other: int) -> FloatArray:
    """Return how well an entry goes with another one, by delays of it; see `by_delays`."""
    changes = [seen[STEP:] - seen[:-STEP] for _, seen in pairs]
    return by_delays([(each[:, one], each[:, other]) for each in changes])
