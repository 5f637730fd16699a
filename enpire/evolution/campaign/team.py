"""The agents of a campaign by kind and number, as `--agents` names them."""

from __future__ import annotations

import re

from enpire.errors import UsageError

TEAM = re.compile(r"([a-z][a-z0-9_]*)(?::(\d+))?")
MOST = 64  # agents of a campaign


def team(text: str) -> list[tuple[str, str]]:
    """Agents of `tuner:3,other`: their names and kinds, `tuner-0` of `tuner` for one.

    Raises:
        UsageError: it cannot be read, names a kind twice, or too many agents.
    """
    found: list[tuple[str, str]] = []
    kinds: set[str] = set()
    for part in text.split(","):
        match = TEAM.fullmatch(part.strip())
        if match is None or match[1] in kinds or not int(match[2] or 1):
            raise UsageError(f"--agents {text!r}: write KIND:HOW_MANY, parted by commas: tuner:4")
        kinds.add(match[1])
        found += [(f"{match[1]}-{i}", match[1]) for i in range(int(match[2] or 1))]
    if len(found) > MOST:
        raise UsageError(f"--agents {text!r} are {len(found)}: {MOST} at most")
    return found
