"""A disk is told to be unfit before a run finds out."""

from __future__ import annotations

import fcntl
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from enpire.observe.machine import CheckState
from enpire.observe.machine import disk as disks
from enpire.observe.machine.disk import GIB, disk, mounted

ROOT = "22 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n"


def _looked_at(folder: Path, mount: str = ROOT) -> dict[str, tuple[CheckState, str]]:
    mounts = folder / "mountinfo"
    mounts.write_text(mount)
    return {each.name: (each.state, each.found) for each in disk(folder, mounts)}


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disks, "SAMPLE", 2**16)
    monkeypatch.setattr(disks, "QUICKEST_S", 0.0)
    monkeypatch.setattr(disks, "SLOW", 0.0)
    monkeypatch.delenv("LD_PRELOAD", raising=False)


def test_a_good_disk_is_good_and_nothing_is_left_on_it(tmp_path: Path) -> None:
    found = _looked_at(tmp_path)
    assert list(found) == ["free space", "disk speed", "fsync", "file locks"]
    assert all(state is not CheckState.BAD for state, _ in found.values())
    assert [path.name for path in tmp_path.iterdir()] == ["mountinfo"]


@pytest.mark.parametrize(
    ("mount", "state", "said"),
    [
        (ROOT, CheckState.GOOD, "ext4"),
        ("23 22 0:30 / {} rw - tmpfs tmpfs rw", CheckState.BAD, "lies in memory"),
        ("23 22 0:30 / {} rw - ext4 /dev/sdb rw,nobarrier", CheckState.BAD, "nobarrier"),
        ("23 22 0:30 / {} rw - overlay o rw,lowerdir=a,volatile", CheckState.BAD, "volatile"),
        ("23 22 0:30 / {} rw - nfs4 there:/x rw", CheckState.NOTE, "server"),
        ("23 22 0:30 / {} rw - fuse.sshfs there:/x rw", CheckState.NOTE, "server"),
        ("23 22 0:30 / {}x rw - tmpfs tmpfs rw", CheckState.GOOD, "ext4"),
    ],
)
def test_a_file_system_that_promises_nothing_is_told(
    tmp_path: Path, mount: str, state: CheckState, said: str
) -> None:
    found = _looked_at(tmp_path, ROOT + mount.format(tmp_path))["fsync"]
    assert found[0] is state
    assert said in found[1]


def test_the_mount_of_a_folder_with_a_blank_in_its_name_is_found(tmp_path: Path) -> None:
    folder = tmp_path / "my runs"
    folder.mkdir()
    escaped = str(folder).replace(" ", "\\040")
    (tmp_path / "m").write_text(f"{ROOT}23 22 0:30 / {escaped} rw - xfs /dev/sdc rw\n")
    assert mounted(folder / "x", tmp_path / "m") == ("xfs", "rw,rw")


def test_a_flush_that_is_too_quick_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disks, "QUICKEST_S", 1e9)
    assert _looked_at(tmp_path)["fsync"][0] is CheckState.NOTE
    monkeypatch.setenv("LD_PRELOAD", "/usr/lib/libeatmydata.so")
    assert _looked_at(tmp_path)["fsync"][0] is CheckState.BAD


def test_a_slow_disk_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disks, "SLOW", 1e18)
    assert _looked_at(tmp_path)["disk speed"][0] is CheckState.NOTE


@pytest.mark.parametrize(
    ("free", "state"),
    [(GIB // 2, CheckState.BAD), (5 * GIB, CheckState.NOTE), (50 * GIB, CheckState.GOOD)],
)
def test_little_room_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: int, state: CheckState
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=free))
    assert _looked_at(tmp_path)["free space"][0] is state


def test_a_disk_without_locks_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any) -> None:
        raise OSError(95, "Operation not supported")

    for flock in (refused, lambda *_: None):  # it says so, or lets everybody in
        monkeypatch.setattr(fcntl, "flock", flock)
        assert _looked_at(tmp_path)["file locks"][0] is CheckState.BAD
