"""What a person should know of a task that an agent drafted and nobody signed."""

from __future__ import annotations

from enpire.errors import EnpireError
from enpire.packs.finder import GYM, find
from enpire.packs.signing import answered, standing


def unsigned(task: str) -> str:
    """Return a line if an agent drafted the task and nobody signed it; else nothing.

    It may run all the same where the environment says so (`packs/signing.py`), on a twin.
    """
    if task.startswith(GYM):
        return ""
    try:
        pack = find("tasks", task)
    except EnpireError:  # whoever builds the stations says so; a cluster may have it all the same
        return ""
    if standing(pack).endswith("unsigned") and answered():
        return f"{pack.name}: drafted by an agent, unsigned; no arm may run it"
    return ""
