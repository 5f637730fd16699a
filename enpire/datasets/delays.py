"""Entries that come later than others that tell the same motion.

An arm's own sensors and a tracker tell the same motion: in the task at the same time. What comes
late is told, whatever the actions are.
"""

from __future__ import annotations

import math

import numpy as np

from enpire.datasets.compatibility import FEWEST, TaskInterface
from enpire.datasets.folder import Frames
from enpire.datasets.strides import (
    BETTER,
    LATEST,
    PLAIN,
    ROWS,
    SHOWN,
    TIED,
    Pairs,
    Strides,
    by_episodes,
    correlations,
)
from enpire.types import FloatArray

STEP = 3  # frames over which a change stands out from noise
EXACT = 1.0 - 1e-9  # a correlation that is one but for rounding
CLEARLY = 3.0  # how many deviations a delay fits better


def odd_delays(
    frames: Frames, pair: tuple[FloatArray, FloatArray], wanted: TaskInterface
) -> tuple[str, ...]:
    """Find what comes late.

    Args:
        frames: All frames, by episodes.
        pair: Their actions (n, act) and observations (n, obs).
        wanted: The task that they are for, with episodes of random actions.

    Returns:
        A clause about each, for a person.
    """
    if len(frames) < FEWEST:
        return ()
    return tuple(_late_entries(by_episodes(frames, pair), wanted))


def _late_entries(theirs: Pairs, wanted: TaskInterface) -> list[str]:
    """Find pairs of entries of which one comes later than the other, and not so in the task."""
    ours = Strides.of(wanted.random)
    if len(ours) < ROWS:
        return []
    frames = sum(len(seen) for _, seen in theirs)
    tied = np.triu(np.abs(correlations(ours.ways, ours.ways)) >= TIED, 1)
    told: list[str] = []
    for one, other in np.argwhere(tied).tolist():
        mine, found = (
            _fits([(seen[:, one], seen[:, other]) for _, seen in pairs], STEP)
            for pairs in (wanted.random, theirs)
        )
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


def _fits(columns: list[tuple[FloatArray, FloatArray]], step: int) -> FloatArray:
    """Return how well a column goes with another one, by delays of it from `-LATEST` to `LATEST`.

    Args:
        columns: Both of them, (t,) each, in each episode.
        step: Frames over which they change.

    Returns:
        Sizes of correlations, (2 LATEST + 1,).
    """
    found = []
    for delay in range(-LATEST, LATEST + 1):
        ones, others = [], []
        for one, other in columns:
            one, other = one[step:] - one[:-step], other[step:] - other[:-step]
            first, last = max(0, -delay), len(one) - max(0, delay)
            ones.append(one[first : max(first, last)])
            others.append(other[first + delay : max(first, last) + delay])
        pair = np.concatenate(ones)[:, None], np.concatenate(others)[:, None]
        found.append(abs(float(correlations(*pair)[0, 0])))
    return np.array(found)
