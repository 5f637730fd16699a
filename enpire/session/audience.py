"""How somebody is told what goes on: a person in words, a program in objects."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Say = Callable[[str], None]  # takes a sentence for a person

Emit = Callable[[Mapping[str, Any]], None]  # takes an object for a program: an event, or a result


def say_at_once(text: str) -> None:
    """Print a sentence, past whatever holds back what is printed."""
    print(text, flush=True)


def say_on_stderr(text: str) -> None:
    """Tell a person something that is no result."""
    print(text, file=sys.stderr, flush=True)


def say_nothing(text: str) -> None:
    """Keep a sentence from whoever did not ask for it."""


@dataclass(frozen=True, slots=True)
class Audience:
    """Who is told what goes on."""

    say: Say = say_at_once  # takes what a person who watches should know
    warn: Say = say_on_stderr  # takes what a person should know though it is no result
    progress: bool = True  # whether a person is shown how far it is
    emit: Emit | None = None  # takes events, for a program; None where there is none


PERSON = Audience()  # who sits at the terminal

NOBODY = Audience(say_nothing, say_nothing, progress=False)
"""Who asked for silence: of a library, everybody who did not ask for more."""
