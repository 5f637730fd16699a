"""One writer for a run folder."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from enpire.errors import LockedError, StoreError
from enpire.store.durable import disk_errors


def held(path: Path) -> bool:
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
