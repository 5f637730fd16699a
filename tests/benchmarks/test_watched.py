"""What the comparison of watched loops says of pairs, and how it measures a process."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from benchmarks.watched import Child, Spent, WatchedPair, markdown, ratio_of


def pair(alone_s: float, watched_s: float) -> WatchedPair:
    browser, dashboard = Spent(1.0, 100.0), Spent(2.0, 100.0)
    return WatchedPair(
        Spent(alone_s, 2 * alone_s), Spent(watched_s, 2 * watched_s), dashboard, browser, 10
    )


def test_a_ratio_is_of_pairs_whatever_their_length() -> None:
    found = ratio_of([pair(10.0, 11.0), pair(30.0, 33.0), pair(20.0, 22.0)], lambda s: s.cpu_s)
    assert found.mean == pytest.approx(1.1)
    assert found.low == pytest.approx(1.1)
    assert found.high == pytest.approx(1.1)


def test_an_interval_is_student_s() -> None:
    found = ratio_of([pair(1.0, 1.0), pair(1.0, 1.21)], lambda s: s.cpu_s)
    assert found.mean == pytest.approx(1.1)
    assert found.high / found.mean == pytest.approx(1.1**12.7062, rel=1e-3), "one degree of freedom"


def test_one_pair_says_nothing_for_sure() -> None:
    found = ratio_of([pair(1.0, 1.0)], lambda s: s.cpu_s)
    assert (found.low, found.high) == (0.0, float("inf"))


def test_time_on_the_clock_is_told_of_loops_in_turn_alone() -> None:
    pairs = [pair(10.0, 10.1), pair(10.0, 10.1)]
    assert "+1.0% [+1.0, +1.0] of processor time, over 2 pairs" in markdown(pairs, in_turn=False)
    assert "2.0% of a core, the browser 1.0%" in markdown(pairs, in_turn=False)
    assert "On the clock" not in markdown(pairs, in_turn=False)
    assert "On the clock it takes +1.0%" in markdown(pairs, in_turn=True)


def test_a_process_that_works_takes_more_than_one_that_waits(tmp_path: Path) -> None:
    work = "import time\nwhile time.process_time() < 0.5: pass"
    wait = "import time\ntime.sleep(0.5)"
    took = []
    for script in (work, wait):
        with Child([sys.executable, "-c", script], tmp_path / "log") as child:
            took.append(child.spent())
    assert took[0].cpu_s >= 0.5
    assert took[1].cpu_s < took[0].cpu_s
    assert took[1].wall_s >= 0.5


def test_a_process_that_goes_on_is_ended(tmp_path: Path) -> None:
    with Child([sys.executable, "-c", "import time; time.sleep(600)"], tmp_path / "log") as child:
        pass
    assert child.process.returncode == -9
