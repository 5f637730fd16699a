"""A look at a run for a moment: it sees what is new, makes no file, and disturbs no writer."""

from __future__ import annotations

import os
import shutil
import signal
import threading
import time
from pathlib import Path

import pytest

from enpire.errors import LockedError, StoreError
from enpire.store import LogEntry, Run
from enpire.store.fsck import check
from enpire.store.layout import LEDGER, SEAL
from enpire.store.lock import short_reading, without_short_readers
from enpire.store.search import EpisodeFilter
from enpire.types import Outcome, Verdict
from tests.store.samples import episode

LEFT = {LEDGER, SEAL, "config.toml", "episodes", "policies", "writer.lock"}


def _names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_a_glance_sees_what_a_writer_has_just_recorded(tmp_path: Path) -> None:
    with Run.create(tmp_path / "run", {}) as run:
        run.add_episodes([episode("a"), episode("b", station=1)])
        before = _names(run.folder)
        with Run.glance(run.folder) as seen:
            assert [row.id for _, row in seen.ledger.episodes_since(0)] == ["a", "b"]
        run.add_episodes([episode("c")])
        run.ledger.add_decision(LogEntry(1, "kept", "one"))
        run.ledger.add_decision(LogEntry(1, "kept", "two"))
        with Run.glance(run.folder) as seen:
            assert [(n, row.id) for n, row in seen.ledger.episodes_since(2)] == [(3, "c")]
            assert [note.text for note in seen.ledger.decisions(since=1)] == ["two"]
            with pytest.raises(StoreError):
                seen.ledger.add_decision(LogEntry(1, "kept", "three"))
        assert _names(run.folder) == before
    assert _names(run.folder) == LEFT


def test_a_glance_at_a_run_that_has_ended_leaves_it_as_it_was(tmp_path: Path) -> None:
    with Run.create(tmp_path / "run", {}) as run:
        run.add_episodes([episode("a")])
    os.chmod(run.folder, 0o555)
    try:
        with Run.glance(run.folder) as seen:
            assert len(seen.ledger.episodes_since(0)) == 1
    finally:
        os.chmod(run.folder, 0o755)
    assert _names(run.folder) == LEFT


def test_a_glance_at_a_killed_run_sees_what_its_log_holds(tmp_path: Path) -> None:
    with Run.create(tmp_path / "run", {}) as run:
        run.add_episodes([episode("a")])
        killed = shutil.copytree(run.folder, tmp_path / "killed")
    before = _names(killed)
    assert f"{LEDGER}-wal" in before
    with Run.glance(killed) as seen:
        assert len(seen.ledger.episodes_since(0)) == 1
    assert _names(killed) == before


def test_a_writer_that_ends_waits_for_who_glances(tmp_path: Path) -> None:
    run = Run.create(tmp_path / "run", {})
    run.add_episodes([episode("a")])
    with Run.glance(run.folder) as seen:
        closing = threading.Thread(target=run.close)
        closing.start()
        closing.join(0.05)
        assert closing.is_alive()
        assert len(seen.ledger.episodes_since(0)) == 1
    closing.join()
    assert _names(run.folder) == LEFT


def test_who_is_killed_in_a_glance_keeps_no_writer_waiting(tmp_path: Path) -> None:
    """As a dashboard may be, at any moment."""
    run = Run.create(tmp_path / "run", {})
    run.add_episodes([episode("a")])
    reads, writes = os.pipe()
    child = os.fork()
    if not child:
        with Run.glance(run.folder):
            os.write(writes, b".")
            signal.pause()
    assert os.read(reads, 1) == b"."
    closing = threading.Thread(target=run.close)
    closing.start()
    closing.join(0.05)
    assert closing.is_alive(), "it waits for who glances"
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    closing.join(60.0)
    assert not closing.is_alive()
    assert _names(run.folder) == LEFT
    assert not check(run.folder).damage


def test_a_ledger_that_is_being_closed_is_read_again_later(tmp_path: Path) -> None:
    with Run.create(tmp_path / "run", {}) as run:
        pass
    with (
        without_short_readers(run.folder),
        pytest.raises(LockedError, match="again"),
        short_reading(run.folder),
    ):
        pass


def test_many_glances_beside_a_writer_leave_no_file(tmp_path: Path) -> None:
    """Whoever closes last must be the writer, however the two meet."""
    over = threading.Event()
    folder = tmp_path / "run"

    def glance() -> None:
        while not over.is_set():
            try:
                with Run.glance(folder) as seen:
                    seen.ledger.facts()
            except (StoreError, FileNotFoundError):
                continue  # no run yet, or it is being closed, or removed

    glancing = threading.Thread(target=glance)
    glancing.start()
    try:
        for at in range(10):
            with Run.create(folder, {}) as run:
                run.add_episodes([episode(str(at))])
            assert _names(folder) == LEFT
            shutil.rmtree(folder)
    finally:
        over.set()
        glancing.join()


def test_episodes_are_found_by_what_they_are(tmp_path: Path) -> None:
    lost = Verdict(Outcome.FAILURE, (), 0.0, "held", "dropped")
    with Run.create(tmp_path / "run", {}) as run:
        run.add_episodes(
            [
                episode("a", seed=5),
                episode("b", seed=6, station=1, verdict=lost),
                episode("c", seed=6, policy="p1"),
                episode("d", seed=6),
            ]
        )
        ledger = run.ledger
        wanted = EpisodeFilter(seed=6)
        assert [r.id for _, r in ledger.find_episodes(wanted, 100, 2)] == ["d", "c"]
        assert [r.id for _, r in ledger.find_episodes(wanted, 3, 2)] == ["b"]
        assert ledger.count_episodes(wanted) == 3
        for given in (
            EpisodeFilter(outcome=Outcome.FAILURE),
            EpisodeFilter(stage="held"),
            EpisodeFilter(station=1, seed=6),
        ):
            assert [r.id for _, r in ledger.find_episodes(given, 100, 9)] == ["b"]
        assert ledger.count_episodes(EpisodeFilter(policy="p1' OR TRUE --")) == 0


def test_a_reader_that_outlives_the_writer_leaves_no_file(tmp_path: Path) -> None:
    run = Run.create(tmp_path / "run", {})
    run.add_episodes([episode("a")])
    with Run.open(run.folder) as reader:
        run.add_episodes([episode("b")])
        run.close()
        assert [row.id for row in reader.ledger.episodes()] == ["a"]
    assert _names(run.folder) == LEFT


def test_who_follows_a_run_sees_what_comes_later(tmp_path: Path) -> None:
    with Run.create(tmp_path / "run", {}) as run, Run.open(run.folder, following=True) as reader:
        run.add_episodes([episode("a")])
        assert [row.id for row in reader.ledger.episodes()] == ["a"]


def test_a_reader_waits_for_a_writer_that_is_closing(tmp_path: Path) -> None:
    run = Run.create(tmp_path / "run", {})
    begun, over = threading.Event(), threading.Event()

    def end() -> None:
        with without_short_readers(run.folder):
            begun.set()
            time.sleep(0.05)
            over.set()

    ending = threading.Thread(target=end)
    ending.start()
    begun.wait()
    with Run.open(run.folder):
        assert over.is_set()
    ending.join()
    run.close()
