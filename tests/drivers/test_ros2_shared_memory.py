"""Segments of processes that were killed: only those go, and no living one's."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from enpire.drivers.ros2.shared_memory import YOUNG_S, remove_abandoned


def made(folder: Path, name: str, age_s: float = 10 * YOUNG_S) -> Path:
    """A file of Fast DDS and its lock; returns the lock."""
    (folder / name).touch()
    lock = folder / f"{name}_el"
    lock.touch()
    made_at = lock.stat().st_mtime - age_s
    os.utime(lock, (made_at, made_at))
    return lock


def test_what_nobody_holds_is_removed_and_all_else_stays(tmp_path: Path) -> None:
    made(tmp_path, "fastdds_00000000000000aa")
    living = made(tmp_path, "fastdds_00000000000000bb")
    made(tmp_path, "fastdds_00000000000000cc", age_s=0.0)  # about to be locked
    made(tmp_path, "fastdds_port7411")
    made(tmp_path, "fastdds_mine")
    before = {path.name for path in tmp_path.iterdir()}
    with living.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert remove_abandoned(tmp_path) == 1
        assert remove_abandoned(tmp_path) == 0
    gone = {"fastdds_00000000000000aa", "fastdds_00000000000000aa_el"}
    assert {path.name for path in tmp_path.iterdir()} == before - gone
    assert remove_abandoned(tmp_path) == 1, "its owner has ended"


def test_a_folder_that_is_not_there_holds_none(tmp_path: Path) -> None:
    assert remove_abandoned(tmp_path / "none") == 0
