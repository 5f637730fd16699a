"""A ledger's file, open: who may read or write it, its transactions, the chain over its rows."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from enpire.closing import Closing
from enpire.errors import StoreError
from enpire.store import chain
from enpire.store.chain import WRITTEN, ChainEnd
from enpire.store.durable import disk_errors
from enpire.store.fault_points import fault_point
from enpire.store.schema import (
    APPLICATION,
    CHAINED,
    EVENTS,
    UNCHAINED,
    VERSION,
    connect,
    corrupt,
    sqlite_errors,
)
from enpire.store.snapshot import open_briefly, open_live_copy, open_snapshot


class LedgerFile(Closing):
    """One SQLite file with one writer. A transaction is durable when its block has ended.

    Any thread may call it; calls take turns. Every method raises StoreError when the file cannot
    be read or written. The single writer is kept by `WriterLock`, which the owner of the folder
    holds.

    Attributes:
        path: of the file.
        damage: a sentence for each part that is not what was recorded; a file with any is only
            opened with `damaged`, and never to write.
        end: the end of the chain.
    """

    def __init__(
        self,
        path: Path,
        writable: bool,
        damaged: bool = False,
        live: bool = True,
        brief: bool = False,
        following: bool = True,
        sealed: bool = False,
    ) -> None:
        """Open it.

        Args:
            path: of the file.
            writable: as its only writer.
            damaged: to read one too that is not what was recorded.
            live: a process writes it, or may begin to.
            brief: to look at new rows, often: nothing is checked, and no file is left.
            following: of a reader of a live one: sees rows that come later, and must be closed
                before the writer closes it. Else it reads a copy of now, and leaves no file.
            sealed: every byte is known to be as its last writer left it, who had checked the rows.
        """
        self.path = path
        self.damage: list[str] = []
        self.end = ChainEnd()
        self._turn = threading.RLock()
        if not path.is_file() or not path.stat().st_size:
            raise StoreError(f"{path} is missing or empty: take it from a copy of the run")
        with disk_errors(path), sqlite_errors(path):
            found = None
            if brief and not writable:
                found = open_briefly(path, live)
            elif not writable and not live:
                found = open_snapshot(path)
            elif not writable and not following:
                found = open_live_copy(path)
            self._connection = found or connect(path, writable)
        try:
            self._identify()
            if not brief:
                self._check(sealed)
                self._walk(sealed)
            if self.damage and (writable or not damaged):
                raise self._altered()
            if writable:
                self._upgrade()
        except StoreError:
            self._connection.close()
            raise

    def _identify(self) -> None:
        application = self.value("PRAGMA application_id")
        version = self.version
        if application != APPLICATION:
            raise StoreError(f"{self.path} is not a ledger of enpire: choose another folder")
        if version > VERSION:
            raise StoreError(
                f"{self.path} has schema version {version}, this enpire knows {VERSION}: "
                "update enpire to continue the run"
            )

    def _check(self, sealed: bool) -> None:
        self.value("PRAGMA synchronous = FULL")
        self.value("PRAGMA foreign_keys = ON")
        if not sealed:
            self._quick_check()

    def _quick_check(self) -> None:
        verdict = self.value("PRAGMA quick_check(1)")
        if verdict != "ok":
            raise corrupt(self.path, " ".join(str(verdict).split()))

    def _walk(self, sealed: bool) -> None:
        """Hold the rows against the chain, in one view of a ledger under way."""
        if (self.version >= CHAINED) != self.chained:
            has = "a" if self.chained else "no"
            self.damage = [f"its schema version is {self.version}, but it has {has} chain"]
        if not self.chained:
            return
        with self.reading() as connection:
            connection.execute("BEGIN")
            try:
                if sealed:
                    self.end = chain.end_of(connection)
                    return
                self.end, wrong = chain.verify(connection)
                self.damage += wrong
            finally:
                connection.execute("ROLLBACK")

    def _altered(self) -> StoreError:
        more = f" and {len(self.damage) - 1} more" if len(self.damage) > 1 else ""
        return StoreError(
            f"{self.path} is not what was recorded ({self.damage[0]}{more}): "
            f"enpire fsck {self.path.parent} names all of it"
        )

    def _upgrade(self) -> None:
        """Bring an older ledger up to date."""
        version = self.version
        if version == VERSION:
            return
        with self.transaction() as connection:
            if version < 2:
                connection.execute("ALTER TABLE predicates ADD COLUMN accuracy REAL DEFAULT 0")
            if version < 3:
                connection.execute(EVENTS)
            if version < CHAINED:
                _begin_chain(connection)
            connection.execute(f"PRAGMA user_version = {VERSION}")

    def close(self) -> None:
        """Fold the write-ahead log into the file and close it; safe to call twice."""
        with self._turn:
            self._connection.close()

    @property
    def version(self) -> int:
        """The version of its schema, see `VERSION`."""
        return int(self.value("PRAGMA user_version"))

    @property
    def chained(self) -> bool:
        """Whether it has a chain; one of before there were any has none until it is continued."""
        return bool(self.value("SELECT count(*) FROM sqlite_master WHERE name = 'chain'"))

    def is_whole(self) -> bool:
        """Whether all that it holds is what was recorded, by another look at all of it."""
        try:
            self._quick_check()
            with self.reading() as connection:
                end, wrong = chain.verify(connection)
        except StoreError:
            return False
        return not wrong and end == self.end

    def integrity(self) -> list[str]:
        """What SQLite's own full check finds, which takes longer than the one at opening."""
        try:
            lines = [" ".join(str(row[0]).split()) for row in self.rows("PRAGMA integrity_check")]
        except StoreError as error:
            return [str(error)]
        return [] if lines == ["ok"] else lines

    def copy_to(self, path: Path) -> None:
        """Write all that is committed to a new ledger at `path`, in one file."""
        with self._turn, sqlite_errors(path), closing(sqlite3.connect(path)) as copy:
            self._connection.backup(copy)
            copy.execute("PRAGMA journal_mode = DELETE")

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Write all of a block or nothing of it, with a link of the chain for what it changed."""
        with self._turn, disk_errors(self.path), sqlite_errors(self.path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                end = chain.extend(self._connection, self.end)
                fault_point("commit")
                self._connection.execute("COMMIT")
                self.end = end
                fault_point("committed")
            finally:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Read while no other thread of this process does anything with the file."""
        with self._turn, sqlite_errors(self.path):
            yield self._connection

    def rows(
        self, query: str, values: Sequence[object] | Mapping[str, object] = ()
    ) -> list[tuple[Any, ...]]:
        """All rows that a query has."""
        with self.reading() as connection:
            return connection.execute(query, values).fetchall()

    def value(self, query: str, values: Sequence[object] = ()) -> Any:
        """The first value of a query's first row; None if it has none."""
        rows = self.rows(query, values)
        return rows[0][0] if rows else None

    def written(self, table: str) -> list[tuple[Any, ...]]:
        """All rows of a table whose rows are only ever added, in the order of adding, as they are.

        The first value of each is its number in that order, from 1, while none was removed.
        """
        columns, order = WRITTEN[table]
        return self.rows(f"SELECT {order}, {columns} FROM {table} ORDER BY {order}")

    def follows(self, sha256: str) -> bool:
        """Whether it has had a chain that ended with this hash, and no batch since."""
        with self.reading() as connection:
            return chain.follows(connection, sha256)


def _begin_chain(connection: sqlite3.Connection) -> None:
    connection.execute(chain.TABLE)
    count = connection.execute("SELECT count(*) FROM episodes").fetchone()[0]
    connection.execute(
        "INSERT OR REPLACE INTO run VALUES (?, ?)",
        (UNCHAINED, f"its first {count} episodes were recorded before there was a chain"),
    )
