"""Where successes end, held against where the task's own demonstrations do.

A success that was cut short halfway still says that it was one. What is learned from it stops
there. It is told.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from enpire.datasets.compatibility import TaskInterface
from enpire.datasets.folder import Frames
from enpire.types import FloatArray

FEWEST = 6  # demonstrations, from which it is known where they end
ALIKE, WIDE = 0.15, 0.2  # of what an entry goes through: so near ends are alike; how far it goes
ASIDE = 0.25  # of the same: farther beside where they end, an episode ends elsewhere
MANY = 0.25  # share of successes that end elsewhere: by accident one of twelve does


def odd_endings(
    frames: Frames, observations: FloatArray, good: Sequence[bool], wanted: TaskInterface
) -> str:
    """Find an entry by which many successes end elsewhere than demonstrations of the task do.

    Args:
        frames: All frames, by episodes.
        observations: What is seen in them, (n, obs).
        good: Whether each episode is a success.
        wanted: The task that they are for, with demonstrations of its own.

    Returns:
        A clause about it, for a person; empty: there is none.
    """
    if wanted.demonstrations is None or not any(good):
        return ""
    shown = [seen for _, seen in wanted.demonstrations() if len(seen)]
    if len(shown) < FEWEST:
        return ""
    span = np.ptp(np.concatenate(shown), axis=0)
    ends = np.array([seen[-1] for seen in shown])
    low, high = ends.min(axis=0), ends.max(axis=0)
    telling = (span > WIDE) & (high - low < ALIKE * span)
    room = (high - low) + ASIDE * span
    won = [extent.end - 1 for extent, each in zip(frames.extents, good, strict=True) if each]
    mine = observations[won]
    beside = ((mine < low - room) | (mine > high + room)) & telling
    share = beside.mean(axis=0)
    if share.max() < MANY:
        return ""
    at = int(share.argmax())
    found = mine[beside[:, at], at]
    return (
        f"{len(found)} of {len(won)} successes end with {wanted.observation[at]} at "
        f"{np.median(found):.3g} or so, and demonstrations of {wanted.task} at {low[at]:.3g} to "
        f"{high[at]:.3g}: cut short, or no successes?"
    )
