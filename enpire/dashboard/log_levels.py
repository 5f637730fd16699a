"""How much a decision of a run matters to who watches it."""

from __future__ import annotations

from enum import StrEnum


class LogLevel(StrEnum):
    """A level of weight, the least first."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"

    @property
    def weight(self) -> int:
        """The level's place in the order, from 0."""
        return list(LogLevel).index(self)


LEVELS = {
    "stop": LogLevel.ERROR,
    "fault": LogLevel.ERROR,
    "left aside": LogLevel.ERROR,
    "aside": LogLevel.WARNING,
    "rejected": LogLevel.WARNING,
    "retried": LogLevel.WARNING,
    "found": LogLevel.WARNING,
    "limit": LogLevel.DEBUG,
    "sealing": LogLevel.DEBUG,
    "spent": LogLevel.DEBUG,
    "detector": LogLevel.DEBUG,
}
"""By the kind of a decision; any other is of level info."""


def level_of(kind: str) -> LogLevel:
    """Return the level of a decision of that kind."""
    return LEVELS.get(kind, LogLevel.INFO)
