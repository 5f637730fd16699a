"""What a dataset shows that need not be wrong: it is told, and no value changes.

A person who reads that half of the episodes are of another task knows what to do.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from enpire.datasets import recording_faults
from enpire.datasets.columns import DONE
from enpire.datasets.compatibility import LEAST, STILL, TaskInterface
from enpire.datasets.folder import Description, Frames, files_left_out
from enpire.errors import StoreError
from enpire.types import FloatArray

TASK = "task_index"
MOST, ALIKE = 0.5, 4  # share of episodes that begin elsewhere; episodes that do not by accident
ELSEWHERE = 0.05  # from a task's own starts, of an entry's size and at least of 1 (m, rad)


def more_columns(features: Mapping[str, Any]) -> list[str]:
    """The columns that are looked at here, of the ones that there are."""
    return [name for name in (DONE, TASK) if name in features]


def require_ends(frames: Frames, features: Mapping[str, Any]) -> None:
    """See whether a dataset's own marks of an episode's end agree with its episodes.

    Raises:
        StoreError: an episode is done, and then it is not: it is two of them.
    """
    if DONE not in features:
        return
    done = frames.flags(DONE)
    for extent in frames.extents:
        mine = done[extent.first : extent.end]
        resumed = np.flatnonzero(mine[:-1] & ~mine[1:])
        if len(resumed):
            raise StoreError(
                f"{frames.folder}: episode {extent.index}, frame {resumed[0]}: {DONE} is true, and "
                "the episode goes on: it is two episodes, or that column is wrong"
            )


def noticed(
    frames: Frames,
    description: Description,
    pair: tuple[FloatArray, FloatArray],
    wanted: TaskInterface,
) -> tuple[str, ...]:
    """What is told of a dataset; pair: actions (n, act) and observations (n, obs) of all frames."""
    actions, observations = pair
    told = [
        _robot(description, wanted),
        _tasks(frames, description.features),
        _idle(frames, actions),
        _begins(frames, observations, wanted),
        _left_out(frames),
        *recording_faults.signs(frames, pair, wanted),
    ]
    return tuple(text for text in told if text)


def _robot(description: Description, wanted: TaskInterface) -> str:
    """A name within the other is of the same arm: `so101` and `so101_follower`."""
    if (
        not (description.robot and wanted.robot)
        or wanted.robot in description.robot
        or description.robot in wanted.robot
    ):
        return ""
    return f"recorded with {description.robot:.40}, and {wanted.task} is for {wanted.robot}"


def _tasks(frames: Frames, features: Mapping[str, Any]) -> str:
    if TASK not in features:
        return ""
    count = len(np.unique(frames.single(TASK)))
    return f"of {count} tasks by {TASK}, taken as one" if count > 1 else ""


def _left_out(frames: Frames) -> str:
    files = files_left_out(frames)
    if not files:
        return ""
    more = f" and {len(files) - 1} more" if len(files) > 1 else ""
    return f"without {files[0].relative_to(frames.folder)}{more}, which no episode is in"


def _idle(frames: Frames, actions: FloatArray) -> str:
    """Nothing is done in an episode: its actions were not recorded."""
    parts = [actions[extent.first : extent.end] for extent in frames.extents]
    count = sum(len(part) >= STILL and bool((abs(part) <= LEAST).all()) for part in parts)
    return f"{count} of {len(frames.extents)} episodes with all actions 0" if count else ""


def _begins(frames: Frames, seen: FloatArray, wanted: TaskInterface) -> str:
    """Most episodes begin beside where the task's own do: another origin, or an axis for another.

    Or they all begin alike, where in the task they do not: a sensor that each begins anew.
    """
    if not len(wanted.starts):
        return ""
    low, high = wanted.starts.min(axis=0), wanted.starts.max(axis=0)
    slack = (high - low) + ELSEWHERE * np.maximum(1.0, np.abs(low + high) / 2)
    first = seen[[extent.first for extent in frames.extents]]
    beside = ((first < low - slack) | (first > high + slack)).mean(axis=0) > MOST
    if not beside.any():
        same = (np.ptp(first, axis=0) <= LEAST) & (high - low > ELSEWHERE)
        if len(first) < ALIKE or not same.any():
            return ""
        at = int(np.argmax(same))
        return (
            f"{wanted.observation[at]} begins at {first[0, at]:g} in all episodes, and in "
            f"{wanted.task} at {low[at]:g} to {high[at]:g}: set to that by its sensor?"
        )
    at = int(np.argmax(beside))
    return (
        f"{wanted.observation[at]} begins at {first[:, at].min():g} to {first[:, at].max():g}, and "
        f"in {wanted.task} at {low[at]:g} to {high[at]:g}: another origin?"
    )
