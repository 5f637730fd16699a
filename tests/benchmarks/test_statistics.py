"""The bench of statistics: its counts agree with what is known exactly."""

from __future__ import annotations

import pytest

from benchmarks import statistics as bench
from benchmarks.loop_simulation import LoopChance
from enpire.rollout.evaluation.statistics import estimate


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


def test_the_power_under_a_limit_is_told_beside_that_without_one() -> None:
    """As 1,000 simulated comparisons found before: 0.697 and 0.485 with 100 pairs."""
    told = {(row.incumbent, row.candidate): row for row in bench.limits()}
    for effect, power in {(0.9, 0.97): 0.697, (0.95, 0.99): 0.485}.items():
        row = told[effect]
        interval = estimate(round(1000 * power), 1000)
        assert interval.low <= row.fixed.promoted <= interval.high
        assert row.pairs > 100
        assert row.unlimited > row.derived.promoted > row.fixed.promoted
        assert row.alike.promoted <= 0.05


def test_a_point_estimate_that_is_tried_again_passes_what_the_rule_does_not() -> None:
    told = {row.rate: row for row in bench.sealed_chances()}
    assert told[0.985].reached[-1] <= 0.1
    assert told[0.985].before[0] == pytest.approx(0.34, abs=0.01)
    assert told[0.985].before[-1] > 0.9
    assert told[0.996].reached[1] >= 0.9
    assert told[0.999].episodes < 340


def test_all_tables_are_written() -> None:
    loops = [LoopChance(0.985, 50, 2, 1.5, 400.0, 900.0)]
    text = bench.markdown(bench.report(100, loops, 0))
    for table in ("promoted", "saved", "power without", "sealed episodes", "loops", "coverage"):
        assert table in text
