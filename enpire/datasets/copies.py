"""Episodes that a dataset has more than once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from enpire.datasets.compatibility import STILL
from enpire.datasets.folder import Extent, Frames
from enpire.types import FloatArray


def told_twice(frames: Frames, actions: FloatArray, seen: FloatArray) -> str:
    """How many episodes are copies of another one, for a person.

    Or have all actions of another one, which nobody does twice: what is seen was changed a little.

    Args:
        frames: All frames, by episodes.
        actions: All that is done, (n, act).
        seen: All that is seen, (n, obs).
    """
    count = len(frames.extents)
    if copies := _copies(frames, np.hstack([actions, seen])):
        return (
            f"{copies} of {count} episodes are copies of others"
            if copies > 1
            else f"1 of {count} episodes is a copy of another"
        )
    varied = [
        extent
        for extent in frames.extents
        if extent.length >= STILL and np.ptp(actions[extent.first : extent.end], axis=0).any()
    ]
    again = _copies(frames, actions, varied)
    if not again:
        return ""
    return (
        f"{again} of {count} episodes with all actions of another one: copies of it, with other "
        "noise?"
    )


def _copies(frames: Frames, values: FloatArray, extents: Sequence[Extent] | None = None) -> int:
    """Count the episodes, of these or of all, that have the same values (n, d) as another one."""
    some = frames.extents if extents is None else extents
    return len(some) - len({values[each.first : each.end].tobytes() for each in some})
