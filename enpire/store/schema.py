"""A ledger's file: its tables, how it is made and opened, and what SQLite's errors mean."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from enpire.errors import StoreError
from enpire.store import chain
from enpire.store.chain import ChainEnd
from enpire.store.durable import disk_errors, fsync, full_disk, temporary_name

VERSION = 5
"""Schema version, in SQLite's `user_version`. Since 2 predicates have an accuracy; since 3 there
are events of campaigns; since 4 a chain (`chain.py`); since 5 a batch is an archive."""

CHAINED = 4  # the first version with a chain

UNCHAINED = "unchained"  # key of the fact that says what a ledger held before its chain was begun

APPLICATION = 0x656E7069
"""SQLite's `application_id` ("enpi"): tells a ledger from anybody's database."""

EVENTS = """
CREATE TABLE events (
    number INTEGER PRIMARY KEY, experiment INTEGER NOT NULL, kind TEXT NOT NULL, text TEXT NOT NULL,
    at REAL NOT NULL
) STRICT;
"""

SCHEMA = f"""{EVENTS}{chain.TABLE}
CREATE TABLE run (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE rounds (
    number INTEGER PRIMARY KEY, policy TEXT NOT NULL, successes INTEGER NOT NULL,
    trials INTEGER NOT NULL, low REAL, high REAL, robot_s REAL NOT NULL, wall_s REAL NOT NULL,
    numbers TEXT NOT NULL
) STRICT;
CREATE TABLE policies (
    name TEXT PRIMARY KEY, sha256 TEXT NOT NULL, path TEXT NOT NULL UNIQUE, parent TEXT NOT NULL,
    recipe TEXT NOT NULL, round INTEGER NOT NULL, state TEXT NOT NULL
) STRICT;
CREATE TABLE batches (
    path TEXT PRIMARY KEY, sha256 TEXT NOT NULL, bytes INTEGER NOT NULL, committed_at REAL NOT NULL
) STRICT;
CREATE TABLE episodes (
    number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, seed INTEGER NOT NULL CHECK (seed >= 0),
    purpose TEXT NOT NULL, policy TEXT NOT NULL, round INTEGER NOT NULL, station INTEGER NOT NULL,
    outcome TEXT NOT NULL, score REAL, stage TEXT NOT NULL, reason TEXT NOT NULL,
    reset_s REAL NOT NULL, execute_s REAL NOT NULL, verify_s REAL NOT NULL,
    path TEXT NOT NULL REFERENCES batches (path), position INTEGER NOT NULL, UNIQUE (path, position)
) STRICT;
CREATE TABLE predicates (
    episode TEXT NOT NULL REFERENCES episodes (id), position INTEGER NOT NULL, name TEXT NOT NULL,
    value REAL, threshold REAL, unit TEXT NOT NULL, at_least INTEGER NOT NULL,
    holds INTEGER NOT NULL, accuracy REAL DEFAULT 0, PRIMARY KEY (episode, position)
) STRICT, WITHOUT ROWID;
CREATE TABLE intervals (
    number INTEGER PRIMARY KEY, station INTEGER NOT NULL, phase TEXT NOT NULL,
    start_s REAL NOT NULL, end_s REAL NOT NULL CHECK (end_s >= start_s), episode TEXT NOT NULL
) STRICT;
CREATE TABLE decisions (
    number INTEGER PRIMARY KEY, round INTEGER NOT NULL, kind TEXT NOT NULL, text TEXT NOT NULL,
    incumbent TEXT NOT NULL, candidate TEXT NOT NULL, numbers TEXT NOT NULL
) STRICT;
CREATE TABLE sealed (
    attempt INTEGER PRIMARY KEY, policy TEXT NOT NULL, entropy TEXT NOT NULL,
    successes INTEGER NOT NULL, trials INTEGER NOT NULL, low REAL NOT NULL, high REAL NOT NULL
) STRICT;
"""


def create(path: Path, facts: Mapping[str, str] | None = None) -> None:
    """Publish a ledger at `path`, which must not exist; a part of one is never there.

    facts: all that it holds, see `Ledger.set_facts`.
    """
    temporary = temporary_name(path)
    with disk_errors(path), sqlite_errors(path):
        try:
            connection = sqlite3.connect(temporary, isolation_level=None)
            try:
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("PRAGMA synchronous = FULL")
                connection.executescript(
                    f"BEGIN; {SCHEMA} PRAGMA application_id = {APPLICATION};"
                    f" PRAGMA user_version = {VERSION};"
                )
                connection.executemany("INSERT INTO run VALUES (?, ?)", (facts or {}).items())
                chain.extend(connection, ChainEnd())
                connection.execute("COMMIT")
            finally:
                connection.close()
            fsync(temporary)
            os.rename(temporary, path)
        except (OSError, sqlite3.Error):
            for suffix in ("", "-wal", "-shm"):
                temporary.with_name(temporary.name + suffix).unlink(missing_ok=True)
            raise
        fsync(path.parent)


def connect(path: Path, writable: bool) -> sqlite3.Connection:
    """Return a connection to the file at `path`, for any thread."""
    return sqlite3.connect(
        f"file:{quote(str(path.absolute()))}?mode={'rw' if writable else 'ro'}",
        uri=True,
        isolation_level=None,
        check_same_thread=False,
    )


@contextmanager
def sqlite_errors(path: Path) -> Iterator[None]:
    """Turn any sqlite3.Error inside into a StoreError about the ledger at `path`."""
    try:
        yield
    except UnicodeDecodeError as error:  # what SQLite says quotes bytes of the file
        raise corrupt(path, f"a text in it is no UTF-8: {error.object[:80]!r}") from error
    except sqlite3.IntegrityError as error:
        again = str(error).startswith("UNIQUE")
        why = "it is recorded already" if again else "a value of it makes no sense"
        raise StoreError(f"{path} refuses a row ({error}): {why}") from error
    except sqlite3.Error as error:
        name = getattr(error, "sqlite_errorname", "") or ""
        if name == "SQLITE_FULL":
            raise full_disk(path) from error
        if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")) or (
            not name and type(error) in (sqlite3.DatabaseError, sqlite3.OperationalError)
        ):
            raise corrupt(path, str(error)) from error
        if name.startswith("SQLITE_READONLY"):
            raise StoreError(f"{path} is open for reading only ({error})") from error
        raise StoreError(f"{path}: {error}; check the disk it lies on") from error


def corrupt(path: Path, what: str) -> StoreError:
    """Return the error of a ledger that is damaged; what: in which way."""
    return StoreError(
        f"{path} is corrupt ({what}): enpire fsck {path.parent} --repair makes a new one from the "
        "batches beside it, and keeps this one in lost/"
    )
