"""Values of keywords, read by the functions that read the command line's options."""

from __future__ import annotations

import os
from argparse import ArgumentTypeError
from collections.abc import Callable
from numbers import Real
from pathlib import Path
from typing import Any

from enpire.errors import UsageError
from enpire.option_values import duration, spell
from enpire.real_path import expanded

Reader = Callable[[Any], Any]
"""Turns a text into a value; `bool` stands for a value that is true or false already."""


def read_path(value: Any) -> Path:
    """A path, of a text or of another path."""
    return Path(expanded(os.fsdecode(value)))


def read_paths(value: Any) -> list[Path]:
    """Several paths, or one alone."""
    alone = isinstance(value, str | os.PathLike)
    return [read_path(each) for each in ([value] if alone else value)]


def as_text(name: str, value: Any) -> str:
    """A text or a path as text.

    Raises:
        UsageError: It is neither.
    """
    if not isinstance(value, str | os.PathLike):
        raise UsageError(f"{name}={value!r}: give a text or a path")
    return expanded(os.fsdecode(value))


def read_keyword(name: str, value: Any, read: Reader) -> Any:
    """Read a keyword's value as the command line reads it.

    Args:
        name: The keyword.
        value: What was given. A duration may be a number of seconds.
        read: The command line's own reader.

    Raises:
        UsageError: The value makes no sense; the message says why.
    """
    if read is bool:
        if not isinstance(value, bool):
            raise UsageError(f"{name}={value!r}: give True or False")
        return value
    if read in (read_path, read_paths):
        try:
            return read(value)
        except TypeError:
            raise UsageError(f"{name}={value!r}: give a path") from None
    if read is str:
        return as_text(name, value)
    if isinstance(value, bool) or not isinstance(value, str | os.PathLike | Real):
        raise UsageError(f"{name}={value!r}: give a number or a text")
    text = str(value)
    if read in (duration, spell) and isinstance(value, Real) and value:
        text = f"{float(value):f}".rstrip("0").rstrip(".") + "s"
    elif read is spell and not isinstance(value, str):
        text = "0"
    try:
        return read(text)
    except (ArgumentTypeError, ValueError) as error:
        raise UsageError(f"{name}={value!r}: {error}") from None
