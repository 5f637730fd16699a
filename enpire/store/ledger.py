"""The record of a run: one SQLite file, one writer, durable when a transaction returns."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import wraps
from operator import itemgetter
from pathlib import Path
from typing import Any, cast

from enpire.closing import Closing
from enpire.errors import StoreError
from enpire.json_text import loads
from enpire.store import chain
from enpire.store.chain import WRITTEN, ChainEnd, Rows
from enpire.store.durable import disk_errors
from enpire.store.fault_points import fault_point
from enpire.store.row_values import (
    EPISODE_COLUMNS,
    episode_row,
    episode_values,
    json_of,
    predicate_of,
    real,
)
from enpire.store.rows import (
    EpisodeRow,
    EventRow,
    Interval,
    LogEntry,
    Phase,
    PolicyRow,
    RoundRow,
    SealedRow,
)
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
from enpire.store.search import EpisodeFilter, one_of
from enpire.store.snapshot import open_briefly, open_live_copy, open_snapshot
from enpire.types import Episode, Outcome, Predicate, Purpose

AT = "at"  # among a decision's numbers: when it was recorded, Unix time [s]

IN_BATCHES = {"batches", "episodes", chain.PREDICATES}  # a batch's own files say these

RESTORED = {
    "run": "INSERT OR REPLACE INTO run VALUES (?, ?)",
    "rounds": "INSERT OR REPLACE INTO rounds VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
    "policies": "UPDATE policies SET state = ? WHERE name = ?",
}
"""How what may change is set to what a batch has kept of it."""


def _readable[**P, R](read: Callable[P, R]) -> Callable[P, R]:
    """Have a method of a ledger say StoreError of values that its table cannot hold."""

    @wraps(read)
    def reading(*arguments: P.args, **named: P.kwargs) -> R:
        try:
            return read(*arguments, **named)
        except (KeyError, TypeError, ValueError) as error:
            ledger = cast(Ledger, arguments[0])
            raise corrupt(ledger.path, f"{read.__name__}: {error}") from error

    return reading


class Ledger(Closing):
    """An open ledger. Any thread may call it; calls take turns.

    Times are seconds; every method raises StoreError when the file cannot be read or written. The
    single writer is kept by `WriterLock`, which the owner of the folder holds.

    Attributes:
        damage: a sentence for each part that is not what was recorded; a ledger with any is only
            opened with `damaged`, and never to write.
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
        self._turn = threading.RLock()
        self._end = ChainEnd()
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
            self._accuracy = self._upgrade(writable)
        except StoreError:
            self._connection.close()
            raise

    def _identify(self) -> None:
        application = self._value("PRAGMA application_id")
        version = self._value("PRAGMA user_version")
        if application != APPLICATION:
            raise StoreError(f"{self.path} is not a ledger of enpire: choose another folder")
        if version > VERSION:
            raise StoreError(
                f"{self.path} has schema version {version}, this enpire knows {VERSION}: "
                "update enpire to continue the run"
            )

    def _check(self, sealed: bool) -> None:
        self._value("PRAGMA synchronous = FULL")
        self._value("PRAGMA foreign_keys = ON")
        if not sealed:
            self._quick_check()

    def _quick_check(self) -> None:
        verdict = self._value("PRAGMA quick_check(1)")
        if verdict != "ok":
            raise corrupt(self.path, " ".join(str(verdict).split()))

    def is_whole(self) -> bool:
        """Whether all that it holds is what was recorded, by another look at all of it."""
        try:
            self._quick_check()
            with self._turn, sqlite_errors(self.path):
                end, wrong = chain.verify(self._connection)
        except StoreError:
            return False
        return not wrong and end == self._end

    def _walk(self, sealed: bool) -> None:
        """Hold the rows against the chain, in one view of a ledger under way."""
        version = self._value("PRAGMA user_version")
        if (version >= CHAINED) != self.chained:
            has = "a" if self.chained else "no"
            self.damage = [f"its schema version is {version}, but it has {has} chain"]
        if not self.chained:
            return
        with self._turn, sqlite_errors(self.path):
            self._connection.execute("BEGIN")
            try:
                if sealed:
                    self._end = chain.end_of(self._connection)
                    return
                self._end, wrong = chain.verify(self._connection)
                self.damage += wrong
            finally:
                self._connection.execute("ROLLBACK")

    def _altered(self) -> StoreError:
        more = f" and {len(self.damage) - 1} more" if len(self.damage) > 1 else ""
        return StoreError(
            f"{self.path} is not what was recorded ({self.damage[0]}{more}): "
            f"enpire fsck {self.path.parent} names all of it"
        )

    @property
    def chained(self) -> bool:
        """Whether it has a chain; one of before there were any has none until it is continued."""
        return bool(self._value("SELECT count(*) FROM sqlite_master WHERE name = 'chain'"))

    @property
    def end(self) -> ChainEnd:
        """The end of the chain."""
        return self._end

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
            if version < 3:
                connection.execute(EVENTS)
            if version < CHAINED:
                _begin_chain(connection)
            connection.execute(f"PRAGMA user_version = {VERSION}")
        return "accuracy"

    def close(self) -> None:
        """Fold the write-ahead log into the file and close it; safe to call twice."""
        with self._turn:
            self._connection.close()

    def copy_to(self, path: Path) -> None:
        """Write all that is committed to a new ledger at `path`, in one file."""
        with self._turn, sqlite_errors(path), closing(sqlite3.connect(path)) as copy:
            self._connection.backup(copy)
            copy.execute("PRAGMA journal_mode = DELETE")

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._turn, disk_errors(self.path), sqlite_errors(self.path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                end = chain.extend(self._connection, self._end)
                fault_point("commit")
                self._connection.execute("COMMIT")
                self._end = end
                fault_point("committed")
            finally:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")

    def _rows(
        self, query: str, values: Sequence[object] | Mapping[str, object] = ()
    ) -> list[tuple[Any, ...]]:
        with self._turn, sqlite_errors(self.path):
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

    # What batches keep of it

    def journal(self) -> dict[str, dict[str, Rows]]:
        """What was recorded since the last batch but one, episodes apart: what a batch keeps too.

        One batch reaches back over another, as rows may come between a journal and its batch's row.
        """
        with self._turn, sqlite_errors(self.path):
            mark = self._end.batches[0]
            added = chain.added_since(self._connection, mark.last)
            changed = chain.changed_since(self._connection, mark)
        rows = {table: new for table, new in added.items() if table not in IN_BATCHES}
        return {"rows": rows, "state": changed}

    def states(self, without: Collection[str]) -> dict[str, Rows]:
        """All there is of what may change, apart from what is named: facts, rounds, states."""
        with self._turn, sqlite_errors(self.path):
            found = chain.changed_since(self._connection, chain.Mark())
        return {name: rows for name, rows in found.items() if name not in without}

    def integrity(self) -> list[str]:
        """What SQLite's own full check finds, which takes longer than the one at opening."""
        try:
            lines = [" ".join(str(row[0]).split()) for row in self._rows("PRAGMA integrity_check")]
        except StoreError as error:
            return [str(error)]
        return [] if lines == ["ok"] else lines

    def follows(self, sha256: str) -> bool:
        """Whether it has had a chain that ended with this hash, and no batch since."""
        with self._turn, sqlite_errors(self.path):
            return chain.follows(self._connection, sha256)

    def replay(self, journal: Mapping[str, Mapping[str, Sequence[Sequence[object]]]]) -> None:
        """Record again what a batch has kept and the ledger lacks.

        Raises:
            StoreError: the journal names what no ledger has.
        """
        try:
            with self._transaction() as connection:
                for table, rows in journal["rows"].items():
                    columns, order = WRITTEN[table]
                    for row in rows:
                        _record_again(connection, table, columns, order, tuple(row))
                for name, rows in journal["state"].items():
                    values = [row[::-1] for row in rows] if name == "policies" else rows
                    connection.executemany(RESTORED[name], values)
        except (KeyError, TypeError, ValueError) as error:
            raise StoreError(f"{self.path} cannot take a batch's journal ({error!r})") from error

    # Facts about the run

    def set_facts(self, facts: Mapping[str, str]) -> None:
        """Record key facts of the run, replacing those of the same key."""
        with self._transaction() as connection:
            connection.executemany("INSERT OR REPLACE INTO run VALUES (?, ?)", facts.items())

    @_readable
    def facts(self) -> dict[str, str]:
        """All key facts of the run."""
        return dict(self._rows("SELECT key, value FROM run ORDER BY key"))

    def packs(self) -> dict[str, str]:
        """The hash of each pack that the run was made with, by its name."""
        said: dict[str, str] = loads(self.facts().get("packs", "{}"))
        return said

    # Episodes

    def add_batch(
        self,
        path: str,
        sha256: str,
        size: int,
        episodes: Sequence[Episode],
        intervals: Sequence[Interval] = (),
        at: float | None = None,
    ) -> None:
        """Record a published batch, its episodes with their predicates, and intervals, in one go.

        path: relative to the run folder. size: of the batch [bytes]. at: Unix time [s], now unless
        given. Intervals may be of any station, with or without an episode.
        """
        with self._transaction() as connection:
            at = time.time() if at is None else at
            connection.execute("INSERT INTO batches VALUES (?, ?, ?, ?)", (path, sha256, size, at))
            connection.executemany(
                f"INSERT INTO episodes VALUES (NULL{', ?' * 15})",
                [episode_values(e, path, position) for position, e in enumerate(episodes)],
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

    @_readable
    def episodes(
        self,
        purposes: Collection[Purpose] | None = None,
        policies: Collection[str] | None = None,
        rounds: Collection[int] | None = None,
        without: Purpose | None = None,
        ids: Collection[str] | None = None,
    ) -> list[EpisodeRow]:
        """Episodes in the order of commitment. None does not filter, empty lets none by."""
        wanted = {"purpose": purposes, "policy": policies, "round": rounds, "id": ids}
        condition, values = one_of(wanted)
        if without is not None:
            condition += " AND purpose <> ?"
            values.append(without)
        rows = self._rows(
            f"SELECT {EPISODE_COLUMNS} FROM episodes JOIN batches USING (path)"
            f" WHERE {condition} ORDER BY number",
            values,
        )
        return [episode_row(row) for row in rows]

    @_readable
    def outcomes(
        self, purpose: Purpose, policy: str | None = None, round: int | None = None
    ) -> Counter[Outcome]:
        """How many episodes came to what; None does not filter."""
        condition, values = EpisodeFilter(purpose=purpose, policy=policy, round=round).condition()
        rows = self._rows(
            f"SELECT outcome, count(*) FROM episodes WHERE {condition} GROUP BY outcome", values
        )
        return Counter({Outcome(outcome): count for outcome, count in rows})

    @_readable
    def episodes_since(self, number: int) -> list[tuple[int, EpisodeRow]]:
        """Episodes that were recorded after the one of that number, each with its own."""
        rows = self._rows(
            f"SELECT number, {EPISODE_COLUMNS} FROM episodes JOIN batches USING (path)"
            " WHERE number > ? ORDER BY number",
            (number,),
        )
        return [(row[0], episode_row(row[1:])) for row in rows]

    @_readable
    def find_episodes(
        self, wanted: EpisodeFilter, before: int, most: int
    ) -> list[tuple[int, EpisodeRow]]:
        """The latest `most` episodes that are wanted, of numbers below `before`, latest first."""
        condition, values = wanted.condition()
        rows = self._rows(
            f"SELECT number, {EPISODE_COLUMNS} FROM episodes JOIN batches USING (path)"
            f" WHERE number < ? AND {condition} ORDER BY number DESC LIMIT ?",
            (before, *values, most),
        )
        return [(row[0], episode_row(row[1:])) for row in rows]

    @_readable
    def count_episodes(self, wanted: EpisodeFilter) -> int:
        """How many episodes are wanted."""
        condition, values = wanted.condition()
        return int(self._value(f"SELECT count(*) FROM episodes WHERE {condition}", values))

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

    @_readable
    def predicates(self, episode: str) -> tuple[Predicate, ...]:
        """The predicates of one episode, in the verifier's order; none if it is not known."""
        rows = self._rows(
            f"SELECT {self._predicate_columns} FROM predicates WHERE episode = ? ORDER BY position",
            (episode,),
        )
        return tuple(predicate_of(row) for row in rows)

    @_readable
    def all_predicates(self) -> dict[str, tuple[Predicate, ...]]:
        """The predicates of every episode that has some, by its id, in the verifier's order."""
        found: dict[str, list[Predicate]] = {}
        for episode, *row in self._rows(
            f"SELECT episode, {self._predicate_columns} FROM predicates ORDER BY episode, position"
        ):
            found.setdefault(episode, []).append(predicate_of(row))
        return {episode: tuple(predicates) for episode, predicates in found.items()}

    @_readable
    def unmet(self) -> dict[str, tuple[Predicate, ...]]:
        """The predicates that did not hold, in the verifier's order, by the id of the episode."""
        found: dict[str, list[Predicate]] = {}
        for episode, *row in self._rows(
            f"SELECT episode, {self._predicate_columns} FROM predicates WHERE NOT holds"
            " ORDER BY episode, position"
        ):
            found.setdefault(episode, []).append(predicate_of(row))
        return {episode: tuple(predicates) for episode, predicates in found.items()}

    @property
    def _predicate_columns(self) -> str:
        return f"name, value, threshold, unit, at_least, {self._accuracy}"

    # Robot time

    def add_intervals(self, intervals: Sequence[Interval]) -> None:
        """Record stretches of robot time."""
        with self._transaction() as connection:
            _insert_intervals(connection, intervals)

    @_readable
    def intervals(self, station: int | None = None) -> list[Interval]:
        """Recorded intervals by station and start, of one station or all."""
        rows = self._rows(
            "SELECT station, phase, start_s, end_s, episode FROM intervals"
            " WHERE :station IS NULL OR station = :station ORDER BY station, start_s, number",
            {"station": station},
        )
        return [Interval(at, Phase(phase), start, end, id) for at, phase, start, end, id in rows]

    @_readable
    def episode_seconds(self, of: Purpose) -> tuple[float, float]:
        """Robot time from reset to verdict [s]: of episodes for that purpose, and of all others."""
        rows = self._rows(
            "SELECT purpose = ?, total(reset_s + execute_s + verify_s) FROM episodes GROUP BY 1",
            (of,),
        )
        seconds = {bool(for_it): float(total) for for_it, total in rows}
        return seconds.get(True, 0.0), seconds.get(False, 0.0)

    @_readable
    def spans(self) -> dict[int, dict[Phase, list[tuple[float, float]]]]:
        """Starts and ends of robot time [s] in order, by station and phase.

        They are those of `intervals`, in a tenth of the time.
        """
        parts: defaultdict[tuple[int, str], list[tuple[float, float]]] = defaultdict(list)
        for start, end, station, phase in self._rows(
            "SELECT start_s, end_s, station, phase FROM intervals ORDER BY number"
        ):
            parts[station, phase].append((start, end))
        found: dict[int, dict[Phase, list[tuple[float, float]]]] = {}
        for (station, phase), part in sorted(parts.items()):
            part.sort(key=itemgetter(0))  # nearly in order: sooner than SQLite's sorting
            found.setdefault(station, {})[Phase(phase)] = part
        return found

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
                    json_of(row.numbers),
                ),
            )

    @_readable
    def rounds(self) -> list[RoundRow]:
        """All rounds by number."""
        return [
            RoundRow(number, policy, wins, trials, real(low), real(high), robot, wall, loads(more))
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

    @_readable
    def policies(self) -> list[PolicyRow]:
        """All policies, oldest first."""
        return [PolicyRow(*row) for row in self._rows("SELECT * FROM policies ORDER BY rowid")]

    @_readable
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

    def add_decision(self, decision: LogEntry) -> None:
        """Record a decision, at the time of now, which stands among its numbers."""
        with self._transaction() as connection:
            connection.execute(
                "INSERT INTO decisions VALUES (NULL, ?, ?, ?, ?, ?, ?)",
                (
                    decision.round,
                    decision.kind,
                    decision.text,
                    decision.incumbent,
                    decision.candidate,
                    json_of({**decision.numbers, AT: time.time()}),
                ),
            )

    @_readable
    def decisions(self, since: int = 0) -> list[LogEntry]:
        """All decisions in the order they were made, after the first `since` of them."""
        rows = self._rows(
            "SELECT round, kind, text, incumbent, candidate, numbers FROM decisions"
            " ORDER BY number LIMIT -1 OFFSET ?",
            (since,),
        )
        return [
            LogEntry(round, kind, text, incumbent, candidate, numbers, numbers.pop(AT, 0.0))
            for round, kind, text, incumbent, candidate, packed in rows
            for numbers in [loads(packed)]
        ]

    def add_event(self, event: EventRow) -> None:
        """Record an event of a campaign, at the time of now."""
        with self._transaction() as connection:
            connection.execute(
                "INSERT INTO events VALUES (NULL, ?, ?, ?, ?)",
                (event.experiment, event.kind, event.text, time.time()),
            )

    @_readable
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

    @_readable
    def sealed(self) -> list[SealedRow]:
        """All examinations by attempt."""
        return [
            SealedRow(attempt, policy, int(entropy), *counts)
            for attempt, policy, entropy, *counts in self._rows(
                "SELECT * FROM sealed ORDER BY attempt"
            )
        ]


def _begin_chain(connection: sqlite3.Connection) -> None:
    connection.execute(chain.TABLE)
    count = connection.execute("SELECT count(*) FROM episodes").fetchone()[0]
    connection.execute(
        "INSERT OR REPLACE INTO run VALUES (?, ?)",
        (UNCHAINED, f"its first {count} episodes were recorded before there was a chain"),
    )


def _record_again(
    connection: sqlite3.Connection, table: str, columns: str, order: str, row: tuple[object, ...]
) -> None:
    """Insert a row under its number, unless there is one that says the same."""
    same = " AND ".join(f"{column.strip()} IS ?" for column in columns.split(","))
    if connection.execute(f"SELECT 1 FROM {table} WHERE {same}", row[1:]).fetchone():
        return
    taken = connection.execute(f"SELECT 1 FROM {table} WHERE {order} = ?", row[:1]).fetchone()
    number = () if taken else row[:1]
    named = columns if taken or table == "sealed" else f"{order}, {columns}"
    values = row[1:] if taken or table == "sealed" else (*number, *row[1:])
    if table == "policies":  # what it is to the run comes with the state
        named, values = f"{named}, state", (*values, "candidate")
    connection.execute(
        f"INSERT INTO {table} ({named}) VALUES ({', '.join('?' * len(values))})", values
    )


def _insert_intervals(connection: sqlite3.Connection, intervals: Sequence[Interval]) -> None:
    connection.executemany(
        "INSERT INTO intervals VALUES (NULL, ?, ?, ?, ?, ?)",
        [(i.station, i.phase, i.start_s, i.end_s, i.episode) for i in intervals],
    )
