"""The bench of statistics: its counts agree with what is known exactly."""

from __future__ import annotations

import pytest

from enpire.observe import statistics_bench as bench
from enpire.rollout.statistics import estimate


def test_as_many_are_promoted_as_the_exact_chance_says() -> None:
    for alike in bench.false_promotions(runs=2000, seed=1):
        interval = estimate(alike.promoted, alike.runs, 0.999)
        assert interval.low <= alike.exact <= interval.high
        assert alike.exact <= 0.05


def test_the_test_saves_pairs_over_one_of_a_fixed_size() -> None:
    for effect in bench.savings():
        assert 0.7 < effect.power < 1.0
        assert min(effect.saved) > 0.4


def test_a_test_of_a_fixed_size_has_the_power_asked_for() -> None:
    """Of pairs that all differ, 5 wins of 5 are the fewest that are significant at 0.05."""
    assert bench.fixed_size(win=0.9, loss=0.1, power=0.9**5, alpha=0.05) == 5
    assert bench.fixed_size(win=0.9, loss=0.1, power=0.9**5 + 0.01, alpha=0.05) > 5


def test_intervals_hold_the_true_rate_often_enough() -> None:
    for coverage in bench.coverages():
        assert coverage.least >= 0.95


@pytest.mark.parametrize("table", ["promoted", "saved", "coverage"])
def test_all_three_tables_are_written(table: str) -> None:
    text = bench.markdown(bench.false_promotions(100, 0), bench.savings(), bench.coverages())
    assert table in text
