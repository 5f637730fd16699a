"""A ledger's file is opened whole or not at all, and one that is no good says why."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from enpire.errors import StoreError
from enpire.store import schema
from enpire.store.ledger import Ledger
from enpire.store.ledger_file import LedgerFile
from enpire.store.rows import EventRow
from enpire.types import Outcome, Predicate, Verdict

from .samples import episode, same


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    schema.create(tmp_path / "ledger.sqlite")
    with Ledger(LedgerFile(tmp_path / "ledger.sqlite", writable=True)) as opened:
        yield opened


def test_every_transaction_is_forced_to_the_disk(ledger: Ledger) -> None:
    assert ledger.file.value("PRAGMA synchronous") == 2
    assert ledger.file.value("PRAGMA journal_mode") == "wal"
    assert ledger.file.value("PRAGMA foreign_keys") == 1


def test_a_reader_sees_what_is_committed_and_cannot_write(ledger: Ledger) -> None:
    with Ledger(LedgerFile(ledger.file.path, writable=False)) as reader:
        ledger.add_batch("1", "", 0, [episode("a")])
        assert [row.id for row in reader.episodes()] == ["a"]
        with pytest.raises(StoreError, match="reading only"):
            reader.set_facts({"a": "b"})


def _pragma(path: Path, text: str) -> None:
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA {text}")
    connection.close()


def test_a_newer_schema_is_refused(ledger: Ledger) -> None:
    ledger.close()
    _pragma(ledger.file.path, f"user_version = {schema.VERSION + 1}")
    with pytest.raises(StoreError, match="schema version 6, this enpire knows 5: update"):
        LedgerFile(ledger.file.path, writable=True)


def test_a_ledger_of_before_accuracies_is_read_and_continued(ledger: Ledger) -> None:
    ledger.add_batch("1", "", 0, [episode("a")])
    ledger.close()
    connection = sqlite3.connect(ledger.file.path)
    connection.execute("ALTER TABLE predicates DROP COLUMN accuracy")
    connection.execute("DROP TABLE events")
    connection.execute("DROP TABLE chain")
    connection.execute("PRAGMA user_version = 1")
    connection.commit()
    connection.close()
    with Ledger(LedgerFile(ledger.file.path, writable=False)) as reader:
        assert same(reader.predicates("a"), episode("a").verdict.predicates)
    unsure = Predicate("gap", 0.001, 0.002, "m", accuracy=0.01)
    for _ in range(2):
        with Ledger(LedgerFile(ledger.file.path, writable=True)) as writer:
            if not writer.known(["b"]):
                verdict = Verdict(Outcome.FAILURE, (unsure,))
                writer.add_batch("2", "", 0, [episode("b", verdict=verdict)])
            assert same(writer.predicates("a"), episode("a").verdict.predicates)
            assert writer.predicates("b") == (unsure,)


def test_a_ledger_of_before_campaigns_has_none_until_it_is_continued(ledger: Ledger) -> None:
    ledger.close()
    connection = sqlite3.connect(ledger.file.path)
    connection.execute("DROP TABLE events")
    connection.execute("DROP TABLE chain")
    connection.execute("PRAGMA user_version = 2")
    connection.commit()
    connection.close()
    with Ledger(LedgerFile(ledger.file.path, writable=False)) as reader:
        assert reader.events() == []
    with Ledger(LedgerFile(ledger.file.path, writable=True)) as writer:
        writer.add_event(EventRow(1, "lease", ""))
        assert [row.kind for row in writer.events()] == ["lease"]


def test_another_database_is_refused(tmp_path: Path) -> None:
    _pragma(tmp_path / "x", "user_version = 1")
    with pytest.raises(StoreError, match="not a ledger of enpire"):
        LedgerFile(tmp_path / "x", writable=True)


@pytest.mark.parametrize("where", [0, 4096])
def test_a_corrupt_ledger_says_so(ledger: Ledger, where: int) -> None:
    ledger.add_batch("1", "", 0, [episode(str(i)) for i in range(50)])
    ledger.close()
    with ledger.file.path.open("r+b") as file:
        file.seek(where)
        file.write(b"\xa5" * 2000)
    with pytest.raises(StoreError, match=r"is corrupt .*enpire fsck .* --repair"):
        LedgerFile(ledger.file.path, writable=True)


def test_a_missing_ledger_is_not_made_up(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="missing or empty"):
        LedgerFile(tmp_path / "x", writable=True)
    assert os.listdir(tmp_path) == []


def test_a_full_disk_keeps_what_was_there(ledger: Ledger) -> None:
    ledger.add_batch("1", "", 0, [episode("a")])
    pages = ledger.file.value("PRAGMA page_count")
    ledger.file.value(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(StoreError, match=r"disk is full.*free space"):
        ledger.set_facts({str(i): "x" * 1000 for i in range(100)})
    assert ledger.facts() == {}
    assert [row.id for row in ledger.episodes()] == ["a"]
