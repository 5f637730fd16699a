"""Published is whole and on the disk, or not there."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from enpire.errors import StoreError
from enpire.store.durable import (
    make_folder,
    publish_file,
    publish_folder,
    temporary_name,
    write_file,
)


def _folder(path: Path) -> Path:
    temporary = temporary_name(path)
    (temporary / "in").mkdir(parents=True)
    write_file(temporary / "a", b"1")
    write_file(temporary / "in" / "b", b"2")
    return temporary


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """What is fsynced and renamed, in order, as (call, path)."""
    made: list[tuple[str, str]] = []
    fsync, rename = os.fsync, os.rename

    def spy_fsync(handle: int) -> None:
        made.append(("fsync", os.readlink(f"/proc/self/fd/{handle}")))
        fsync(handle)

    def spy_rename(source: Path, target: Path) -> None:
        made.append(("rename", str(target)))
        rename(source, target)

    monkeypatch.setattr(os, "fsync", spy_fsync)
    monkeypatch.setattr(os, "rename", spy_rename)
    return made


def test_a_file_is_synced_before_its_name_and_the_folder_after(
    tmp_path: Path, calls: list[tuple[str, str]]
) -> None:
    path = tmp_path / "x"
    publish_file(path, b"new")
    assert path.read_bytes() == b"new"
    assert calls == [
        ("fsync", str(temporary_name(path))),
        ("rename", str(path)),
        ("fsync", str(tmp_path)),
    ]


def test_a_folder_is_synced_throughout_before_its_name(
    tmp_path: Path, calls: list[tuple[str, str]]
) -> None:
    final = tmp_path / "x"
    temporary = _folder(final)
    publish_folder(temporary, final)
    assert calls[-2:] == [("rename", str(final)), ("fsync", str(tmp_path))]
    assert sorted(calls[:-2]) == sorted(
        ("fsync", str(temporary / name)) for name in ("a", "in/b", "in", "")
    )
    assert (final / "in" / "b").read_bytes() == b"2"


@pytest.mark.parametrize("call", ["write", "fsync", "rename"])
def test_a_full_disk_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    path = tmp_path / "x"
    publish_file(path, b"old")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, call, full)
    with pytest.raises(StoreError, match=r"disk is full: .*/x was not written.*free space"):
        publish_file(path, b"new")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["x"]


@pytest.mark.parametrize("call", ["fsync", "rename"])
def test_a_full_disk_leaves_no_part_of_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    temporary = _folder(tmp_path / "x")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, call, full)
    with pytest.raises(StoreError, match="disk is full"):
        publish_folder(temporary, tmp_path / "x")
    assert os.listdir(tmp_path) == []


def test_a_short_write_is_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda handle, data: write(handle, data[:3]))
    publish_file(tmp_path / "x", b"0123456789")
    assert (tmp_path / "x").read_bytes() == b"0123456789"


def test_no_permission_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(os, "rename", refuse)
    with pytest.raises(StoreError, match=r"cannot be written .*choose a folder"):
        publish_file(tmp_path / "x", b"")


def test_a_new_folder_is_forced_to_the_disk_with_those_above_it(
    tmp_path: Path, calls: list[tuple[str, str]]
) -> None:
    for _ in range(2):
        make_folder(tmp_path / "a" / "b")
        assert calls == [("fsync", str(tmp_path / "a")), ("fsync", str(tmp_path))], "once"
    assert (tmp_path / "a" / "b").is_dir()
