"""What a person should know of a task that an agent drafted and nobody signed."""

from __future__ import annotations

from enpire.errors import EnpireError
from enpire.packs.finder import GYM, find
from enpire.packs.signing import answered, standing
from enpire.session.audience import Say, say_on_stderr


def warn_unsigned(task: str, warn: Say = say_on_stderr) -> None:
    """Say so in a line if an agent drafted the task and nobody signed it.

    It may run all the same where the environment says so (`packs/signing.py`), on a twin.
    """
    if task.startswith(GYM):
        return
    try:
        pack = find("tasks", task)
    except EnpireError:  # whoever builds the stations says so; a cluster may have it all the same
        return
    if standing(pack).endswith("unsigned") and answered():
        warn(f"{pack.name}: drafted by an agent, unsigned; no arm may run it")
