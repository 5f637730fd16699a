"""The chain of a ledger: at each commit a hash over the rows it added, and over all links before.

A link names the rows of each table that came with it, so a check can say which of them are no
longer what was recorded. Tables whose rows may be replaced are hashed whole; only the newest
link's hash of those can be held against what is there. The chain has no key: it finds accidents and
hands that did not know of it. Who must know more notes a head (`head.py`) elsewhere.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

from enpire.json_text import loads

TABLE = """
CREATE TABLE chain (
    number INTEGER PRIMARY KEY, rows TEXT NOT NULL, state TEXT NOT NULL, sha256 TEXT NOT NULL
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

PREDICATES = "predicates"  # rows without a number of their own: they go with their episode's

_QUERIES = {
    table: f"SELECT {order}, {columns} FROM {table} WHERE {order} > ? ORDER BY {order}"
    for table, (columns, order) in WRITTEN.items()
} | {
    PREDICATES: "SELECT e.number, p.position, p.name, p.value, p.threshold, p.unit, p.at_least,"
    " p.holds, p.accuracy FROM episodes e JOIN predicates p ON p.episode = e.id"
    " WHERE e.number > ? ORDER BY e.number, p.position"
}

STATES = {
    "schema": "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name",
    "run": "SELECT key, value FROM run ORDER BY key",
    "rounds": "SELECT * FROM rounds ORDER BY number",
    "policies": "SELECT name, state FROM policies ORDER BY rowid",
}
"""What may change: a query for all there is of each."""

Rows = list[tuple[Any, ...]]

PAGE = 1000  # rows that a check reads at a time


@dataclass(frozen=True, slots=True)
class Mark:
    """What one link covers: the last row of each table, and the hashes of what may change."""

    last: Mapping[str, int] = field(default_factory=dict)
    state: str = ""


@dataclass(frozen=True, slots=True)
class ChainEnd:
    """The end at which a chain stands."""

    links: int = 0  # how many there are
    sha256: str = ""  # of the newest one
    mark: Mark = Mark()  # what it covers
    # What was covered at the link of the last batch but one, and of the last.
    batches: tuple[Mark, Mark] = (Mark(), Mark())

    def after(self, rows: Collection[str], sha256: str, mark: Mark) -> ChainEnd:
        """The end of the chain with one more link, that brought rows of these tables."""
        if "batches" in rows:
            return ChainEnd(self.links + 1, sha256, mark, (self.batches[1], mark))
        return ChainEnd(self.links + 1, sha256, mark, self.batches)


def follows(connection: sqlite3.Connection, sha256: str) -> bool:
    """Whether a link has this hash, and none after it brought a batch."""
    found = connection.execute("SELECT number FROM chain WHERE sha256 = ?", (sha256,)).fetchone()
    if found is None:
        return False
    later = connection.execute("SELECT rows FROM chain WHERE number > ?", found)
    return not any("batches" in _covered(rows) for (rows,) in later)


def _digest(rows: object) -> str:
    return hashlib.sha256(repr(rows).encode()).hexdigest()


def _link(before: str, rows: str, state: str) -> str:
    return hashlib.sha256("\n".join((before, rows, state)).encode()).hexdigest()


def _state(connection: sqlite3.Connection) -> str:
    return json.dumps(
        {name: _digest(connection.execute(query).fetchall()) for name, query in STATES.items()}
    )


def added_since(
    connection: sqlite3.Connection, last: Mapping[str, int], without: Collection[str] = ()
) -> dict[str, Rows]:
    """Rows of each table after the `last` of it, each with its number before; no empty table.

    without: tables that are left out.
    """
    found = {
        table: connection.execute(query, (last.get(table, 0),)).fetchall()
        for table, query in _QUERIES.items()
        if table not in without
    }
    return {table: rows for table, rows in found.items() if rows}


def extend(connection: sqlite3.Connection, end: ChainEnd) -> ChainEnd:
    """Add a link for what the open transaction has added or changed, if there is anything."""
    added = added_since(connection, end.mark.last)
    state = _state(connection)
    if not added and state == end.mark.state:
        return end
    rows = json.dumps({table: [new[-1][0], _digest(new)] for table, new in added.items()})
    sha256 = _link(end.sha256, rows, state)
    connection.execute(
        "INSERT INTO chain VALUES (?, ?, ?, ?)", (end.links + 1, rows, state, sha256)
    )
    last = {**end.mark.last, **{table: new[-1][0] for table, new in added.items()}}
    return end.after(added, sha256, Mark(last, state))


def changed_since(connection: sqlite3.Connection, mark: Mark) -> dict[str, Rows]:
    """All there is of what may change, each part that has changed since; the schema apart."""
    before = loads(mark.state or "{}")
    found = {
        name: connection.execute(query).fetchall()
        for name, query in STATES.items()
        if name != "schema"
    }
    return {name: rows for name, rows in found.items() if before.get(name) != _digest(rows)}


_LINKS = "SELECT number, rows, state, sha256 FROM chain ORDER BY number"


def end_of(connection: sqlite3.Connection) -> ChainEnd:
    """Where a chain stands whose rows are known to be as they were recorded."""
    last: dict[str, int] = {}
    batches = (Mark(), Mark())
    number, sha256, state = 0, "", ""
    for number, rows, state, sha256 in connection.execute(_LINKS):  # noqa: B007
        covered = _covered(rows)
        last.update((table, until) for table, (until, _) in covered.items())
        if "batches" in covered:
            batches = batches[1], Mark(dict(last), state)
    return ChainEnd(number, sha256, Mark(last, state), batches)


def _mark(end: ChainEnd, covered: Mapping[str, tuple[int, str]], state: str) -> Mark:
    """What is covered after a link that says this of rows."""
    last = {table: last for table, (last, _) in covered.items()}
    return Mark({**end.mark.last, **last}, state)


def verify(connection: sqlite3.Connection) -> tuple[ChainEnd, list[str]]:
    """Walk the chain: where it stands, and a sentence for everything that is not as recorded."""
    wrong: list[str] = []
    end = ChainEnd()
    streams = {table: _Stream(connection, table) for table in _QUERIES}
    for number, rows, state, sha256 in connection.execute(_LINKS):
        if number != end.links + 1 or _link(end.sha256, rows, state) != sha256:
            wrong.append(f"link {number} of its chain is not what was recorded")
        covered = _covered(rows)
        for table, (last, digest) in covered.items():
            if table not in streams:
                continue  # told already: its link does not hold
            first = end.mark.last.get(table, 0) + 1
            if _digest(streams[table].until(last)) != digest:
                wrong.append(f"{table}: rows {first} to {last} are not what was recorded")
        end = end.after(covered, sha256, _mark(end, covered, state))
    for table, stream in streams.items():
        if rest := len(stream.rest()):
            wrong.append(f"{table}: {rest} rows were added past its chain")
    lone = connection.execute(
        "SELECT count(*) FROM predicates WHERE episode NOT IN (SELECT id FROM episodes)"
    ).fetchone()[0]
    if lone:
        wrong.append(f"{PREDICATES}: {lone} rows belong to no episode")
    wrong += _changed(end.mark.state, _state(connection))
    return end, wrong


def _covered(rows: str) -> dict[str, tuple[int, str]]:
    """What a link says of rows; nothing where it cannot be read, which its own hash tells."""
    try:
        return {str(table): (int(last), str(sha)) for table, (last, sha) in loads(rows).items()}
    except (AttributeError, OverflowError, TypeError, ValueError):
        return {}


def _changed(recorded: str, now: str) -> Iterator[str]:
    try:
        before = dict(loads(recorded)) if recorded else {}
    except (TypeError, ValueError):
        before = {}
    empty = _digest([])
    for name, digest in loads(now).items():
        if before.get(name, empty) != digest:
            yield f"{name}: its newest state is not what was recorded"


class _Stream:
    """The rows of one table in their order, taken piece by piece."""

    def __init__(self, connection: sqlite3.Connection, table: str) -> None:
        self._rows = connection.execute(_QUERIES[table], (-1,))
        self._read: Rows = []
        self._at = 0

    def until(self, last: int) -> Rows:
        """The rows not yet taken whose numbers are `last` at most."""
        taken: Rows = []
        while self._more():
            end = bisect_right(self._read, last, self._at, key=itemgetter(0))
            taken += self._read[self._at : end]
            self._at = end
            if end < len(self._read):
                break
        return taken

    def rest(self) -> Rows:
        """All that was not yet taken."""
        rows = [*self._read[self._at :], *self._rows.fetchall()]
        self._read, self._at = [], 0
        return rows

    def _more(self) -> bool:
        """Whether a row is left; reads on where all that were read are taken."""
        if self._at == len(self._read):
            self._read, self._at = self._rows.fetchmany(PAGE), 0
        return bool(self._read)
