"""Where a path that somebody named leads."""

from __future__ import annotations

import os
import re
from pathlib import Path

from enpire.errors import UsageError

VARIABLE = re.compile(r"\$(\w+|\{\w+\})(/|$)")


def real_path(name: Path | str) -> Path:
    """Return a path from the root on, without links, be anything there or not.

    Where links go in a circle `Path.resolve` raises RuntimeError, which names no file. Here such a
    path stays as it is, and whoever opens it gets an OSError that says so.
    """
    return Path(os.path.realpath(name))


def expanded(text: str) -> str:
    """Return what a shell makes of a word without quotes: `~/runs` is in somebody's home.

    Raises:
        UsageError: it begins with a variable, which only a shell knows.
    """
    if VARIABLE.match(text):
        raise UsageError(
            f"{text!r:.300} begins with a shell's variable: in single quotes, or in a file, it "
            "stands for nothing. Use double quotes, or write the path out"
        )
    return os.path.expanduser(text) if text.startswith("~") else text
