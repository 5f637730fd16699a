"""What killed processes left in shared memory, which Fast DDS itself removes by a command only."""

from __future__ import annotations

import fcntl
import re
import time
from contextlib import suppress
from pathlib import Path

FOLDER = Path("/dev/shm")
LOCK = re.compile(r"(fastdds_[0-9a-f]{16})_el")  # of a segment: its owner holds it while it lives
YOUNG_S = 10.0  # whoever made a younger one may be about to lock it


def remove_abandoned(folder: Path = FOLDER) -> int:
    """Remove every segment whose owner has ended without removing it; returns how many.

    The files of ports stay: their names are used again, and living processes may write to them.
    """
    names = (LOCK.fullmatch(path.name) for path in folder.glob("fastdds_*_el"))
    return sum(_remove(folder / found[0], folder / found[1]) for found in names if found)


def _remove(lock: Path, segment: Path) -> bool:
    """Remove both unless the lock is held; returns whether they are gone."""
    with suppress(OSError):  # it is held, or another user's, or has just gone
        if time.time() - lock.stat().st_mtime < YOUNG_S:
            return False
        with lock.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            segment.unlink(missing_ok=True)
            lock.unlink()
            return True
    return False
