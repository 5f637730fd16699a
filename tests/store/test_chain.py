"""What is changed in a ledger behind its back is named when it is opened."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from enpire.errors import StoreError
from enpire.store import Run, chain, schema
from enpire.store.copying import copy_run
from enpire.store.ledger import Ledger
from enpire.store.ledger_file import LedgerFile
from enpire.store.rows import EventRow, Interval, LogEntry, Phase, PolicyRow, RoundRow, SealedRow
from enpire.store.schema import UNCHAINED

from .samples import episode


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A ledger with rows in every table, closed."""
    schema.create(tmp_path / "ledger.sqlite")
    with Ledger(LedgerFile(tmp_path / "ledger.sqlite", writable=True)) as ledger:
        ledger.set_facts({"state": "running"})
        ledger.add_policy(PolicyRow("p0", "ab", "policies/p0.safetensors"))
        for number in range(3):
            ids = [f"{number}{letter}" for letter in "ab"]
            spent = [Interval(0, Phase.EXECUTE, number, number + 1.0, ids[0])]
            ledger.add_batch(f"episodes/{number}", "ab", 7, [episode(id) for id in ids], spent)
        ledger.put_round(RoundRow(1, "p0", 3, 5))
        ledger.add_decision(LogEntry(1, "promote", "p0 leads", "p0"))
        ledger.add_event(EventRow(1, "experiment", "{}"))
        ledger.add_sealed(SealedRow(1, "p0", 7, 60, 64, 0.9, 1.0))
        ledger.set_policy_state("p0", "incumbent")
        ledger.set_facts({"state": "reached"})
    return tmp_path / "ledger.sqlite"


def _change(path: Path, statement: str) -> None:
    connection = sqlite3.connect(path)
    connection.execute(statement)
    connection.commit()
    connection.close()


def test_what_only_enpire_wrote_opens(path: Path) -> None:
    with Ledger(LedgerFile(path, writable=True)) as ledger:
        assert ledger.file.damage == []
        before = ledger.file.end
        ledger.add_intervals([])
        assert ledger.file.end == before, "nothing was written: no link"
        ledger.add_batch("episodes/9", "ab", 7, [episode("z")])
        assert ledger.file.end.links == before.links + 1
    with LedgerFile(path, writable=False) as file:
        assert file.damage == []


@pytest.mark.parametrize(
    ("statement", "named"),
    [
        ("UPDATE sealed SET successes = 64", "sealed: rows 1 to 1 are not"),
        (
            "UPDATE episodes SET outcome = 'failure' WHERE id = '1a'",
            "episodes: rows 3 to 4 are not",
        ),
        ("UPDATE predicates SET value = 0.5 WHERE episode = '2b'", "predicates: rows 5 to 6 are"),
        ("UPDATE batches SET sha256 = 'cd' WHERE rowid = 2", "batches: rows 2 to 2 are not"),
        ("UPDATE intervals SET end_s = 9.0 WHERE number = 1", "intervals: rows 1 to 1 are not"),
        ("DELETE FROM intervals WHERE number = 3", "intervals: rows 3 to 3 are not"),
        ("INSERT INTO intervals VALUES (NULL, 0, 'idle', 3, 4, '')", "intervals: 1 rows were"),
        ("UPDATE decisions SET text = 'p1 leads'", "decisions: rows 1 to 1 are not"),
        ("UPDATE events SET text = '[]'", "events: rows 1 to 1 are not"),
        ("UPDATE policies SET sha256 = 'cd'", "policies: rows 1 to 1 are not"),
        ("UPDATE policies SET state = 'rejected'", "policies: its newest state is not"),
        ("UPDATE rounds SET successes = 5", "rounds: its newest state is not"),
        ("UPDATE run SET value = 'running'", "run: its newest state is not"),
        ("CREATE TRIGGER t AFTER INSERT ON sealed BEGIN SELECT 1; END", "schema: its newest state"),
        ("UPDATE chain SET sha256 = 'x' WHERE number = 2", "link 2 of its chain is not"),
        (
            """UPDATE chain SET rows = '{"events": [1e999, "x"]}' WHERE number = 2""",
            "link 2 of its chain is not",
        ),
        ("DELETE FROM chain WHERE number = 2", "link 3 of its chain is not"),
        ("DROP TABLE chain", "schema version is 5, but it has no chain"),
        ("PRAGMA user_version = 3", "schema version is 3, but it has a chain"),
    ],
)
def test_a_change_from_outside_is_named(path: Path, statement: str, named: str) -> None:
    _change(path, statement)
    for writable in (True, False):
        with pytest.raises(StoreError, match=r"is not what was recorded.*enpire fsck"):
            LedgerFile(path, writable)
    with LedgerFile(path, writable=False, damaged=True) as file:
        assert any(named in line for line in file.damage), file.damage


def test_a_value_that_no_table_holds_is_no_traceback(path: Path) -> None:
    _change(path, "UPDATE intervals SET phase = 'exEcute'")
    with (
        Ledger(LedgerFile(path, writable=False, damaged=True)) as ledger,
        pytest.raises(StoreError, match=r"intervals: 'exEcute' is not a valid Phase"),
    ):
        ledger.intervals()


def test_a_ledger_of_before_chains_is_read_and_gets_one_when_continued(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("DROP TABLE chain")
    connection.execute("PRAGMA user_version = 3")
    connection.commit()
    connection.close()
    with Ledger(LedgerFile(path, writable=False)) as ledger:
        assert (ledger.file.chained, len(ledger.episodes())) == (False, 6)
    with Ledger(LedgerFile(path, writable=True)) as ledger:
        assert ledger.file.chained
        assert "first 6 episodes" in ledger.facts()[UNCHAINED]
        ledger.add_decision(LogEntry(2, "kept", "p0 stays"))
    with Ledger(LedgerFile(path, writable=True)) as ledger:
        assert len(ledger.events()) == 1
    _change(path, "UPDATE sealed SET successes = 64")
    with pytest.raises(StoreError, match="sealed: rows 1 to 1"):
        LedgerFile(path, writable=True)


def test_a_sealed_ledger_is_known_to_be_whole_and_one_that_is_not_is_walked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "run"
    with Run.create(folder, {}) as run:
        for name in "abc":
            run.add_episodes([episode(name)])
            run.ledger.add_decision(LogEntry(1, "kept", name))
        end = run.ledger.file.end
    walked = []

    def counted(connection: sqlite3.Connection) -> tuple[chain.ChainEnd, list[str]]:
        walked.append(folder)
        return verify(connection)

    verify = chain.verify
    monkeypatch.setattr(chain, "verify", counted)
    with Run.open(folder) as run:
        assert run.ledger.file.end == end
    assert walked == []
    seal = (folder / "ledger.sha256").read_bytes()
    for content in (None, b"", seal.replace(b"a", b"b")):
        (folder / "ledger.sha256").unlink()
        if content is not None:
            (folder / "ledger.sha256").write_bytes(content)
        with Run.open(folder) as run:
            assert run.ledger.file.end == end
        (folder / "ledger.sha256").write_bytes(seal)
    assert len(walked) == 3
    with Run.open(folder, writable=True) as run:
        assert run.ledger.file.end == end
        with Run.open(folder):
            assert len(walked) == 4, "one that is written may change at any moment"


def test_what_changed_on_the_disk_meanwhile_is_not_sealed(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with Run.create(folder, {}) as run:
        run.add_episodes([episode("a")])
        _change(folder / "ledger.sqlite", "UPDATE episodes SET stage = 'other'")
    assert not (folder / "ledger.sha256").exists()
    copy_run(folder, tmp_path / "copy")
    for at in (folder, tmp_path / "copy"):
        assert not (at / "ledger.sha256").exists()
        with pytest.raises(StoreError, match="episodes: rows 1 to 1 are not what was recorded"):
            Run.open(at)
