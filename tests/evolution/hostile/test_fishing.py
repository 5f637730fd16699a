"""Asking again and again for the same: what a lucky comparison comes to, and what it does not."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from enpire.evolution.experiments.selection import level
from enpire.rollout.evaluation.comparison import (
    Decision,
    PairedRecord,
    decide,
    prospect,
    stopping,
)
from enpire.rollout.evaluation.statistics import estimate

pytestmark = pytest.mark.medium

ALPHA, AGENTS, PAIRS = 0.05, 4, 100


@cache
def decided(wins: int, losses: int, ties: int) -> Decision:
    return decide(PairedRecord(wins, losses, ties), level(ALPHA, AGENTS), PAIRS)


def promoted(rate: float, candidate: float, rng: np.random.Generator) -> bool:
    """Whether a candidate is promoted over a policy of `rate`, on independent outcomes."""
    wins = losses = ties = 0
    while (said := decided(wins, losses, ties)) is Decision.CONTINUE:
        ours, theirs = rng.random() < candidate, rng.random() < rate
        wins, losses = wins + (ours and not theirs), losses + (theirs and not ours)
        ties += ours == theirs
    return said is Decision.PROMOTE


@pytest.mark.parametrize("agents", [1, 4, 8])
def test_one_experiment_that_is_no_better_is_kept_by_its_share_of_the_level(agents: int) -> None:
    """Exactly, whatever its rate; the control is one that wins nine of ten."""
    share = level(ALPHA, agents)
    rule = stopping(share)
    assert prospect(rule, 0.5).promoted <= share
    assert prospect(rule, 0.3).promoted < prospect(rule, 0.5).promoted
    assert prospect(rule, 0.9).promoted > 0.9


def test_it_is_by_experiment_and_adds_up_over_those_that_are_asked_for() -> None:
    """So R of them keep one falsely with 1 - (1 - a)^R at most, and that is said in the docs."""
    share = prospect(stopping(level(ALPHA, AGENTS)), 0.5).promoted
    for asked in (1, 4, 20, 100):
        once = 1 - (1 - share) ** asked
        assert once <= level(ALPHA, AGENTS) * asked
    assert 1 - (1 - share) ** AGENTS <= ALPHA  # one each


@pytest.mark.slow
def test_fishing_as_it_is_measured() -> None:
    rng, campaigns, asked = np.random.default_rng(0), 500, 20
    print(f"\n| rate | candidates that are | kept, of {asked * campaigns} | campaigns with one |")
    for rate in (0.5, 0.9):
        for worse in (0.0, 0.05):
            kept = [
                [promoted(rate, rate - worse, rng) for _ in range(asked)] for _ in range(campaigns)
            ]
            total = estimate(sum(map(sum, kept)), asked * campaigns)
            once = estimate(sum(map(any, kept)), campaigns)
            said = f"{worse:g} worse" if worse else "as good"
            print(f"| {rate:g} | {said} | {total} | {once} |")
            assert total.low <= level(ALPHA, AGENTS)
