"""Putting bytes on a disk so that they are either all there or not there at all.

The order is temporary name, write, fsync, rename, fsync of the folder: after a loss of power a name
exists only if everything under it does. `rename` alone gives no such promise.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from enpire.errors import StoreError
from enpire.store.fault_points import fault_point

TEMPORARY_PREFIX = ".tmp-"

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
_TOO_MANY = frozenset({errno.EMFILE, errno.ENFILE})
_REFUSED = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
_NO_FOLDER = frozenset({errno.EEXIST, errno.ENOTDIR})


def full_disk(path: Path) -> StoreError:
    """The one message about a full disk, naming what was being written."""
    return StoreError(
        f"the disk is full: {path} was not written. Everything recorded before it is intact; "
        "free space on that disk and continue the run"
    )


@contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """Turn any OSError inside into a StoreError about `path`."""
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            raise full_disk(path) from error
        if error.errno in _REFUSED:
            raise StoreError(
                f"{path} cannot be written ({error.strerror}): "
                "choose a folder that this user may write to, or change its permissions"
            ) from error
        if error.errno in _NO_FOLDER:
            raise StoreError(f"{path}: a file is where a folder is to be: give another name") from (
                error
            )
        if error.errno in _TOO_MANY:
            raise StoreError(
                f"{path} was not opened: too many files are open. Everything recorded is intact; "
                "raise the limit (ulimit -n 65536) and continue the run"
            ) from error
        raise StoreError(f"{path}: {error.strerror or error}; check the disk it lies on") from error


def temporary_name(path: Path) -> Path:
    """A name in the folder of `path` that readers ignore and a sweep removes."""
    return path.with_name(f"{TEMPORARY_PREFIX}{os.getpid()}-{path.name}")


def write_file(path: Path, *parts: bytes) -> None:
    """Write `parts` to `path`, one after the other, replacing it; not yet durable."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    try:
        for part in parts:
            rest = memoryview(part)
            while rest:
                rest = rest[os.write(handle, rest) :]
    finally:
        os.close(handle)


def fsync(path: Path) -> None:
    """Force one file or folder to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def make_folder(path: Path) -> None:
    """Make a folder, and those above it, durably; one that is there already is left as it is.

    Files in it may be forced to the disk as often as one likes: without the folder's own name there
    is no way to them.
    """
    new = [folder for folder in (path, *path.parents) if not folder.exists()]
    path.mkdir(parents=True, exist_ok=True)
    for folder in new:
        fsync(folder.parent)


def publish_file(path: Path, *parts: bytes) -> None:
    """Make `path` hold `parts`, durably; a reader sees the old content or the new, never less.

    Raises StoreError (a full disk, no permission); `path` is then as it was.
    """
    temporary = temporary_name(path)
    with disk_errors(path):
        try:
            fault_point("write")
            write_file(temporary, *parts)
            fsync(temporary)
            fault_point("written")
            os.rename(temporary, path)
        except (OSError, MemoryError):
            temporary.unlink(missing_ok=True)
            raise
        fault_point("renamed")
        fsync(path.parent)


def publish_folder(temporary: Path, final: Path) -> None:
    """Rename the folder `temporary` to `final` beside it, durably, with all that is in it.

    `final` must not exist, or be empty. Raises StoreError; nothing is then at `final` and
    `temporary` is removed, unless it was the last fsync that failed: then the whole is at `final`.
    """
    with disk_errors(final):
        try:
            for folder, _, files in os.walk(temporary, topdown=False):
                for name in files:
                    fsync(Path(folder, name))
                fsync(Path(folder))
            fault_point("folder")
            os.rename(temporary, final)
        except (OSError, MemoryError):
            shutil.rmtree(temporary, ignore_errors=True)
            raise
        fault_point("folder_renamed")
        fsync(final.parent)
