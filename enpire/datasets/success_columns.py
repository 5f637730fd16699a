"""Whether each episode of a dataset was a success, by the columns that say so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from enpire.datasets.columns import DONE, SUCCESS
from enpire.datasets.compatibility import Allowed, listed
from enpire.datasets.folder import Frames
from enpire.errors import StoreError
from enpire.types import Flags, Outcome

NEXT_SUCCESS, VERDICT = "next.success", "verdict"
OUTCOMES = frozenset(Outcome)
COUNTS = "timestamp", "frame_index", "episode_index", "index", "task_index"
EVERY = "all"  # as a column of success: every episode is one


def successes(
    frames: Frames, features: Mapping[str, Any], allowed: Allowed
) -> tuple[list[bool], str]:
    """Whether each episode was one, and by what that is known.

    Raises:
        StoreError: nothing says so, or a column says it in part.
    """
    if allowed.success == EVERY:
        return [True] * len(frames.extents), f"all taken as successes (--success-column {EVERY})"
    there = [name for name in (SUCCESS, NEXT_SUCCESS) if name in features]
    column = allowed.success or (there[0] if there else "")
    if not column:
        raise StoreError(
            f"{frames.folder} does not say which episodes are successes (no column {SUCCESS}, no "
            f"{NEXT_SUCCESS}): name one with --success-column NAME; --success-column {EVERY} if "
            "each of them is"
        )
    flags = frames.flags(column)
    found = _by_column(frames, column, flags)
    for other in there[1:] if not allowed.success else ():
        said = _by_column(frames, other, frames.flags(other))
        differ = [i for i, (one, two) in enumerate(zip(found, said, strict=True)) if one != two]
        if differ:
            raise StoreError(
                f"{frames.folder}: episode {frames.extents[differ[0]].index}: {column} says "
                f"{str(found[differ[0]]).lower()} and {other} says {str(said[differ[0]]).lower()}: "
                "name the one that counts with --success-column"
            )
    if not allowed.success and VERDICT in features:
        _require_verdicts(frames, column, found)
    lost = lost_again(frames, flags)
    return found, f"by {column}{', ' + lost if lost else ''}"


def success_columns(features: Mapping[str, Any], allowed: Allowed) -> list[str]:
    """The columns to be read; raises StoreError for one that was asked for and is not there."""
    if allowed.success == DONE:
        raise StoreError(
            f"{DONE} is true where any episode ends, and says no success: name another column, or "
            f"--success-column {EVERY} if each of them is one"
        )
    if allowed.success in COUNTS and allowed.success in features:
        raise StoreError(
            f"{allowed.success} counts frames and episodes, and says no success: name another "
            f"column, or --success-column {EVERY} if each of them is one"
        )
    if allowed.success in ("", EVERY):
        return [name for name in (SUCCESS, NEXT_SUCCESS, VERDICT) if name in features]
    if allowed.success not in features:
        raise StoreError(
            f"there is no column {allowed.success}; there are {listed(sorted(features), 30)}"
        )
    return [allowed.success]


def lost_again(frames: Frames, success: Flags) -> str:
    """Tell in how many episodes success passes: any frame counts, as it is read here."""
    parts = [success[extent.first : extent.end] for extent in frames.extents]
    count = sum(bool(part.any() and not part[-1]) for part in parts)
    good = sum(bool(part.any()) for part in parts)
    return f"which is false at the end of {count} of {good} successes" if count else ""


def _require_verdicts(frames: Frames, column: str, found: list[bool]) -> None:
    """See whether verdicts in words are those of `column`, as far as we know the words.

    found: of each episode, whether it was a success by that column.

    Raises:
        StoreError: one says otherwise.
    """
    for extent, good in zip(frames.extents, found, strict=True):
        told = frames.table[VERDICT].slice(extent.first, extent.length).unique().to_pylist()
        flat = [one for each in told for one in (each if isinstance(each, list) else [each])]
        known = [one for one in flat if isinstance(one, str) and one.strip().lower() in OUTCOMES]
        words = {Outcome(one.strip().lower()) for one in known}
        if words and (Outcome.SUCCESS in words) is not good:
            raise StoreError(
                f"{frames.folder}: episode {extent.index}: {column} says {str(good).lower()} and "
                f"{VERDICT} says {known[0]!r}: correct the one that is wrong, or say "
                f"--success-column {column}"
            )


def _by_column(frames: Frames, column: str, flags: Flags) -> list[bool]:
    return [_success(frames, column, flags, i) for i in range(len(frames.extents))]


def _success(frames: Frames, column: str, flags: Flags, episode: int) -> bool:
    extent = frames.extents[episode]
    mine = flags[extent.first : extent.end]
    if column == SUCCESS and mine.any() and not mine.all():
        raise StoreError(
            f"{frames.folder}: episode {extent.index}: {column} is true in some frames and false "
            f"in others; it is of the whole episode. If any frame's counts, call it {NEXT_SUCCESS}"
        )
    return bool(mine.any())
