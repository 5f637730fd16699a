"""Where a path that somebody named leads."""

from __future__ import annotations

import os
from pathlib import Path


def real_path(name: Path | str) -> Path:
    """Return a path from the root on, without links, be anything there or not.

    Where links go in a circle `Path.resolve` raises RuntimeError, which names no file. Here such a
    path stays as it is, and whoever opens it gets an OSError that says so.
    """
    return Path(os.path.realpath(name))
