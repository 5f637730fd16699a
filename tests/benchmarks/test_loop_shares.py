"""A loop's processor time falls into parts, each counted once."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from benchmarks import loop_shares
from benchmarks.loop_shares import (
    LEARNING,
    PARTS,
    REST,
    SHORT,
    PartTimes,
    bench_loop,
    part_times,
    table,
)
from enpire.twin import Twin


def test_a_function_within_another_counts_for_itself_only(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(time, "thread_time", lambda: now[0])
    times = PartTimes()
    times.begin()

    def step() -> None:
        now[0] += 5.0

    inner = times.timed("physics", step)

    def reset() -> None:
        now[0] += 1.0
        inner()
        inner()
        now[0] += 2.0

    times.timed("resets", reset)()
    inner()
    parts = times.shares(0).parts
    assert (parts["resets"], parts["physics"]) == (3.0, 15.0)


def test_what_comes_before_the_first_episode_counts_to_no_part(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now, ended = [0.0], [0.0]
    monkeypatch.setattr(time, "thread_time", lambda: now[0])
    monkeypatch.setattr(loop_shares, "_children_s", lambda: ended[0])
    times = PartTimes()

    def step() -> None:
        now[0] += 5.0

    timed = times.timed("physics", step)
    timed()
    ended[0] = 4.0
    times.begin()
    parts = times.shares(0).parts
    assert parts["physics"] == parts[LEARNING] == 0.0
    assert parts[REST] >= 0.0
    with pytest.raises(ValueError, match="no episode"):
        PartTimes().shares(0)


@pytest.mark.medium
def test_a_loop_is_told_part_by_part_and_the_timers_are_gone(tmp_path: Path) -> None:
    run = Twin.run
    few = {"demonstrations": 2, "start_episodes": 4, "collect": 4, "max_pairs": 2}
    steps = {"training.steps": 5}
    few |= {"recipe_settings": steps, "first_recipe_settings": steps}
    bench = bench_loop("pick_cube", tmp_path, 2, 1, **SHORT | few)
    assert Twin.run is run
    (loop,) = bench.loops
    assert set(loop.parts) == {*PARTS, REST}
    assert sum(loop.share(part) for part in loop.parts) == pytest.approx(1.0)
    assert min(loop.parts[part] for part in ("physics", "inference", "storage", REST)) > 0
    assert loop.parts["rendering"] == 0.0
    assert loop.episodes >= 10
    assert table(bench).count("\n") == len(loop.parts) + 1


def test_timers_are_taken_away_when_a_loop_fails() -> None:
    run = Twin.run

    def fail() -> None:
        with part_times():
            assert Twin.run is not run
            raise RuntimeError("failed")

    with pytest.raises(RuntimeError, match="failed"):
        fail()
    assert Twin.run is run
