"""The head of a record: it covers all that was added, and tells of any change."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from enpire.errors import StoreError
from enpire.store import EventRow, LogEntry, Run
from enpire.store.head import head, parse

from .samples import episode


@pytest.fixture
def run(tmp_path: Path) -> Run:
    with Run.create(tmp_path / "run", {"loop": {"seed": 1}}) as run:
        run.add_episodes([episode("a"), episode("b")])
        run.ledger.add_event(EventRow(1, "lease", ""))
        run.ledger.add_decision(LogEntry(1, "kept", "better"))
        yield run  # type: ignore[misc]


def test_a_head_that_was_noted_holds_when_there_is_more(run: Run) -> None:
    noted = head(run)
    run.add_episodes([episode("c")])
    run.ledger.add_event(EventRow(2, "lease", ""))
    assert head(run) != noted
    assert head(run, noted.rows) == noted
    assert parse(f" {noted}\n") == noted


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE episodes SET outcome = 'failure' WHERE number = 1",
        "UPDATE events SET at = at + 1",
        "UPDATE decisions SET text = 'worse'",
        "UPDATE batches SET sha256 = 'x'",
        "UPDATE episodes SET number = number + 10",
    ],
)
def test_any_change_is_seen(run: Run, change: str) -> None:
    noted = head(run)
    with sqlite3.connect(run.ledger.file.path) as changed:
        changed.execute(change)
    assert head(run, noted.rows) != noted


def test_so_is_one_of_the_configuration(run: Run) -> None:
    noted = head(run)
    with (run.folder / "config.toml").open("a") as file:
        file.write("# \n")
    assert head(run) != noted


def test_a_row_that_is_gone_is_told(run: Run) -> None:
    noted = head(run)
    with sqlite3.connect(run.ledger.file.path) as changed:
        changed.execute("DELETE FROM decisions")
    with pytest.raises(StoreError, match="decisions has 0 rows, there were 1"):
        head(run, noted.rows)


@pytest.mark.parametrize("text", ["", "1.2-ab", "1.2.3-" + "0" * 64])
def test_what_is_no_head_is_refused(text: str) -> None:
    with pytest.raises(StoreError, match="no head"):
        parse(text)
