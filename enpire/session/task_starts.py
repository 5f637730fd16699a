"""Where a task begins: at its start, or just before its hard phase."""

from __future__ import annotations

from enpire.option_values import one_of
from enpire.packs.finder import AT_JOINTS, AT_START, sets_joints

STARTS = ("start", "phase")
start = one_of(STARTS, "is no place to begin")


def task_from(task: str, begin: str) -> str:
    """The task's name as `find` takes it, where it is to begin at `start` or at `phase`.

    An empty `begin` leaves the name as it is.
    """
    if not begin or not task:
        return task
    ends = AT_JOINTS if sets_joints(task) else ""
    plain = task.removesuffix(ends).removesuffix(AT_START)
    return plain + (AT_START if begin == "start" else "") + ends
