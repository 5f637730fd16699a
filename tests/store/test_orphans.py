"""What a process that died left behind gets its row, or is set aside, and is told of."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from enpire.errors import StoreError
from enpire.store import Interval, Phase, Run

from .samples import alter, episode


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    with Run.create(tmp_path / "run", {"task": "zip_tie"}) as opened:
        yield opened


def _reopened(run: Run) -> list[str]:
    """What opening it again finds and does."""
    run.close()
    with Run.open(run.folder, writable=True) as again:
        return again.notes


def _lost(run: Run) -> list[str]:
    lost = run.folder / "lost"
    return sorted(p.relative_to(lost).as_posix() for p in lost.rglob("*") if p.is_file())


def test_opening_for_writing_deletes_nothing(run: Run) -> None:
    run.add_episodes([episode("a")])
    run.save_policy("p", {"w": np.zeros(2)}, {})
    run.close()
    shutil.copy(run.folder / "episodes/00000001.zip", run.folder / "episodes/00000002.zip")
    alter(run.folder / "episodes/00000002.zip", "zarr.json", b"{")
    (run.folder / "episodes/.tmp-7-00000003/actions").mkdir(parents=True)  # of an older enpire
    (run.folder / "episodes/.tmp-7-00000003/actions/c.0.0").write_bytes(b"1")
    (run.folder / "episodes/.tmp-7-00000004.zip").write_bytes(b"PK")
    (run.folder / "policies/q.safetensors").write_bytes(b"weights")
    (run.folder / ".tmp-7-result.json").write_bytes(b"")
    (run.folder / "notes.txt").write_text("a person's own")
    (run.folder / "ledger.sha256").unlink()  # of a ledger that nobody writes
    files = sum(path.is_file() for path in run.folder.rglob("*"))
    Run.open(run.folder).close()
    assert (run.folder / "episodes/00000002.zip").exists(), "a reader moves nothing"
    with Run.open(run.folder, writable=True) as again:
        assert sorted(os.listdir(again.folder / "episodes")) == ["00000001.zip"]
        assert os.listdir(again.folder / "policies") == ["p.safetensors"]
        assert (again.folder / "notes.txt").exists()
        assert not (again.folder / ".tmp-7-result.json").exists()
        assert {"policies/q.safetensors", ".tmp-7-result.json"} < set(_lost(run))
        assert "episodes/.tmp-7-00000003/actions/c.0.0" in _lost(run)
        assert (again.folder / "lost/policies/q.safetensors").read_bytes() == b"weights"
        assert sum(p.is_file() for p in run.folder.rglob("*") if "-" not in p.suffix) >= files
        assert [d.text for d in again.ledger.decisions()] == again.notes, "told and recorded"
        assert "policies/q.safetensors has no row and moved to lost/" in " ".join(again.notes)
        again.add_episodes([episode("b")])
        assert [e.id for e in again.episodes()] == ["a", "b"]
    (run.folder / "policies/q.safetensors").write_bytes(b"others")
    assert "moved to lost/policies/q.safetensors-2" in " ".join(_reopened(run))


def _without_newest_row(run: Run, batches: int = 1) -> None:
    """Record as many batches, and have the ledger be as it was before them."""
    run.add_episodes([episode("a")])
    run.close()
    ledger = run.folder / "ledger.sqlite"
    before = ledger.read_bytes()
    with Run.open(run.folder, writable=True) as again:
        for number in range(batches):
            spent = [Interval(0, Phase.EXECUTE, number, number + 1.0, f"b{number}")]
            again.add_episodes([episode(f"b{number}")], spent)
    ledger.write_bytes(before)


def test_a_batch_whose_writer_died_before_its_row_gets_it(run: Run) -> None:
    _without_newest_row(run)
    with Run.open(run.folder, writable=True) as again:
        assert [e.id for e in again.episodes()] == ["a", "b0"]
        assert again.ledger.intervals() == [Interval(0, Phase.EXECUTE, 0.0, 1.0, "b0")]
        assert "episodes/00000002.zip got its row" in again.notes[0]
    assert _reopened(run) == []


def test_an_older_ledger_stops_the_opening(run: Run) -> None:
    _without_newest_row(run, batches=3)
    match = r"00000002\.zip is whole and its ledger has no row of it \(3 in all\).*fsck .* --repair"
    for _ in range(2):
        with pytest.raises(StoreError, match=match):
            Run.open(run.folder, writable=True)
    assert len(os.listdir(run.folder / "episodes")) == 4
    assert not (run.folder / "lost").exists()


def test_a_ledger_without_its_write_ahead_log_stops_the_opening(run: Run) -> None:
    for number in range(5):
        run.add_episodes([episode(str(number))])
    copy = run.folder.parent / "copy"
    shutil.copytree(run.folder, copy, ignore=shutil.ignore_patterns("*-wal", "*-shm"))
    with pytest.raises(StoreError, match=r"5 in all.*fsck .* --repair"):
        Run.open(copy, writable=True)
    assert len(os.listdir(copy / "episodes")) == 5
