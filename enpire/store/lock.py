"""One writer for a run folder."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from enpire.errors import LockedError, StoreError
from enpire.store.durable import disk_errors


def is_held(path: Path) -> bool:
    """Whether some process holds the lock on a file; False where no lock can be asked for."""
    try:
        handle = os.open(path, os.O_RDONLY)
    except (FileNotFoundError, PermissionError):
        return False
    with disk_errors(path):
        try:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(handle)
    return False


PATIENCE_S = 2.0  # of a writer that ends, with readers that look for a moment
LOOK_S = 0.005  # between its looks at whether they are gone


@contextmanager
def short_reading(folder: Path, patience: float = 0.0) -> Iterator[None]:
    """Keep the writer of a run from closing its ledger meanwhile; it waits for `PATIENCE_S`.

    SQLite removes the files of its write-ahead log when the last connection closes, and a reader
    that is the last one cannot. The lock is on the folder itself, so that a reader makes no file.

    Args:
        folder: of the run.
        patience: how long to wait for a writer that is closing it [s].

    Raises:
        LockedError: the ledger is being closed right now.
    """
    with disk_errors(folder):
        handle = os.open(folder, os.O_RDONLY)
    end = time.monotonic() + patience
    try:
        while not _try_lock(handle, fcntl.LOCK_SH):
            if time.monotonic() >= end:
                raise LockedError(f"{folder} is being closed by its writer: read it again")
            time.sleep(LOOK_S)
        yield
    finally:
        os.close(handle)


@contextmanager
def without_short_readers(folder: Path) -> Iterator[None]:
    """Wait until nobody looks at a run for a moment, and let nobody begin to meanwhile."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:  # the folder is gone, and so is what there was to read
        yield
        return
    end = time.monotonic() + PATIENCE_S
    try:
        while not _try_lock(handle, fcntl.LOCK_EX) and time.monotonic() < end:
            time.sleep(LOOK_S)
        yield
    finally:
        os.close(handle)


def _try_lock(handle: int, kind: int) -> bool:
    try:
        fcntl.flock(handle, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True  # a disk without locks: it is read all the same
    return True


class WriterLock:
    """An exclusive lock on a file, held from construction until `release` or the process's death.

    The kernel lets go of it when the process dies, so it is never stale; the file itself stays and
    its content (the holder's process id) is only for the message. Raises LockedError when held.
    """

    def __init__(self, path: Path) -> None:
        with disk_errors(path):
            self._handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = os.read(self._handle, 32).decode(errors="replace").strip() or "unknown"
            os.close(self._handle)
            raise LockedError(
                f"{path.parent} is being written by another process (id {holder}): "
                "wait for it or stop it, or open the run for reading only"
            ) from error
        except OSError as error:
            os.close(self._handle)
            raise StoreError(
                f"{path} cannot be locked ({error.strerror}): keep runs on a disk with file locks"
            ) from error
        os.ftruncate(self._handle, 0)
        os.pwrite(self._handle, str(os.getpid()).encode(), 0)

    @property
    def held(self) -> bool:
        """Whether it was not released yet."""
        return self._handle >= 0

    def release(self) -> None:
        """Let another writer in; safe to call twice."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1
