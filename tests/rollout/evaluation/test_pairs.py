"""The limit of pairs: it grows with the incumbent's success, and its power is exact."""

from __future__ import annotations

import numpy as np
import pytest

from enpire.rollout.evaluation.comparison import (
    Decision,
    PairedRecord,
    decide,
    prospect,
    stopping,
)
from enpire.rollout.evaluation.pairs import (
    EVEN,
    LEAST_PAIRS,
    enough_pairs,
    expected_pairs,
    limited_prospect,
)
from enpire.rollout.evaluation.statistics import estimate

ALPHA = 0.05


def chances(incumbent: float, candidate: float) -> tuple[float, float]:
    """Of a win and of a loss, outcomes on a seed independent."""
    return candidate * (1 - incumbent), incumbent * (1 - candidate)


def simulated(win: float, loss: float, max_pairs: int, runs: int) -> tuple[float, float]:
    """Share of promotions and mean pairs by `decide` itself."""
    rng = np.random.default_rng(0)
    promoted, pairs = 0, 0
    for _ in range(runs):
        record = PairedRecord()
        while (decision := decide(record, ALPHA, max_pairs)) is Decision.CONTINUE:
            drawn = rng.random()
            won, lost = drawn < win, win <= drawn < win + loss
            record = record.add(candidate=won, incumbent=lost)
        promoted += decision is Decision.PROMOTE
        pairs += record.pairs
    return promoted / runs, pairs / runs


@pytest.mark.parametrize(("incumbent", "candidate", "most"), [(0.8, 0.9, 30), (0.9, 0.97, 60)])
def test_the_power_under_a_limit_is_what_a_simulation_finds(
    incumbent: float, candidate: float, most: int
) -> None:
    win, loss = chances(incumbent, candidate)
    promoted, pairs = simulated(win, loss, most, runs=800)
    exact = limited_prospect(win, loss, most, ALPHA)
    assert exact.promoted == pytest.approx(promoted, abs=4 * 0.5 / 800**0.5)
    assert exact.pairs == pytest.approx(pairs, rel=0.06)


def test_without_a_limit_in_effect_it_is_that_of_the_test() -> None:
    win, loss = chances(0.9, 0.97)
    whole = prospect(stopping(ALPHA), win / (win + loss))
    exact = limited_prospect(win, loss, 10**6, ALPHA)
    assert exact.promoted == pytest.approx(whole.promoted)
    assert exact.pairs == pytest.approx(whole.discordant / (win + loss))


@pytest.mark.parametrize("rate", [0.5, 0.9, 0.98])
def test_what_is_no_better_is_promoted_no_more_often_under_a_limit(rate: float) -> None:
    alike = rate * (1 - rate)
    for most in (20, 100, 800):
        assert limited_prospect(alike, alike, most, ALPHA).promoted <= ALPHA


def test_the_limit_grows_with_the_incumbents_success() -> None:
    found = [enough_pairs(estimate(round(200 * p), 200), 0.99) for p in (0.3, 0.8, 0.9, 0.95, 0.98)]
    assert found[:2] == [LEAST_PAIRS] * 2
    assert found == sorted(found)
    assert found[-1] > 2 * found[-2] > 4 * LEAST_PAIRS


def test_it_is_enough_for_an_even_chance_to_show_half_of_the_failures_gone() -> None:
    most = enough_pairs(estimate(191, 200), 0.99)  # 0.95 by Laplace's rule
    win, loss = chances(192 / 202, 1 - (1 - 192 / 202) / 2)
    assert limited_prospect(win, loss, most, ALPHA).promoted == pytest.approx(EVEN, abs=0.01)


def test_beyond_the_target_it_grows_no_more() -> None:
    perfect = estimate(10_000, 10_000)
    assert enough_pairs(perfect, 0.9) == enough_pairs(estimate(9500, 10_000), 0.9)
    assert enough_pairs(perfect, 0.9) < enough_pairs(perfect, 0.95)


def test_of_an_incumbent_that_nothing_is_known_of_it_is_the_least() -> None:
    assert enough_pairs(estimate(0, 0), 0.99) == LEAST_PAIRS


@pytest.mark.parametrize("successes", [100, 190])
def test_the_pairs_that_are_expected_are_the_mean_with_a_candidate_of_half_the_failures(
    successes: int,
) -> None:
    incumbent = estimate(successes, 200)
    most = enough_pairs(incumbent, 0.99)
    rate = (successes + 1) / 202
    _, mean = simulated(*chances(rate, (1 + rate) / 2), most, 300)
    expected = expected_pairs(incumbent, 0.99, most, ALPHA)
    assert expected == pytest.approx(mean, rel=0.12)


def test_where_nobody_can_fail_a_comparison_takes_all_its_pairs() -> None:
    assert expected_pairs(estimate(10_000, 10_000), 1.0, 100) == 100
