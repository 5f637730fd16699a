"""Claims about rates: exact by enumeration wherever the outcomes can be listed."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enpire.errors import UsageError
from enpire.rollout.evaluation.statistics import (
    Confusion,
    Stratum,
    averaged,
    chance_above,
    chance_alike,
    estimate,
    lower_bound,
    misses_allowed,
    mru,
    rogan_gladen,
    sealed_hopeless,
    unlikely,
)

ALPHA = 0.05
RATES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999)
TRIALS = (20, 100, 300)
counts = st.integers(0, 100)
repeatable = settings(max_examples=50)


def binomial(successes: int, trials: int, rate: float) -> float:
    return float(
        math.comb(trials, successes) * rate**successes * (1.0 - rate) ** (trials - successes)
    )


# Intervals


@pytest.mark.parametrize("rates", [(0.5, 0.9), (0.99, 0.6), (0.95, 0.95), (0.02, 0.3)])
def test_the_interval_of_a_mean_covers_it(rates: tuple[float, float]) -> None:
    """Two runs of which one has three times the other's episodes, all outcomes listed."""
    few, many = 12, 36
    covered = 0.0
    for one in range(few + 1):
        for other in range(many + 1):
            found = averaged([estimate(one, few), estimate(other, many)])
            chance = binomial(one, few, rates[0]) * binomial(other, many, rates[1])
            covered += chance * (found.low <= sum(rates) / 2 <= found.high)
    assert covered >= 0.95


def test_a_mean_weighs_runs_alike() -> None:
    found = averaged([estimate(10, 10), estimate(50, 100), estimate(0, 0)])
    assert (found.rate, found.trials) == (0.75, 110)
    alone = averaged([estimate(7, 20)])
    assert (alone.low, alone.high) == pytest.approx((estimate(7, 20).low, estimate(7, 20).high))
    assert str(averaged([])) == "not measured"


@pytest.mark.parametrize("trials", TRIALS)
def test_interval_covers_the_true_rate(trials: int) -> None:
    intervals = [estimate(k, trials) for k in range(trials + 1)]
    for rate in RATES:
        hits = [k for k, e in enumerate(intervals) if e.low <= rate <= e.high]
        assert sum(binomial(k, trials, rate) for k in hits) >= 0.95


@pytest.mark.parametrize("trials", TRIALS)
def test_lower_bound_holds_and_is_tight(trials: int) -> None:
    bounds = [lower_bound(k, trials) for k in range(trials + 1)]
    for rate in RATES:
        hits = [k for k, bound in enumerate(bounds) if bound <= rate]
        assert sum(binomial(k, trials, rate) for k in hits) >= 0.95
    # At a rate equal to a bound, that count and all above it have exactly the tail probability.
    k = trials // 2
    upper_tail = sum(binomial(j, trials, bounds[k]) for j in range(k, trials + 1))
    assert upper_tail == pytest.approx(0.05, abs=1e-9)


@pytest.mark.parametrize("target", [0.8, 0.95, 0.99])
def test_interval_covers_when_a_hopeless_evaluation_is_cut_short(target: float) -> None:
    trials = 100
    last = misses_allowed(target, trials) + 1
    for rate in RATES:
        covered = total = 0.0
        for n in range(last, trials + 1):  # ended at the n-th trial, by the failure one too many
            probability = math.comb(n - 1, last - 1) * rate ** (n - last) * (1.0 - rate) ** last
            e = estimate(n - last, n)
            total += probability
            covered += probability * (e.low <= rate <= e.high)
        for failures in range(last):
            probability = binomial(trials - failures, trials, rate)
            e = estimate(trials - failures, trials)
            total += probability
            covered += probability * (e.low <= rate <= e.high)
        assert total == pytest.approx(1.0)
        assert covered >= 0.95


def test_interval_at_the_edges() -> None:
    nothing = estimate(0, 0)
    assert (nothing.low, nothing.high) == (0.0, 1.0)
    assert lower_bound(0, 0) == 0.0
    none, every = estimate(0, 20), estimate(20, 20)
    assert none.low == 0.0
    assert none.high == pytest.approx(1.0 - 0.025 ** (1 / 20))
    assert every.high == 1.0
    assert every.low == pytest.approx(0.025 ** (1 / 20))


def test_zero_failures_needed_for_a_claim() -> None:
    assert lower_bound(299, 299) >= 0.99 > lower_bound(298, 298)


@given(trials=st.integers(1, 400), data=st.data())
@repeatable
def test_interval_mirrors_and_nests(trials: int, data: st.DataObject) -> None:
    k = data.draw(st.integers(0, trials))
    e, mirrored, wider = (
        estimate(k, trials),
        estimate(trials - k, trials),
        estimate(k, trials, 0.99),
    )
    assert e.low <= e.rate <= e.high
    assert wider.low <= e.low
    assert e.high <= wider.high
    assert (e.low, e.high) == pytest.approx((1.0 - mirrored.high, 1.0 - mirrored.low))
    assert e.low <= lower_bound(k, trials) <= e.rate


@pytest.mark.parametrize(("successes", "trials"), [(-1, 3), (4, 3), (0, -1)])
def test_impossible_counts_are_refused(successes: int, trials: int) -> None:
    with pytest.raises(ValueError, match="no count"):
        estimate(successes, trials)


@pytest.mark.parametrize("confidence", [0.0, 1.0, 95.0, math.nan])
def test_confidence_is_a_fraction(confidence: float) -> None:
    with pytest.raises(UsageError, match="confidence"):
        estimate(1, 2, confidence)
    with pytest.raises(UsageError, match="confidence"):
        lower_bound(1, 2, confidence)


# Sealed evaluation


@pytest.mark.parametrize(
    ("target", "trials", "misses"),
    [(0.9, 10, 1), (0.99, 100, 1), (0.99, 300, 3), (0.995, 100, 0), (1.0, 50, 0), (0.0, 5, 5)],
)
def test_misses_allowed(target: float, trials: int, misses: int) -> None:
    assert misses_allowed(target, trials) == misses


@given(trials=st.integers(1, 500), percent=st.integers(0, 100))
@repeatable
def test_misses_allowed_agrees_with_the_point_estimate(trials: int, percent: int) -> None:
    target = percent / 100
    misses = misses_allowed(target, trials)
    assert (trials - misses) / trials >= target
    assert misses == trials or (trials - misses - 1) / trials < target


def test_a_rate_just_measured_is_reached_as_a_target() -> None:
    for trials in (20, 100, 300):  # 0.55 * 100 is above 55 in floating point
        for misses in range(trials + 1):
            assert misses_allowed((trials - misses) / trials, trials) == misses


@given(trials=st.integers(1, 60), percent=st.integers(0, 100), data=st.data())
@repeatable
def test_hopeless_means_no_ending_reaches_the_target(
    trials: int, percent: int, data: st.DataObject
) -> None:
    failures = data.draw(st.integers(0, trials))
    best = estimate(trials - failures, trials)  # every trial still to come succeeds
    assert sealed_hopeless(failures, trials, percent / 100) == (best.rate < percent / 100)


def test_sealed_settings_are_checked() -> None:
    with pytest.raises(UsageError, match="target"):
        misses_allowed(99.0, 100)
    with pytest.raises(UsageError, match="trials"):
        misses_allowed(0.99, 0)


# Use of the robots


def test_mru() -> None:
    assert mru(30.0, 40.0) == 0.75
    assert mru(40.0 + 1e-9, 40.0) == 1.0
    assert mru(-1e-9, 40.0) == 0.0
    assert math.isnan(mru(0.0, 0.0))
    assert math.isnan(mru(1.0, math.nan))


# Rates seen through a verifier that errs


def test_a_rate_seen_through_known_errors_is_given_back() -> None:
    audit = Confusion(900, 50, 100, 950)  # sensitivity 0.9, specificity 0.95
    found = rogan_gladen(730, 1000, audit)  # 0.8 x 0.9 + 0.2 x 0.05
    assert found is not None
    assert found.rate == pytest.approx(0.8)
    assert found.low < 0.8 < found.high
    perfect = rogan_gladen(730, 1000, Confusion(10**6, 0, 0, 10**6))
    assert perfect is not None
    assert (perfect.rate, perfect.high - perfect.low) == (0.73, pytest.approx(0.055, abs=0.001))


def test_little_audited_is_little_known() -> None:
    widths = []
    for size in (20, 200, 2000):
        found = rogan_gladen(290, 300, Confusion(size, 0, 0, size))
        assert found is not None
        widths.append(found.high - found.low)
    assert widths == sorted(widths, reverse=True)


@pytest.mark.parametrize(
    ("successes", "trials", "audit"),
    [
        (0, 0, Confusion(10, 0, 0, 10)),
        (5, 10, Confusion(10, 0, 0, 0)),
        (5, 10, Confusion(0, 0, 0, 10)),
        (5, 10, Confusion(5, 5, 5, 5)),
        (5, 10, Confusion(1, 9, 9, 1)),
    ],
)
def test_nothing_is_corrected_by_an_audit_that_tells_nothing(
    successes: int, trials: int, audit: Confusion
) -> None:
    assert rogan_gladen(successes, trials, audit) is None


def test_corrected_rates_stay_rates() -> None:
    audit = Confusion(190, 10, 10, 190)
    for successes in (0, 1, 150, 300):
        found = rogan_gladen(successes, 300, audit)
        assert found is not None
        assert 0 <= found.low <= found.rate <= found.high <= 1
    with pytest.raises(ValueError, match="no count"):
        rogan_gladen(4, 3, audit)
    with pytest.raises(ValueError, match="below zero"):
        Confusion(1, -1)


@pytest.mark.parametrize(
    ("rate", "sensitivity", "specificity"), [(0.5, 0.9, 0.9), (0.9, 0.97, 0.95)]
)
def test_the_corrected_interval_covers(rate: float, sensitivity: float, specificity: float) -> None:
    rng = np.random.default_rng(11)
    covered = 0
    for _ in range(400):
        seen = rate * sensitivity + (1 - rate) * (1 - specificity)
        hits, rejects = rng.binomial(200, sensitivity), rng.binomial(200, specificity)
        audit = Confusion(int(hits), int(200 - rejects), int(200 - hits), int(rejects))
        found = rogan_gladen(int(rng.binomial(200, seen)), 200, audit)
        assert found is not None
        covered += found.low <= rate <= found.high
    assert covered >= 0.93 * 400


# Stations


def test_one_stratum_is_fishers_exact_test() -> None:
    """9 of 10 at a station where all four have 30 of 40: the sum of hypergeometric chances."""
    chances = [math.comb(30, k) * math.comb(10, 10 - k) / math.comb(40, 10) for k in range(11)]
    expected = 2 * sum(chances[9:])
    assert chance_alike([Stratum(9, 10, 30, 40)]) == pytest.approx(expected)


def test_like_is_compared_with_like() -> None:
    """A station that ran the hard policy more often is not worse for it."""
    hard, easy = Stratum(4, 40, 5, 50), Stratum(9, 10, 45, 50)
    assert chance_alike([hard, easy]) > 0.5
    assert chance_alike([Stratum(13, 50, 50, 100)]) < 1e-3


def test_strata_add_up() -> None:
    little = Stratum(1, 6, 12, 24)
    assert chance_alike([little] * 8) < 0.01 < chance_alike([little])
    assert chance_alike([]) == 1.0


def test_of_many_tests_any_is_named_with_alpha_for_all_of_them() -> None:
    assert unlikely({0: 0.004, 1: 0.5, 2: 0.6, 3: 0.7}, 0.01) == set()
    assert unlikely({0: 0.002, 1: 0.5, 2: 0.6, 3: 0.7}, 0.01) == {0}
    assert unlikely({0: 0.002, 1: 0.003, 2: 0.6, 3: 0.7}, 0.01) == {0, 1}
    assert unlikely({}, 0.01) == set()


@pytest.mark.parametrize(
    ("one", "other", "chance"),
    [
        ((0, 0), (0, 0), 0.5),
        ((1, 1), (0, 1), 5 / 6),  # the integral of 2 p (1 - (1 - p)^2) over p
        ((0, 1), (1, 1), 1 / 6),
        ((99, 100), (50, 100), 1.0),
    ],
)
def test_the_chance_that_one_rate_is_above_another(
    one: tuple[int, int], other: tuple[int, int], chance: float
) -> None:
    assert chance_above(estimate(*one), estimate(*other)) == pytest.approx(chance, abs=1e-3)
