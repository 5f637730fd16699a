"""The rule of sealed evaluations: what it lets through, what it costs, what it may claim."""

from __future__ import annotations

import numpy as np
import pytest

from enpire.errors import UsageError
from enpire.rollout.evaluation.sealed_rule import (
    ERRORS,
    LOWER,
    POINT,
    SealedRule,
    SealedVerdict,
    attempt_level,
)
from enpire.rollout.evaluation.statistics import misses_allowed

ASKED = [(0.99, 300), (0.9, 10), (0.95, 60), (0.5, 3), (0.1, 5), (0.3, 1), (1.0, 20), (0.9, 200)]


def run_out(rule: SealedRule, outcomes: list[bool]) -> tuple[SealedVerdict, int, int]:
    """The verdict on outcomes in their order, with failures and episodes until then."""
    failures = 0
    for trials, success in enumerate(outcomes, 1):
        failures += not success
        verdict = rule.verdict(failures, trials)
        if verdict is not SealedVerdict.OPEN:
            return verdict, failures, trials
    return SealedVerdict.OPEN, failures, len(outcomes)


def test_attempts_share_one_budget_of_errors() -> None:
    levels = [attempt_level(k) for k in range(1, 10_000)]
    assert levels[0] == ERRORS / 2
    assert levels == sorted(levels, reverse=True)
    assert ERRORS * 0.999 < sum(levels) <= ERRORS
    with pytest.raises(ValueError, match="the first one is 1"):
        attempt_level(0)


def test_the_bar_of_a_true_0985_holds_over_all_attempts() -> None:
    chances = [SealedRule.of(0.99, 300, k).characteristic(0.985).reached for k in range(1, 8)]
    assert sum(chances) <= 0.1, "seven policies may be examined in six rounds"
    assert sum(chances[:6]) >= 0.05, "and it is not held by letting nobody pass"


def test_a_good_policy_passes_soon() -> None:
    first, second = (SealedRule.of(0.99, 300, k) for k in (1, 2))
    missed = [1.0 - rule.characteristic(0.996).reached for rule in (first, second)]
    assert 1.0 - missed[0] * missed[1] >= 0.99
    assert first.characteristic(0.995).reached >= 0.9
    assert first.soonest(0) == 300
    assert first.characteristic(0.999).episodes < 340


@pytest.mark.parametrize("bound", [POINT, LOWER])
@pytest.mark.parametrize("attempt", [1, 2, 6])
@pytest.mark.parametrize(("target", "episodes"), ASKED)
def test_what_is_at_null_passes_with_alpha_at_most_and_what_is_good_passes(
    target: float, episodes: int, attempt: int, bound: str
) -> None:
    if target == 1.0 and bound == LOWER:
        pytest.skip("no lower bound is 1")
    rule = SealedRule.of(target, episodes, attempt, bound)
    assert rule.characteristic(rule.null).reached <= rule.alpha + 1e-12
    assert rule.characteristic(rule.null * 0.9).reached <= rule.alpha
    assert rule.characteristic(rule.good).reached >= 0.85, "no loop that can never pass"
    assert rule.least >= episodes
    assert (rule.null == target) == (bound == LOWER)


def test_a_simulation_agrees_with_the_exact_chances() -> None:
    rng = np.random.default_rng(0)
    rule = SealedRule.of(0.9, 10, 2)
    for rate in (0.85, 0.9, 0.95):
        ends = [run_out(rule, (rng.random(rule.most) < rate).tolist()) for _ in range(1500)]
        exact = rule.characteristic(rate)
        reached = np.mean([verdict is SealedVerdict.REACHED for verdict, _, _ in ends])
        assert reached == pytest.approx(exact.reached, abs=4 * 0.5 / 1500**0.5)
        assert np.mean([trials for _, _, trials in ends]) == pytest.approx(exact.episodes, rel=0.06)
        assert all(verdict is not SealedVerdict.OPEN for verdict, _, _ in ends)


@pytest.mark.parametrize(("target", "episodes"), ASKED)
def test_whatever_reaches_the_target_has_that_point_estimate(target: float, episodes: int) -> None:
    rule = SealedRule.of(target, episodes)
    failures = 0
    while rule.soonest(failures) <= rule.most:
        trials = rule.soonest(failures)
        assert failures <= misses_allowed(target, trials)
        assert rule.verdict(failures, trials) is SealedVerdict.REACHED
        assert rule.verdict(failures, trials - 1) is not SealedVerdict.REACHED
        failures += 1
    assert rule.verdict(failures, rule.most) is SealedVerdict.MISSED


def test_a_policy_without_a_failure_reaches_0_9_with_27_episodes() -> None:
    """Since (0.95 / 0.85) ** 27 is above 1 / 0.05, and with 26 it is not."""
    rule = SealedRule.of(0.9, 10)
    assert run_out(rule, [True] * 100) == (SealedVerdict.REACHED, 0, 27)
    assert run_out(rule, [False] * 100) == (SealedVerdict.MISSED, 3, 3)


def test_one_failure_more_asks_for_more_episodes() -> None:
    rule = SealedRule.of(0.99, 300)
    assert [rule.soonest(k) for k in range(4)] == [300, 407, 517, 626]
    assert rule.verdict(1, 300) is SealedVerdict.OPEN


@pytest.mark.parametrize("attempt", [1, 3])
def test_the_bound_of_what_was_reached_is_above_null(attempt: int) -> None:
    for bound in (POINT, LOWER):
        rule = SealedRule.of(0.99, 300, attempt, bound)
        for failures in (0, 1, 4):
            claimed = rule.bound(failures, rule.soonest(failures))
            assert rule.null <= claimed < 1.0
            if bound == LOWER:
                assert claimed >= 0.99


@pytest.mark.parametrize("rate", [0.8, 0.85, 0.9, 0.95, 0.99])
def test_intervals_and_bounds_hold_the_true_rate_often_enough(rate: float) -> None:
    rule = SealedRule.of(0.9, 10)
    rng = np.random.default_rng(3)
    inside = below = 0
    runs = 600
    for _ in range(runs):
        verdict, failures, trials = run_out(rule, (rng.random(rule.most) < rate).tolist())
        seen = rule.interval(failures, trials)
        inside += seen.low <= rate <= seen.high
        below += verdict is SealedVerdict.REACHED and rule.bound(failures, trials) > rate
    assert inside >= 0.95 * runs - 3 * (runs * 0.95 * 0.05) ** 0.5
    assert below <= rule.alpha * runs + 3 * (runs * rule.alpha * (1 - rule.alpha)) ** 0.5


def test_an_evaluation_that_is_not_over_has_the_interval_of_a_fixed_number() -> None:
    seen = SealedRule.of(0.9, 10).interval(0, 10)
    assert (seen.rate, seen.high) == (1.0, 1.0)
    assert seen.low == pytest.approx(0.025**0.1)


def test_a_target_of_1_is_what_the_episodes_can_show() -> None:
    rule = SealedRule.of(1.0, 300)
    assert (rule.least, rule.good) == (300, 1.0)
    assert rule.null == pytest.approx(0.05 ** (1 / 300))
    assert run_out(rule, [True] * 299 + [False]) == (SealedVerdict.MISSED, 1, 300)


@pytest.mark.parametrize(
    ("target", "episodes", "bound", "words"),
    [
        (1.0, 300, LOWER, "no lower bound"),
        (99.0, 300, POINT, "target is"),
        (0.9, 0, POINT, "at le"),
    ],
)
def test_what_cannot_be_asked_for(target: float, episodes: int, bound: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        SealedRule.of(target, episodes, bound=bound)


def test_the_rule_is_told_to_a_person() -> None:
    said = str(SealedRule.of(0.99, 300, 2))
    assert "0.99 is reached on 406 to 2277 episodes" in said
    assert "truly succeeds at 0.985 or less with a chance of at most 0.017" in said
