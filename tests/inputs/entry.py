"""What an entry of the catalogue of inputs is, and how one is tried."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from enpire.errors import EnpireError

REFUSED, INVALID, TOLD, TAKEN = "refused", "invalid", "told", "taken"
"""How an input ends: by one sentence and nothing else; as an episode that says nothing of a policy;
taken, and a person is told what was assumed; taken as it stands."""
LONGEST = 3000  # characters that a person is told


@dataclass(frozen=True)
class Input:
    """One input that is slightly wrong, or right in a form that few have.

    give: hands it in, in an empty folder, by the function that the command line calls; returns how
    it ended and what was told. ends: how it has to end. words: a pattern in what is told.
    """

    name: str
    give: Callable[[Path], tuple[str, str]]
    words: str
    ends: str = REFUSED

    def __str__(self) -> str:
        return self.name


def changed(text: str, old: str, new: str) -> str:
    """A file's text with another in one place; raises AssertionError where that is not there."""
    assert old in text, old
    return text.replace(old, new, 1)


def tried(one: Input, folder: Path) -> None:
    """Hand it in; raises AssertionError unless it ends as it has to, in words that fit.

    An error that is not ours goes through: it would be a traceback.
    """
    try:
        ends, said = one.give(folder)
    except EnpireError as error:
        ends, said = REFUSED, str(error)
    except OSError as error:  # as `enpire.cli.main` tells one of a file that somebody named
        if error.filename is None:
            raise
        ends, said = REFUSED, f"{error.filename!s:.200}: {error.strerror}"
    assert ends == one.ends, said
    assert re.search(one.words, said, re.DOTALL), said
    assert len(said) < LONGEST or ends == TAKEN
