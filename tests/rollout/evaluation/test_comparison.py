"""When a comparison ends: exact by enumeration of all ways it may go."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enpire.errors import UsageError
from enpire.rollout.evaluation.comparison import (
    EXTENSION,
    HORIZON,
    Decision,
    PairedRecord,
    Stopping,
    better_than,
    decide,
    prospect,
    stopping,
)

ALPHA = 0.05
MANY = 10_000


def run(rng: np.random.Generator, candidate: float, incumbent: float) -> tuple[Decision, int]:
    record = PairedRecord()
    while (decision := decide(record, ALPHA, max_pairs=MANY)) is Decision.CONTINUE:
        a, b = rng.random(2)
        record = record.add(candidate=bool(a < candidate), incumbent=bool(b < incumbent))
    return decision, record.pairs


def test_record_counts_pairs() -> None:
    record = PairedRecord()
    for candidate, incumbent in [(True, True), (True, False), (False, True), (False, False)]:
        record = record.add(candidate=candidate, incumbent=incumbent)
    assert record == PairedRecord(wins=1, losses=1, ties=2)
    assert record.pairs == 4
    with pytest.raises(ValueError, match="below zero"):
        PairedRecord(wins=-1)


def test_chance_to_be_better_follows_from_wins_and_losses_alone() -> None:
    assert PairedRecord().chance_better == 0.5
    assert PairedRecord(wins=3).chance_better == pytest.approx(1 - 0.5**4)
    assert PairedRecord(losses=3, ties=50).chance_better == pytest.approx(0.5**4)
    assert PairedRecord(4, 4).chance_better == pytest.approx(0.5)


@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.2])
def test_what_is_no_better_is_promoted_with_alpha_at_most(alpha: float) -> None:
    rule = stopping(alpha)
    alike = prospect(rule, 0.5).promoted
    assert 0.9 * alpha < alike <= alpha
    chances = [prospect(rule, win).promoted for win in (0.3, 0.4, 0.5, 0.6, 0.8)]
    assert chances == sorted(chances)


def test_the_exact_chance_is_that_of_all_ways_it_may_go() -> None:
    """Of a rule small enough to list every sequence of wins and losses."""
    rule = stopping(ALPHA)
    depth = next(n for n, wins in enumerate(rule.promote) if wins <= n) + 3
    promoted = 0.0
    for ways in product((True, False), repeat=depth):
        record = PairedRecord()
        for won in ways:
            if decide(record, ALPHA, MANY) is not Decision.CONTINUE:
                break
            record = record.add(candidate=won, incumbent=not won)
        if decide(record, ALPHA, MANY) is Decision.PROMOTE:
            promoted += 0.7 ** sum(ways) * 0.3 ** (depth - sum(ways))
    short = Stopping(rule.promote[: depth + 1], rule.keep[: depth + 1])
    assert promoted == pytest.approx(prospect(short, 0.7).promoted)
    assert promoted > 0.05


@given(wins=st.integers(0, 60), losses=st.integers(0, 60), ties=st.integers(0, 60))
@settings(max_examples=100)
def test_a_win_never_speaks_against_it_and_a_tie_not_at_all(
    wins: int, losses: int, ties: int
) -> None:
    order = [Decision.KEEP, Decision.CONTINUE, Decision.PROMOTE]
    if wins + losses >= HORIZON:
        return
    now = decide(PairedRecord(wins, losses, ties), ALPHA, MANY)
    swapped = decide(PairedRecord(wins + 1, max(losses - 1, 0), ties), ALPHA, MANY)
    assert order.index(swapped) >= order.index(now)
    assert decide(PairedRecord(wins, losses, ties + 1), ALPHA, MANY) is now


def test_all_is_decided_at_the_horizon() -> None:
    rule = stopping(ALPHA)
    assert len(rule.promote) == len(rule.keep) == HORIZON + 1
    assert rule.promote[-1] == rule.keep[-1] + 1
    assert all(keep < promote for keep, promote in zip(rule.keep, rule.promote, strict=True))
    assert decide(PairedRecord(wins=5000), ALPHA, MANY) is Decision.PROMOTE
    assert decide(PairedRecord(losses=5000), ALPHA, MANY) is Decision.KEEP
    assert decide(PairedRecord(wins=500, losses=500), ALPHA, MANY) is Decision.KEEP


def test_a_better_candidate_is_promoted_soon_and_a_worse_one_dropped() -> None:
    rng = np.random.default_rng(11)
    better = [run(rng, 0.7, 0.4) for _ in range(150)]
    worse = [run(rng, 0.4, 0.7) for _ in range(50)]
    assert np.mean([decision is Decision.PROMOTE for decision, _ in better]) > 0.9
    assert np.median([pairs for _, pairs in better]) < 40
    assert np.mean([decision is Decision.KEEP for decision, _ in worse]) > 0.95
    assert np.median([pairs for _, pairs in worse]) < 15


def test_pairs_run_out() -> None:
    assert decide(PairedRecord(ties=9), ALPHA, max_pairs=10) is Decision.CONTINUE
    assert decide(PairedRecord(ties=10), ALPHA, max_pairs=10) is Decision.KEEP
    assert decide(PairedRecord(wins=10), ALPHA, max_pairs=10) is Decision.PROMOTE


def test_a_promising_candidate_gets_more_pairs() -> None:
    promising, hopeless = PairedRecord(wins=4, ties=96), PairedRecord(wins=6, losses=5, ties=89)
    assert decide(promising, ALPHA, max_pairs=100) is Decision.CONTINUE
    assert decide(hopeless, ALPHA, max_pairs=100) is Decision.KEEP
    most = PairedRecord(wins=4, ties=100 * EXTENSION - 4)
    assert decide(most, ALPHA, max_pairs=100) is Decision.KEEP


def test_settings_of_the_test_are_checked() -> None:
    for alpha in (0.0, 1.0, 5.0):
        with pytest.raises(UsageError, match="alpha"):
            decide(PairedRecord(), alpha, max_pairs=10)
    with pytest.raises(UsageError, match="max_pairs"):
        decide(PairedRecord(), ALPHA, max_pairs=0)


# Many policies


def outcomes(successes: int, trials: int) -> list[bool | None]:
    return [k < successes for k in range(trials)]


def test_policies_are_ranked_only_as_far_as_it_is_shown() -> None:
    found = better_than(
        {"good": outcomes(90, 100), "as good": outcomes(88, 100), "bad": outcomes(40, 100)}
    )
    assert found == {"good": {"bad"}, "as good": {"bad"}, "bad": set()}
    assert better_than({"alone": outcomes(5, 10)}) == {"alone": set()}


def test_many_policies_need_more_to_be_told_apart() -> None:
    """8 wins to 0 alone are 0.8%; as one of 15 comparisons, that may be chance."""
    two = {"a": outcomes(58, 60), "b": outcomes(50, 60)}
    assert better_than(two)["a"] == {"b"}
    more = {f"{i}": outcomes(54, 60) for i in range(4)}
    assert better_than(two | more)["a"] == set()


def test_seeds_without_a_verdict_do_not_count() -> None:
    unknown: list[bool | None] = [None] * 60
    assert better_than({"a": outcomes(60, 60), "b": unknown}) == {"a": set(), "b": set()}


@pytest.mark.medium
def test_chance_alone_ranks_none_of_ten_alike_as_often_as_it_may() -> None:
    rng = np.random.default_rng(3)
    named = 0
    for _ in range(60):
        alike = {str(i): (rng.random(50) < 0.8).tolist() for i in range(10)}
        named += any(better_than(alike).values())
    assert named <= 6  # 0.05 of 60 is 3; more than 6 has a chance of 3%
