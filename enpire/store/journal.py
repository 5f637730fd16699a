"""What each batch keeps of the ledger, so that a ledger that is lost can be made again.

after       hash of the chain's newest link when the batch was written
at          Unix time [s]
intervals   robot time recorded with the batch
frames      pictures of its evidence: sha256 by name
kept        rows that other tables got since the last batch but one, and facts, rounds and states
            of policies where they changed; as JSON in a string, for numbers that are not finite
sha256      over all of the batch without this entry
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

from enpire.errors import StoreError
from enpire.json_text import loads
from enpire.store import chain
from enpire.store.chain import WRITTEN, Rows
from enpire.store.episodes import Batch, digest, episodes_of, read_files, read_journal
from enpire.store.ledger import Ledger
from enpire.store.ledger_file import LedgerFile
from enpire.store.rows import Interval, Phase
from enpire.types import Episode

IN_BATCHES = {"batches", "episodes", chain.PREDICATES}  # a batch's own files say these

RESTORED = {
    "run": "INSERT OR REPLACE INTO run VALUES (?, ?)",
    "rounds": "INSERT OR REPLACE INTO rounds VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
    "policies": "UPDATE policies SET state = ? WHERE name = ?",
}
"""How what may change is set to what a batch has kept of it."""


@dataclass(frozen=True, slots=True)
class Journal:
    """What a batch says beside its episodes; of a batch of before journals: nothing."""

    after: str | None = None
    at: float | None = None
    intervals: tuple[Interval, ...] = ()
    frames: Mapping[str, str] | None = None
    kept: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class WholeBatch:
    """A batch with all that it says, in good order."""

    batch: Batch
    episodes: tuple[Episode, ...]
    journal: Journal


def journal_of(
    ledger: Ledger, intervals: Sequence[Interval], frames: Mapping[str, str]
) -> dict[str, object]:
    """What a batch that is about to be written keeps of `ledger`, as JSON values."""
    return {
        "after": ledger.file.end.sha256,
        "at": time.time(),
        "intervals": [list(astuple(interval)) for interval in intervals],
        "frames": dict(frames),
        "kept": json.dumps(_kept(ledger.file)),
    }


def _kept(file: LedgerFile) -> dict[str, dict[str, Rows]]:
    """What was recorded since the last batch but one, episodes apart.

    One batch reaches back over another, as rows may come between a journal and its batch's row.
    """
    with file.reading() as connection:
        mark = file.end.batches[0]
        rows = chain.added_since(connection, mark.last, without=IN_BATCHES)
        changed = chain.changed_since(connection, mark)
    return {"rows": rows, "state": changed}


def read_whole(path: Path) -> WholeBatch:
    """A batch with its journal, checked against its own hash if it has one.

    Raises:
        StoreError: it is not in good order.
    """
    files = read_files(path)
    episodes = episodes_of(path, files)
    try:
        said = read_journal(files)
        journal = Journal() if said is None else _parsed(said)
    except (KeyError, TypeError, ValueError) as error:
        raise StoreError(f"the journal of batch {path} does not parse ({error!r})") from error
    batch = Batch(path, digest(files), sum(map(len, files.values())))
    return WholeBatch(batch, tuple(episodes), journal)


def _parsed(said: Mapping[str, Any]) -> Journal:
    intervals = tuple(
        Interval(int(station), Phase(phase), float(start), float(end), str(episode))
        for station, phase, start, end, episode in said["intervals"]
    )
    kept = loads(said["kept"])
    return Journal(str(said["after"]), float(said["at"]), intervals, dict(said["frames"]), kept)


def record_again(ledger: Ledger, batches: Mapping[str, WholeBatch]) -> None:
    """Make the rows of batches that the ledger does not know, and others that they have kept.

    batches: by their paths relative to the run folder, in the order of their names.
    """
    if not batches:
        return  # what follows reads much
    for whole in batches.values():
        if whole.journal.kept is not None:
            replay(ledger.file, whole.journal.kept)
    known = set(ledger.intervals())  # a later batch has kept those of an earlier one
    for path, whole in batches.items():
        journal, batch = whole.journal, whole.batch
        at = batch.path.stat().st_mtime if journal.at is None else journal.at
        new = [interval for interval in journal.intervals if interval not in known]
        ledger.add_batch(path, batch.sha256, batch.bytes, whole.episodes, new, at)


def replay(file: LedgerFile, kept: Mapping[str, Mapping[str, Sequence[Sequence[object]]]]) -> None:
    """Record again what a batch has kept and the ledger lacks.

    Raises:
        StoreError: what is kept names what no ledger has.
    """
    try:
        with file.transaction() as connection:
            for table, rows in kept["rows"].items():
                for row in rows:
                    _record_row(connection, table, tuple(row))
            for name, rows in kept["state"].items():
                values = [row[::-1] for row in rows] if name == "policies" else rows
                connection.executemany(RESTORED[name], values)
    except (KeyError, TypeError, ValueError) as error:
        raise StoreError(f"{file.path} cannot take a batch's journal ({error!r})") from error


def _record_row(connection: sqlite3.Connection, table: str, row: tuple[object, ...]) -> None:
    """Insert a row under its number, unless there is one that says the same."""
    columns, order = WRITTEN[table]
    same = " AND ".join(f"{column.strip()} IS ?" for column in columns.split(","))
    if connection.execute(f"SELECT 1 FROM {table} WHERE {same}", row[1:]).fetchone():
        return
    taken = connection.execute(f"SELECT 1 FROM {table} WHERE {order} = ?", row[:1]).fetchone()
    named, values = f"{order}, {columns}", row
    if taken or table == "sealed":
        named, values = columns, row[1:]
    if table == "policies":  # what it is to the run comes with the state
        named, values = f"{named}, state", (*values, "candidate")
    connection.execute(
        f"INSERT INTO {table} ({named}) VALUES ({', '.join('?' * len(values))})", values
    )
