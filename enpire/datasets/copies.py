"""Episodes, and entries of what is seen, that a dataset has more than once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from enpire.datasets.columns import ENVIRONMENT, STATE, WHOLE
from enpire.datasets.compatibility import STILL, names_of
from enpire.datasets.folder import Extent, Frames
from enpire.errors import StoreError
from enpire.types import FloatArray

Names = Mapping[str, Sequence[str]]
SAME = 1e-3  # of how far an entry goes: as much as two writings of one number differ


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


def columns_told_twice(
    features: Mapping[str, Any], seen: str, observed: Sequence[str]
) -> tuple[str, ...]:
    """Name the other columns that have entries of the task's by the names of the column `seen`."""
    mine = set(names_of(features.get(seen, {}).get("names")) or ()) & set(observed)
    return tuple(
        column
        for column in (WHOLE, STATE, ENVIRONMENT)
        if column != seen and mine & set(names_of(features.get(column, {}).get("names")) or ())
    )


def require_told_alike(frames: Frames, seen: str, others: Sequence[str], called: Names) -> None:
    """See whether entries of one name have one value in each frame.

    Args:
        frames: All frames, by episodes.
        seen: The column that is taken.
        others: Columns with entries of the same names.
        called: What each column calls its entries.

    Raises:
        StoreError: Two differ, and nobody knows which of them was seen.
    """
    mine, _ = frames.numbers(seen)
    for column in others:
        theirs, _ = frames.numbers(column)
        if (mine.shape[1], theirs.shape[1]) != (len(called[seen]), len(called[column])):
            continue  # refused elsewhere, by the column that is wider than it says
        for at, name in enumerate(called[seen]):
            if name not in called[column]:
                continue
            one, two = mine[:, at], theirs[:, called[column].index(name)]
            apart = np.flatnonzero(np.abs(one - two) > SAME * max(1.0, float(np.ptp(one))))
            if len(apart):
                row = int(apart[0])
                raise StoreError(
                    f"{frames.folder}: {frames.place(row)}: {name} is {one[row]:g} in {seen} and "
                    f"{two[row]:g} in {column}: take the column out that is wrong"
                )


def _copies(frames: Frames, values: FloatArray, extents: Sequence[Extent] | None = None) -> int:
    """Count the episodes, of these or of all, that have the same values (n, d) as another one."""
    some = frames.extents if extents is None else extents
    return len(some) - len({values[each.first : each.end].tobytes() for each in some})
