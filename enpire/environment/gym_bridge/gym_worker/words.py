"""What is said of an environment that does not fit, and of its values."""

from __future__ import annotations

from typing import Any

KEYS = 20  # of an info that are told, at most
LARGEST = 1e20  # of what is seen or earned: more is what a simulation shows that has come apart
WORDS = 80  # characters of a value in a message
LONGEST_TEXT = 600  # characters of a message


class Unsuitable(Exception):
    """The environment cannot be a station; says why."""


class Misfit(Exception):
    """What came of an environment is not what it declares, or makes no sense; says what."""


def short(value: Any) -> str:
    """A value for a message."""
    text = printable(" ".join(repr(value).split()))
    return text if len(text) <= WORDS else text[: WORDS - 4] + " etc"


def printable(text: str) -> str:
    """A text that others wrote, for a message: without what a terminal or a file would choke on."""
    kept = text[:LONGEST_TEXT] + (" etc" if len(text) > LONGEST_TEXT else "")
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in kept)
