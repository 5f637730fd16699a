"""Effects: a difference of rates from pairs, and its interval."""

from __future__ import annotations

import math

import numpy as np
import pytest

from enpire.evolution.experiments.effect import Effect, difference_interval, pooled
from enpire.rollout.evaluation.comparison import PairedRecord


def test_an_effect_is_the_difference_of_the_rates() -> None:
    effect = Effect(PairedRecord(wins=12, losses=2, ties=36))
    assert effect.difference == pytest.approx(0.2)
    low, high = effect.interval
    assert 0.0 < low < 0.2 < high < 1.0
    assert str(effect).startswith("+0.200 [+0.0")
    assert str(effect).endswith("of 50 pairs")


def test_nothing_measured_says_nothing() -> None:
    effect = Effect(PairedRecord())
    assert effect.interval == (-1.0, 1.0)
    assert math.isnan(effect.difference)
    assert str(effect) == "not measured"


def test_the_ends_are_those_of_the_score_where_both_always_agree() -> None:
    """Without discordant pairs the interval is +- z^2 / (n + z^2), by hand."""
    low, high = difference_interval(PairedRecord(ties=50))
    assert high == pytest.approx(1.959964**2 / (50 + 1.959964**2), abs=1e-6)
    assert low == pytest.approx(-high, abs=1e-6)


def test_exchanging_the_two_turns_the_interval_round() -> None:
    low, high = difference_interval(PairedRecord(7, 3, 20))
    assert difference_interval(PairedRecord(3, 7, 20)) == pytest.approx((-high, -low), abs=1e-6)


def test_the_ends_stay_within_what_a_difference_can_be() -> None:
    assert difference_interval(PairedRecord(wins=5))[1] == 1.0
    assert difference_interval(PairedRecord(losses=5))[0] == -1.0


def test_the_interval_holds_the_true_difference_as_often_as_it_says() -> None:
    rng = np.random.default_rng(0)
    counts = rng.multinomial(60, (0.25, 0.10, 0.65), size=600)
    ends = [difference_interval(PairedRecord(*map(int, row))) for row in counts]
    held = np.mean([low <= 0.15 <= high for low, high in ends])
    assert 0.925 < held < 0.975


def test_records_are_pooled() -> None:
    assert pooled([PairedRecord(1, 2, 3), PairedRecord(4, 5, 6)]) == PairedRecord(5, 7, 9)
    assert pooled([]) == PairedRecord()
