"""Entries that hardly move in a dataset's episodes, where demonstrations of the task move them.

So is an angle in radians where degrees are read, or a tracker that stands. What is odd is told.
"""

from __future__ import annotations

import numpy as np

from enpire.datasets.compatibility import TaskInterface
from enpire.datasets.folder import Frames
from enpire.types import FloatArray

FEWEST = 4  # episodes of each kind
HARDLY = 0.05  # of how far an entry goes in the task's own: a degree is 1/57 of a radian
SURELY = 0.5  # of that, each demonstration of the task's own goes as far
WIDE = 0.05  # an entry goes, at least (m, rad)
FEW = 2  # entries that are named


def odd_spans(frames: Frames, observations: FloatArray, wanted: TaskInterface) -> str:
    """Find entries that go far less in an episode than in any demonstration of the task.

    Args:
        frames: All frames, by episodes.
        observations: What is seen in them, (n, obs).
        wanted: The task that they are for, with demonstrations of its own.

    Returns:
        A clause about them, for a person; empty: there are none.
    """
    if wanted.demonstrations is None or len(frames.extents) < FEWEST:
        return ""
    shown = [seen for _, seen in wanted.demonstrations() if len(seen)]
    if len(shown) < FEWEST:
        return ""
    ours = np.array([np.ptp(seen, axis=0) for seen in shown])
    theirs = np.array([np.ptp(observations[e.first : e.end], axis=0) for e in frames.extents])
    usual, here = np.median(ours, axis=0), np.median(theirs, axis=0)
    sure = (usual > WIDE) & (ours.min(axis=0) > SURELY * usual)
    odd = np.flatnonzero(sure & (here < HARDLY * usual))
    if not len(odd):
        return ""
    said = ", ".join(
        f"{wanted.observation[at]} by {here[at]:.2g}, and there by {usual[at]:.2g}"
        for at in odd[:FEW]
    )
    return (
        f"what episodes of {wanted.task} move hardly moves here ({said}): another unit, or a "
        "sensor that stands?"
    )
