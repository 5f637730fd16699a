"""A ledger read without leaving anything beside it.

SQLite makes files for its write-ahead log beside a database that it only reads, and a reader
cannot remove them again; on a disk that takes no files it cannot open at all. So the bytes of a
ledger that nobody writes are read into memory, with what a log beside it still holds. One that is
being written is copied into memory at once, so that no reader outlives its writer.
"""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote

from enpire.store.layout import LOCK
from enpire.store.lock import PATIENCE_S, is_held, short_reading

_VERSIONS = slice(18, 20)  # of the file format, for writing and for reading
_ROLLBACK, _WAL = b"\x01\x01", b"\x02\x02"
TRIES = 3  # to read a file that a writer begins to change meanwhile


def open_snapshot(path: Path) -> sqlite3.Connection | None:
    """The ledger at `path` in memory, for reading; None if it keeps changing.

    Raises:
        OSError: it cannot be read.
        sqlite3.Error: it is no database.
    """
    for _ in range(TRIES):
        before = _stamp(path)
        data = _content(path)
        if _stamp(path) == before:
            return _opened(data)
    return None


def open_live_copy(path: Path) -> sqlite3.Connection | None:
    """A ledger under way as it is now, in memory; None if it keeps changing.

    Raises:
        LockedError: its writer takes long to close it.
        OSError: it cannot be read.
        sqlite3.Error: it is no database.
    """
    with short_reading(path.parent, PATIENCE_S):
        if not is_held(path.with_name(LOCK)):  # the writer has left in between
            return open_snapshot(path)
        with closing(sqlite3.connect(_address(path, "mode=ro"), uri=True)) as connection:
            return _opened(connection.serialize())


def open_briefly(path: Path, live: bool) -> sqlite3.Connection | None:
    """The ledger at `path` for reading at once, without copying it; None if it keeps changing.

    It leaves no file if it is closed before a writer comes or goes: see `short_reading`.

    Args:
        live: a process writes it.

    Raises:
        OSError: it cannot be read.
        sqlite3.Error: it is no database.
    """
    logged = _log(path).exists()
    if logged and not live:
        return open_snapshot(path)
    # Without a log all of it is in the file, which `immutable` reads without asking for one.
    how = "mode=ro" if logged else "mode=ro&immutable=1"
    return sqlite3.connect(
        _address(path, how), uri=True, isolation_level=None, check_same_thread=False
    )


def changes(path: Path) -> tuple[tuple[int, int], ...]:
    """What tells that a ledger may have changed: sizes and times of it and its log."""
    return _stamp(path)


def _content(path: Path) -> bytes:
    log = _log(path)
    if not log.is_file() or not log.stat().st_size:
        return path.read_bytes()
    with TemporaryDirectory() as folder:
        copy = Path(folder, path.name)
        shutil.copyfile(path, copy)
        shutil.copyfile(log, _log(copy))
        with closing(sqlite3.connect(copy)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return copy.read_bytes()


def _opened(data: bytes) -> sqlite3.Connection:
    if data[_VERSIONS] not in (_ROLLBACK, _WAL):
        raise sqlite3.DatabaseError("bytes 18 and 19 name no file format")
    # In memory there is no write-ahead log; a database that wants one would not open.
    plain = bytearray(data)
    plain[_VERSIONS] = _ROLLBACK
    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    try:
        connection.deserialize(bytes(plain))
        connection.execute("PRAGMA query_only = ON")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _address(path: Path, how: str) -> str:
    return f"file:{quote(str(path.absolute()))}?{how}"


def _log(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def _stamp(path: Path) -> tuple[tuple[int, int], ...]:
    """Size and time of change of a ledger and its log."""
    return tuple(
        (found.st_size, found.st_mtime_ns)
        for found in (at.stat() for at in (path, _log(path)) if at.is_file())
    )
