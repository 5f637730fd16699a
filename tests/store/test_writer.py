"""The writer thread records everything, in order, and its failures are heard."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from enpire.errors import StoreError
from enpire.store import EpisodeWriter, Interval, Phase, Run
from enpire.types import Episode

from .samples import episode, same

NEVER = 3600.0


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    with Run.create(tmp_path / "run", {}) as opened:
        yield opened


def test_episodes_are_gathered_into_batches(run: Run) -> None:
    episodes = [episode(str(i)) for i in range(7)]
    with EpisodeWriter(run, batch=3, linger_s=NEVER) as writer:
        for one in episodes:
            writer.put([one], [Interval(0, Phase.EXECUTE, 0.0, 1.0, one.id)])
    assert same(run.episodes(), episodes)
    assert [row.index for row in run.ledger.episodes()] == [0, 1, 2, 0, 1, 2, 0]
    assert len(run.ledger.intervals()) == 7


def test_flush_records_what_was_put(run: Run) -> None:
    with EpisodeWriter(run, linger_s=NEVER) as writer:
        writer.put([episode("a")])
        writer.flush()
        assert len(run.ledger.episodes()) == 1
        writer.put([], [Interval(0, Phase.IDLE, 0.0, 1.0)])
        writer.flush()
        assert len(run.ledger.intervals()) == 1


def test_a_batch_that_does_not_fill_is_recorded_in_time(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded = threading.Event()
    add = run.add_episodes

    def heard(episodes: list[Episode], intervals: list[Interval]) -> None:
        add(episodes, intervals)
        recorded.set()

    monkeypatch.setattr(run, "add_episodes", heard)
    with EpisodeWriter(run, batch=100, linger_s=0.01) as writer:
        writer.put([episode("a")])
        assert recorded.wait(60.0)
        assert len(run.ledger.episodes()) == 1


def test_put_copies_the_arrays(run: Run) -> None:
    buffer = episode("a")
    expected = buffer.actions.copy()
    with EpisodeWriter(run, linger_s=NEVER) as writer:
        writer.put([buffer])
        buffer.actions[:] = 0.0
    assert same(run.episodes()[0].actions, expected)


def test_put_does_not_wait_for_the_disk(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = threading.Event()
    add = run.add_episodes

    def slow(episodes: list[Episode], intervals: list[Interval]) -> None:
        disk.wait(60.0)
        add(episodes, intervals)

    monkeypatch.setattr(run, "add_episodes", slow)
    with EpisodeWriter(run, batch=1) as writer:
        for i in range(5):
            writer.put([episode(str(i))])
        assert not run.ledger.episodes()
        disk.set()
    assert len(run.episodes()) == 5


def test_a_failure_is_raised_by_every_later_call(run: Run) -> None:
    writer = EpisodeWriter(run, batch=1)
    writer.put([episode("a")])
    writer.put([episode("a")])
    for call in (writer.flush, lambda: writer.put([episode("b")]), writer.close):
        with pytest.raises(StoreError, match=r"recorded already.*\(1 episodes not recorded\)"):
            call()
    assert [e.id for e in run.episodes()] == ["a"]


def test_a_closed_writer_takes_nothing(run: Run) -> None:
    writer = EpisodeWriter(run)
    writer.close()
    writer.close()
    with pytest.raises(StoreError, match="is closed"):
        writer.put([episode("a")])
