"""The record of a run: one SQLite file, one writer, durable when a transaction returns."""

from __future__ import annotations

import json
import math
import os
import sqlite3
import threading
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote

from enpire.errors import StoreError
from enpire.store.durable import disk_errors, fsync, full_disk, temporary_name
from enpire.store.rows import (
    Decision,
    EpisodeRow,
    EventRow,
    Interval,
    Phase,
    PolicyRow,
    RoundRow,
    SealedRow,
)
from enpire.types import Episode, Outcome, Predicate, Purpose

VERSION = 3
"""Schema version, in SQLite's `user_version`. Since 2 predicates have an accuracy; since 3 there
are events of campaigns."""

APPLICATION = 0x656E7069
"""SQLite's `application_id` ("enpi"): tells a ledger from anybody's database."""

EVENTS = """
CREATE TABLE events (
    number INTEGER PRIMARY KEY, experiment INTEGER NOT NULL, kind TEXT NOT NULL, text TEXT NOT NULL,
    at REAL NOT NULL
) STRICT;
"""

SCHEMA = f"""{EVENTS}
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

WRITTEN = {
    "events": ("experiment, kind, text, at", "number"),
    "decisions": ("round, kind, text, incumbent, candidate, numbers", "number"),
    "policies": ("name, sha256, path, parent, recipe, round", "rowid"),
    "batches": ("path, sha256, bytes, committed_at", "rowid"),
    "episodes": (
        "id, seed, purpose, policy, round, station, outcome, score, stage, reason, reset_s, "
        "execute_s, verify_s, path, position",
        "number",
    ),
    "intervals": ("station, phase, start_s, end_s, episode", "number"),
    "sealed": ("attempt, policy, entropy, successes, trials, low, high", "rowid"),
}
"""Tables whose rows are added and never changed: their columns, and the order of adding."""

_EPISODE_COLUMNS = (
    "id, seed, purpose, policy, round, station, outcome, score, stage, reason, reset_s, execute_s,"
    " verify_s, path, position, sha256, bytes, committed_at"
)


@contextmanager
def _sqlite_errors(path: Path) -> Iterator[None]:
    """Turn any sqlite3.Error inside into a StoreError about the ledger at `path`."""
    try:
        yield
    except sqlite3.IntegrityError as error:
        again = str(error).startswith("UNIQUE")
        why = "it is recorded already" if again else "a value of it makes no sense"
        raise StoreError(f"{path} refuses a row ({error}): {why}") from error
    except sqlite3.Error as error:
        name = getattr(error, "sqlite_errorname", "") or ""
        if name == "SQLITE_FULL":
            raise full_disk(path) from error
        if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
            raise _corrupt(path, str(error)) from error
        if name.startswith("SQLITE_READONLY"):
            raise StoreError(f"{path} is open for reading only ({error})") from error
        raise StoreError(f"{path}: {error}; check the disk it lies on") from error


def _corrupt(path: Path, what: str) -> StoreError:
    return StoreError(
        f"{path} is corrupt ({what}): restore it from a copy of the run; "
        "the episodes beside it can still be read one by one"
    )


def _real(value: float | None) -> float:
    """SQLite keeps NaN as NULL."""
    return math.nan if value is None else value


def _json(numbers: Mapping[str, float]) -> str:
    return json.dumps({name: float(value) for name, value in numbers.items()})


def create(path: Path) -> None:
    """Publish an empty ledger at `path`, which must not exist; a part of one is never there."""
    temporary = temporary_name(path)
    with disk_errors(path), _sqlite_errors(path):
        try:
            connection = sqlite3.connect(temporary, isolation_level=None)
            try:
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("PRAGMA synchronous = FULL")
                connection.executescript(
                    f"BEGIN; {SCHEMA} PRAGMA application_id = {APPLICATION};"
                    f" PRAGMA user_version = {VERSION}; COMMIT;"
                )
            finally:
                connection.close()
            fsync(temporary)
            os.rename(temporary, path)
        except (OSError, sqlite3.Error):
            for suffix in ("", "-wal", "-shm"):
                temporary.with_name(temporary.name + suffix).unlink(missing_ok=True)
            raise
        fsync(path.parent)


class Ledger:
    """An open ledger. Any thread may call it; calls take turns.

    Times are seconds; every method raises StoreError when the file cannot be read or written. The
    single writer is kept by `WriterLock`, which the owner of the folder holds.
    """

    def __init__(self, path: Path, writable: bool) -> None:
        self.path = path
        self._turn = threading.RLock()
        if not path.is_file() or not path.stat().st_size:
            raise StoreError(f"{path} is missing or empty: the run was never fully created")
        with _sqlite_errors(path):
            self._connection = sqlite3.connect(
                f"file:{quote(str(path.absolute()))}?mode={'rw' if writable else 'ro'}",
                uri=True,
                isolation_level=None,
                check_same_thread=False,
            )
        try:
            self._check()
            self._accuracy = self._upgrade(writable)
        except StoreError:
            self._connection.close()
            raise

    def _check(self) -> None:
        application = self._value("PRAGMA application_id")
        version = self._value("PRAGMA user_version")
        if application != APPLICATION:
            raise StoreError(f"{self.path} is not a ledger of enpire: choose another folder")
        if version > VERSION:
            raise StoreError(
                f"{self.path} has schema version {version}, this enpire knows {VERSION}: "
                "update enpire to continue the run"
            )
        self._value("PRAGMA synchronous = FULL")
        self._value("PRAGMA foreign_keys = ON")
        verdict = self._value("PRAGMA quick_check(1)")
        if verdict != "ok":
            raise _corrupt(self.path, " ".join(str(verdict).split()))

    def _upgrade(self, writable: bool) -> str:
        """Bring an older ledger up to date if it may; its expression for an accuracy."""
        version = self._value("PRAGMA user_version")
        if version >= VERSION:
            return "accuracy"
        if not writable:
            return "0.0" if version < 2 else "accuracy"
        with self._transaction() as connection:
            if version < 2:
                connection.execute("ALTER TABLE predicates ADD COLUMN accuracy REAL DEFAULT 0")
            connection.execute(EVENTS)
            connection.execute(f"PRAGMA user_version = {VERSION}")
        return "accuracy"

    def close(self) -> None:
        """Fold the write-ahead log into the file and close it; safe to call twice."""
        with self._turn:
            self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._turn, _sqlite_errors(self.path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            finally:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")

    def _rows(
        self, query: str, values: Sequence[object] | Mapping[str, object] = ()
    ) -> list[tuple[Any, ...]]:
        with self._turn, _sqlite_errors(self.path):
            return self._connection.execute(query, values).fetchall()

    def _value(self, query: str, values: Sequence[object] = ()) -> Any:
        rows = self._rows(query, values)
        return rows[0][0] if rows else None

    def written(self, table: str) -> list[tuple[Any, ...]]:
        """All rows of a table whose rows are only ever added, in the order of adding, as they are.

        The first value of each is its number in that order, from 1, while none was removed.
        """
        columns, order = WRITTEN[table]
        return self._rows(f"SELECT {order}, {columns} FROM {table} ORDER BY {order}")

    # Facts about the run

    def set_facts(self, facts: Mapping[str, str]) -> None:
        """Record key facts of the run, replacing those of the same key."""
        with self._transaction() as connection:
            connection.executemany("INSERT OR REPLACE INTO run VALUES (?, ?)", facts.items())

    def facts(self) -> dict[str, str]:
        """All key facts of the run."""
        return dict(self._rows("SELECT key, value FROM run ORDER BY key"))

    # Episodes

    def add_batch(
        self,
        path: str,
        sha256: str,
        size: int,
        episodes: Sequence[Episode],
        intervals: Sequence[Interval] = (),
    ) -> None:
        """Record a published batch, its episodes with their predicates, and intervals, in one go.

        path: relative to the run folder. size: of the batch [bytes]. Intervals may be of any
        station, with or without an episode.
        """
        with self._transaction() as connection:
            connection.execute(
                "INSERT INTO batches VALUES (?, ?, ?, ?)", (path, sha256, size, time.time())
            )
            connection.executemany(
                f"INSERT INTO episodes VALUES (NULL{', ?' * 15})",
                [_episode_values(e, path, position) for position, e in enumerate(episodes)],
            )
            connection.executemany(
                "INSERT INTO predicates VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [
                    (
                        e.id,
                        i,
                        p.name,
                        float(p.value),
                        float(p.threshold),
                        p.unit,
                        p.at_least,
                        p.holds,
                        float(p.accuracy),
                    )
                    for e in episodes
                    for i, p in enumerate(e.verdict.predicates)
                ],
            )
            _insert_intervals(connection, intervals)

    def episodes(
        self,
        purposes: Collection[Purpose] | None = None,
        policies: Collection[str] | None = None,
        rounds: Collection[int] | None = None,
        without: Purpose | None = None,
    ) -> list[EpisodeRow]:
        """Episodes in the order of commitment. None does not filter, empty lets none by."""
        wanted = {"purpose": purposes, "policy": policies, "round": rounds}
        conditions = ["TRUE"]
        values: list[object] = []
        for column, choices in wanted.items():
            if choices is not None:
                conditions.append(f"{column} IN ({', '.join('?' * len(choices))})")
                values.extend(choices)
        if without is not None:
            conditions.append("purpose <> ?")
            values.append(without)
        rows = self._rows(
            f"SELECT {_EPISODE_COLUMNS} FROM episodes JOIN batches USING (path)"
            f" WHERE {' AND '.join(conditions)} ORDER BY number",
            values,
        )
        return [_episode_row(row) for row in rows]

    def known(self, ids: Collection[str]) -> set[str]:
        """Those of `ids` that are recorded."""
        return {
            str(row[0])
            for id in ids
            for row in self._rows("SELECT id FROM episodes WHERE id = ?", (id,))
        }

    def batches(self) -> set[str]:
        """Paths of all recorded batches, relative to the run folder."""
        return {str(path) for (path,) in self._rows("SELECT path FROM batches")}

    def predicates(self, episode: str) -> tuple[Predicate, ...]:
        """The predicates of one episode, in the verifier's order; none if it is not known."""
        rows = self._rows(
            f"SELECT name, value, threshold, unit, at_least, {self._accuracy} FROM predicates"
            " WHERE episode = ? ORDER BY position",
            (episode,),
        )
        return tuple(
            Predicate(name, _real(value), _real(threshold), unit, bool(at_least), _real(accuracy))
            for name, value, threshold, unit, at_least, accuracy in rows
        )

    # Robot time

    def add_intervals(self, intervals: Sequence[Interval]) -> None:
        """Record stretches of robot time."""
        with self._transaction() as connection:
            _insert_intervals(connection, intervals)

    def intervals(self, station: int | None = None) -> list[Interval]:
        """Recorded intervals by station and start, of one station or all."""
        rows = self._rows(
            "SELECT station, phase, start_s, end_s, episode FROM intervals"
            " WHERE :station IS NULL OR station = :station ORDER BY station, start_s, number",
            {"station": station},
        )
        return [Interval(at, Phase(phase), start, end, id) for at, phase, start, end, id in rows]

    def robot_seconds(self) -> dict[Phase, float]:
        """Robot time by phase over all stations [s]; MRU is EXECUTE over the sum."""
        total = dict.fromkeys(Phase, 0.0)
        rows = self._rows("SELECT phase, sum(end_s - start_s) FROM intervals GROUP BY phase")
        return total | {Phase(phase): float(seconds) for phase, seconds in rows}

    # Rounds, policies, decisions, examinations

    def put_round(self, row: RoundRow) -> None:
        """Record a round, replacing what was known of its number."""
        with self._transaction() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO rounds VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    row.number,
                    row.policy,
                    row.successes,
                    row.trials,
                    row.low,
                    row.high,
                    row.robot_s,
                    row.wall_s,
                    _json(row.numbers),
                ),
            )

    def rounds(self) -> list[RoundRow]:
        """All rounds by number."""
        return [
            RoundRow(
                number, policy, wins, trials, _real(low), _real(high), robot, wall, json.loads(more)
            )
            for number, policy, wins, trials, low, high, robot, wall, more in self._rows(
                "SELECT * FROM rounds ORDER BY number"
            )
        ]

    def add_policy(self, row: PolicyRow) -> None:
        """Record a policy whose file is published; its name must be new."""
        with self._transaction() as connection:
            connection.execute(
                "INSERT INTO policies VALUES (?, ?, ?, ?, ?, ?, ?)",
                (row.name, row.sha256, row.path, row.parent, row.recipe, row.round, row.state),
            )

    def policies(self) -> list[PolicyRow]:
        """All policies, oldest first."""
        return [PolicyRow(*row) for row in self._rows("SELECT * FROM policies ORDER BY rowid")]

    def policy(self, name: str) -> PolicyRow | None:
        """The policy of that name, if there is one."""
        rows = self._rows("SELECT * FROM policies WHERE name = ?", (name,))
        return PolicyRow(*rows[0]) if rows else None

    def set_policy_state(self, name: str, state: str) -> None:
        """Change what a policy is to the run (candidate, incumbent, rejected, ...)."""
        with self._transaction() as connection:
            changed = connection.execute(
                "UPDATE policies SET state = ? WHERE name = ?", (state, name)
            ).rowcount
        if not changed:
            raise StoreError(f"{self.path} knows no policy {name!r}: save it first")

    def add_decision(self, decision: Decision) -> None:
        """Record a decision."""
        with self._transaction() as connection:
            connection.execute(
                "INSERT INTO decisions VALUES (NULL, ?, ?, ?, ?, ?, ?)",
                (
                    decision.round,
                    decision.kind,
                    decision.text,
                    decision.incumbent,
                    decision.candidate,
                    _json(decision.numbers),
                ),
            )

    def decisions(self) -> list[Decision]:
        """All decisions in the order they were made."""
        rows = self._rows(
            "SELECT round, kind, text, incumbent, candidate, numbers FROM decisions ORDER BY number"
        )
        return [
            Decision(round, kind, text, incumbent, candidate, json.loads(numbers))
            for round, kind, text, incumbent, candidate, numbers in rows
        ]

    def add_event(self, event: EventRow) -> None:
        """Record an event of a campaign, at the time of now."""
        with self._transaction() as connection:
            connection.execute(
                "INSERT INTO events VALUES (NULL, ?, ?, ?, ?)",
                (event.experiment, event.kind, event.text, time.time()),
            )

    def events(self) -> list[EventRow]:
        """All events in the order in which they happened."""
        if self._value("PRAGMA user_version") < 3:
            return []
        rows = self._rows("SELECT experiment, kind, text, at FROM events ORDER BY number")
        return [EventRow(*row) for row in rows]

    def add_sealed(self, row: SealedRow) -> None:
        """Record an examination on sealed seeds; an attempt is never replaced."""
        with self._transaction() as connection:
            connection.execute(
                "INSERT INTO sealed VALUES (?, ?, ?, ?, ?, ?, ?)",
                (
                    row.attempt,
                    row.policy,
                    str(row.entropy),
                    row.successes,
                    row.trials,
                    row.low,
                    row.high,
                ),
            )

    def sealed(self) -> list[SealedRow]:
        """All examinations by attempt."""
        return [
            SealedRow(attempt, policy, int(entropy), *counts)
            for attempt, policy, entropy, *counts in self._rows(
                "SELECT * FROM sealed ORDER BY attempt"
            )
        ]


def _insert_intervals(connection: sqlite3.Connection, intervals: Sequence[Interval]) -> None:
    connection.executemany(
        "INSERT INTO intervals VALUES (NULL, ?, ?, ?, ?, ?)",
        [(i.station, i.phase, i.start_s, i.end_s, i.episode) for i in intervals],
    )


def _episode_values(episode: Episode, path: str, position: int) -> tuple[object, ...]:
    verdict, times = episode.verdict, episode.times
    return (
        episode.id,
        int(episode.seed),
        episode.purpose,
        episode.policy,
        int(episode.round),
        int(episode.station),
        verdict.outcome,
        float(verdict.score),
        verdict.stage,
        verdict.reason,
        float(times.reset),
        float(times.execute),
        float(times.verify),
        path,
        position,
    )


def _episode_row(row: tuple[Any, ...]) -> EpisodeRow:
    id, seed, purpose, policy, round, station, outcome, score, *rest = row
    return EpisodeRow(
        id, seed, Purpose(purpose), policy, round, station, Outcome(outcome), _real(score), *rest
    )
