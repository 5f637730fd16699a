"""The record of a run: rows of what happened, added and looked for."""

from __future__ import annotations

import sqlite3
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import astuple
from functools import wraps
from operator import itemgetter
from typing import cast

from enpire.closing import Closing
from enpire.errors import StoreError
from enpire.json_text import loads
from enpire.store.ledger_file import LedgerFile
from enpire.store.row_values import (
    EPISODE_COLUMNS,
    episode_row,
    episode_values,
    json_of,
    predicate_of,
    predicate_values,
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
from enpire.store.schema import corrupt
from enpire.store.search import EpisodeFilter, one_of
from enpire.types import Episode, Outcome, Predicate, Purpose

AT = "at"  # among a decision's numbers: when it was recorded, Unix time [s]


def _readable[**P, R](read: Callable[P, R]) -> Callable[P, R]:
    """Have a method of a ledger say StoreError of values that its table cannot hold."""

    @wraps(read)
    def reading(*arguments: P.args, **named: P.kwargs) -> R:
        try:
            return read(*arguments, **named)
        except (KeyError, TypeError, ValueError) as error:
            ledger = cast(Ledger, arguments[0])
            raise corrupt(ledger.file.path, f"{read.__name__}: {error}") from error

    return reading


class Ledger(Closing):
    """The rows of a ledger.

    Any thread may call it; calls take turns. What is added is durable on return. Times are seconds;
    every method raises StoreError when the file cannot be read or written.
    """

    def __init__(self, file: LedgerFile) -> None:
        """Stand on an open file, which is closed with this."""
        self.file = file
        self._accuracy = "accuracy" if file.version >= 2 else "0.0"  # as an expression in SQL

    def close(self) -> None:
        """Close the file; safe to call twice."""
        self.file.close()

    def _add(self, table: str, *values: object) -> None:
        """Record one row."""
        with self.file.transaction() as connection:
            _insert(connection, table, [values])

    # Facts about the run

    def set_facts(self, facts: Mapping[str, str]) -> None:
        """Record key facts of the run, replacing those of the same key."""
        with self.file.transaction() as connection:
            connection.executemany("INSERT OR REPLACE INTO run VALUES (?, ?)", facts.items())

    @_readable
    def facts(self) -> dict[str, str]:
        """All key facts of the run."""
        return dict(self.file.rows("SELECT key, value FROM run ORDER BY key"))

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
        with self.file.transaction() as connection:
            at = time.time() if at is None else at
            _insert(connection, "batches", [(path, sha256, size, at)])
            rows = [(None, *episode_values(e, path, place)) for place, e in enumerate(episodes)]
            _insert(connection, "episodes", rows)
            _insert(
                connection, "predicates", [row for e in episodes for row in predicate_values(e)]
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
        rows = self.file.rows(
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
        rows = self.file.rows(
            f"SELECT outcome, count(*) FROM episodes WHERE {condition} GROUP BY outcome", values
        )
        return Counter({Outcome(outcome): count for outcome, count in rows})

    @_readable
    def episodes_since(self, number: int) -> list[tuple[int, EpisodeRow]]:
        """Episodes that were recorded after the one of that number, each with its own."""
        return self._numbered("number > ? ORDER BY number", (number,))

    @_readable
    def find_episodes(
        self, wanted: EpisodeFilter, before: int, most: int
    ) -> list[tuple[int, EpisodeRow]]:
        """The latest `most` episodes that are wanted, of numbers below `before`, latest first."""
        condition, values = wanted.condition()
        latest = f"number < ? AND {condition} ORDER BY number DESC LIMIT ?"
        return self._numbered(latest, (before, *values, most))

    def _numbered(self, where: str, values: Sequence[object]) -> list[tuple[int, EpisodeRow]]:
        rows = self.file.rows(
            f"SELECT number, {EPISODE_COLUMNS} FROM episodes JOIN batches USING (path)"
            f" WHERE {where}",
            values,
        )
        return [(row[0], episode_row(row[1:])) for row in rows]

    @_readable
    def count_episodes(self, wanted: EpisodeFilter) -> int:
        """How many episodes are wanted."""
        condition, values = wanted.condition()
        return int(self.file.value(f"SELECT count(*) FROM episodes WHERE {condition}", values))

    def known(self, ids: Collection[str]) -> set[str]:
        """Those of `ids` that are recorded."""
        return {
            str(row[0])
            for id in ids
            for row in self.file.rows("SELECT id FROM episodes WHERE id = ?", (id,))
        }

    def batches(self) -> set[str]:
        """Paths of all recorded batches, relative to the run folder."""
        return {str(path) for (path,) in self.file.rows("SELECT path FROM batches")}

    @_readable
    def predicates(self, episode: str) -> tuple[Predicate, ...]:
        """The predicates of one episode, in the verifier's order; none if it is not known."""
        return self._predicates("episode = ?", (episode,)).get(episode, ())

    @_readable
    def all_predicates(self) -> dict[str, tuple[Predicate, ...]]:
        """The predicates of every episode that has some, by its id, in the verifier's order."""
        return self._predicates("TRUE")

    @_readable
    def unmet(self) -> dict[str, tuple[Predicate, ...]]:
        """The predicates that did not hold, in the verifier's order, by the id of the episode."""
        return self._predicates("NOT holds")

    def _predicates(
        self, where: str, values: Sequence[object] = ()
    ) -> dict[str, tuple[Predicate, ...]]:
        found: dict[str, list[Predicate]] = {}
        for episode, *row in self.file.rows(
            f"SELECT episode, name, value, threshold, unit, at_least, {self._accuracy}"
            f" FROM predicates WHERE {where} ORDER BY episode, position",
            values,
        ):
            found.setdefault(episode, []).append(predicate_of(row))
        return {episode: tuple(predicates) for episode, predicates in found.items()}

    # Robot time

    def add_intervals(self, intervals: Sequence[Interval]) -> None:
        """Record stretches of robot time."""
        with self.file.transaction() as connection:
            _insert_intervals(connection, intervals)

    @_readable
    def intervals(self, station: int | None = None) -> list[Interval]:
        """Recorded intervals by station and start, of one station or all."""
        rows = self.file.rows(
            "SELECT station, phase, start_s, end_s, episode FROM intervals"
            " WHERE :station IS NULL OR station = :station ORDER BY station, start_s, number",
            {"station": station},
        )
        return [Interval(at, Phase(phase), start, end, id) for at, phase, start, end, id in rows]

    @_readable
    def episode_seconds(self, of: Purpose) -> tuple[float, float]:
        """Robot time from reset to verdict [s]: of episodes for that purpose, and of all others."""
        rows = self.file.rows(
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
        for start, end, station, phase in self.file.rows(
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
        rows = self.file.rows("SELECT phase, sum(end_s - start_s) FROM intervals GROUP BY phase")
        return total | {Phase(phase): float(seconds) for phase, seconds in rows}

    # Rounds, policies, decisions, examinations

    def put_round(self, row: RoundRow) -> None:
        """Record a round, replacing what was known of its number."""
        with self.file.transaction() as connection:
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
            for number, policy, wins, trials, low, high, robot, wall, more in self.file.rows(
                "SELECT * FROM rounds ORDER BY number"
            )
        ]

    def add_policy(self, row: PolicyRow) -> None:
        """Record a policy whose file is published; its name must be new."""
        self._add("policies", *astuple(row))

    @_readable
    def policies(self) -> list[PolicyRow]:
        """All policies, oldest first."""
        return [PolicyRow(*row) for row in self.file.rows("SELECT * FROM policies ORDER BY rowid")]

    @_readable
    def policy(self, name: str) -> PolicyRow | None:
        """The policy of that name, if there is one."""
        rows = self.file.rows("SELECT * FROM policies WHERE name = ?", (name,))
        return PolicyRow(*rows[0]) if rows else None

    def set_policy_state(self, name: str, state: str) -> None:
        """Change what a policy is to the run (candidate, incumbent, rejected, ...)."""
        with self.file.transaction() as connection:
            changed = connection.execute(
                "UPDATE policies SET state = ? WHERE name = ?", (state, name)
            ).rowcount
        if not changed:
            raise StoreError(f"{self.file.path} knows no policy {name!r}: save it first")

    def add_decision(self, decision: LogEntry) -> None:
        """Record a decision, at the time of now, which stands among its numbers."""
        numbers = json_of({**decision.numbers, AT: time.time()})
        named = decision.incumbent, decision.candidate
        self._add("decisions", None, decision.round, decision.kind, decision.text, *named, numbers)

    @_readable
    def decisions(self, since: int = 0) -> list[LogEntry]:
        """All decisions in the order they were made, after the first `since` of them."""
        rows = self.file.rows(
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
        self._add("events", None, event.experiment, event.kind, event.text, time.time())

    @_readable
    def events(self) -> list[EventRow]:
        """All events in the order in which they happened."""
        if self.file.version < 3:
            return []
        rows = self.file.rows("SELECT experiment, kind, text, at FROM events ORDER BY number")
        return [EventRow(*row) for row in rows]

    def add_sealed(self, row: SealedRow) -> None:
        """Record an examination on sealed seeds; an attempt is never replaced."""
        counts = row.successes, row.trials, row.low, row.high
        self._add("sealed", row.attempt, row.policy, str(row.entropy), *counts)

    @_readable
    def sealed(self) -> list[SealedRow]:
        """All examinations by attempt."""
        return [
            SealedRow(attempt, policy, int(entropy), *counts)
            for attempt, policy, entropy, *counts in self.file.rows(
                "SELECT * FROM sealed ORDER BY attempt"
            )
        ]


def _insert(connection: sqlite3.Connection, table: str, rows: Sequence[Sequence[object]]) -> None:
    """Add rows of equal widths to a table."""
    if rows:
        marks = ", ".join("?" * len(rows[0]))
        connection.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)


def _insert_intervals(connection: sqlite3.Connection, intervals: Sequence[Interval]) -> None:
    rows = [(None, i.station, i.phase, i.start_s, i.end_s, i.episode) for i in intervals]
    _insert(connection, "intervals", rows)
