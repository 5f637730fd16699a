"""Allocation: where outcomes are in doubt, and nowhere too often."""

from __future__ import annotations

from collections import Counter
from itertools import count, islice

import numpy as np
import pytest

from enpire.rollout.collection.allocation import (
    CANDIDATES,
    LEAST,
    ConditionSplit,
    ConditionStratum,
    allocated,
    grow,
    strata,
    stratum_of,
)
from enpire.types import FloatArray, Outcome, Verdict
from tests.store.samples import episode

NEVER, MIXED, ALWAYS = (
    ConditionStratum(0, 200),
    ConditionStratum(100, 100),
    ConditionStratum(200, 0),
)
THREE = ConditionSplit(0, 1.0, NEVER, ConditionSplit(0, 2.0, MIXED, ALWAYS))


def third(seed: int) -> FloatArray:
    """Initial conditions of which one third each is in each stratum of `THREE`."""
    return np.array([seed % 3 + 0.5])


def chosen(tree: ConditionSplit | ConditionStratum, seed: int = 0, number: int = 600) -> list[int]:
    return list(islice(allocated(count(), third, tree, np.random.default_rng(seed)), number))


def test_the_stratum_with_mixed_outcomes_is_preferred() -> None:
    counts = Counter(seed % 3 for seed in chosen(THREE))
    assert counts[1] == 600, "every four consecutive seeds hold one of each"


def test_a_stratum_that_nobody_knows_is_tried() -> None:
    unknown = ConditionSplit(
        0, 1.0, ConditionStratum(0, 0), ConditionSplit(0, 2.0, ConditionStratum(30, 170), ALWAYS)
    )
    counts = Counter(seed % 3 for seed in chosen(unknown))
    assert counts[0] > 200
    assert counts[1] > 100
    assert counts[2] == 0


def test_where_all_is_alike_seeds_are_taken_as_they_come() -> None:
    assert chosen(MIXED, number=5) == [0, CANDIDATES, 2 * CANDIDATES, 12, 16]


def test_the_same_generator_chooses_the_same_seeds() -> None:
    tree = ConditionSplit(
        0,
        1.0,
        ConditionStratum(5, 5),
        ConditionSplit(0, 2.0, ConditionStratum(4, 6), ConditionStratum(6, 4)),
    )
    assert chosen(tree, 3) == chosen(tree, 3)
    assert chosen(tree, 3) != chosen(tree, 4)


def test_strata_part_where_outcomes_do() -> None:
    rng = np.random.default_rng(0)
    initial = rng.uniform(size=(300, 6))
    won = rng.random(300) < np.where(initial[:, 4] < 0.3, 0.1, 0.9)
    tree = grow(initial, won, np.ones(300))
    assert isinstance(tree, ConditionSplit)
    assert tree.entry == 4
    assert tree.threshold == pytest.approx(0.3, abs=0.05)
    hard, easy = (stratum_of(tree, np.full(6, x)) for x in (0.1, 0.9))
    assert hard.successes < 0.3 * hard.failures
    assert easy.failures < 0.3 * easy.successes


def test_where_outcomes_hang_on_nothing_there_is_one_stratum() -> None:
    rng = np.random.default_rng(2)
    drawn = [(rng.uniform(size=(300, 10)), rng.random(300) < 0.6) for _ in range(20)]
    parted = [
        isinstance(grow(initial, won, np.ones(300)), ConditionSplit) for initial, won in drawn
    ]
    assert sum(parted) <= 2


def test_no_stratum_is_smaller_than_can_be_judged() -> None:
    rng = np.random.default_rng(1)
    initial = rng.uniform(size=(100, 3))
    tree = grow(initial, initial[:, 0] < 0.1, np.ones(100))
    assert isinstance(tree, ConditionSplit)
    held = [tree]
    while held:
        one = held.pop()
        if isinstance(one, ConditionSplit):
            held += [one.below, one.above]
        else:
            assert one.successes + one.failures >= LEAST


def test_what_counts_is_the_policy_and_half_as_much_its_parent() -> None:
    def run(policy: str, outcome: Outcome) -> object:
        return episode(policy, policy=policy, verdict=Verdict(outcome))

    known = [
        run("mine", Outcome.SUCCESS),
        run("its parent", Outcome.FAILURE),
        run("another", Outcome.SUCCESS),
        run("mine", Outcome.ABORTED),
    ]
    assert strata(known, third, "mine", "its parent") == ConditionStratum(1.0, 0.5)  # type: ignore[arg-type]
    assert strata([], third, "mine", "") == ConditionStratum(0.0, 0.0)
