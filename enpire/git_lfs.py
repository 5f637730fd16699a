"""Files that Git LFS keeps elsewhere: a clone without it has a few lines of text in their place."""

from __future__ import annotations

from pathlib import Path

BEGINS = b"version https://git-lfs.github.com/spec/"
HINT = "is a pointer of Git LFS, and not the file itself: run `git lfs pull` where it was cloned"


def is_pointer(data: bytes) -> bool:
    """Tell whether these are a pointer's bytes, or the first of them."""
    return data.startswith(BEGINS)


def points(path: Path) -> bool:
    """Tell whether a file is a pointer; one that cannot be read is none."""
    try:
        with path.open("rb") as file:
            return is_pointer(file.read(len(BEGINS)))
    except OSError:
        return False
