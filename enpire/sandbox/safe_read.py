"""Reads a file that an agent has left in its workspace: that file, or none."""

from __future__ import annotations

import os
import stat
from pathlib import Path, PurePosixPath

from enpire.errors import EnpireError
from enpire.sandbox.limits import MIB


class ReadError(EnpireError):
    """A workspace has no such plain file."""


def read_inside(folder: Path, name: str, most: int = 16 * MIB) -> bytes:
    """The bytes of a file below `folder`: data to be quoted, never instructions.

    No link is followed anywhere on the way, and nothing is waited for: what is in a workspace may
    be a link to somebody else's file, a pipe that nobody writes to, or without an end.

    Raises:
        ReadError: it is not there, leads elsewhere, is no plain file, or is longer than `most`.
    """
    parts = PurePosixPath(name).parts
    if not parts or PurePosixPath(name).is_absolute() or ".." in parts:
        raise ReadError(f"{name!r} is not below {folder}")
    at = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for part in parts[:-1]:
            below = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=at)
            os.close(at)
            at = below
        file = os.open(parts[-1], os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=at)
    except (OSError, ValueError) as error:
        raise ReadError(f"{name!r} of {folder} is no plain file there: {error}") from error
    finally:
        os.close(at)
    with os.fdopen(file, "rb") as opened:
        if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
            raise ReadError(f"{name!r} of {folder} is no plain file")
        data = opened.read(most + 1)
    if len(data) > most:
        raise ReadError(f"{name!r} of {folder} has more than {most} bytes")
    return data
