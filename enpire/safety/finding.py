"""What `enpire station check` says of one thing that it looked at."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SafetyFinding:
    """One thing looked at: whether it is as it must be, and what was found."""

    name: str
    good: bool
    found: str
