"""One thing looked at on this machine."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class CheckState(StrEnum):
    """How it stands with what was looked at."""

    GOOD = "good"
    NOTE = "note"  # enpire works without, but not for all that it can do
    BAD = "bad"  # what is recorded here may be lost, or a part that is there does not work


@dataclass(frozen=True, slots=True)
class MachineCheck:
    """What was found of one thing."""

    name: str  # of the thing
    state: CheckState  # how it stands with it
    found: str  # what was seen
    remedy: str = ""  # how to mend it; empty where there is nothing to
