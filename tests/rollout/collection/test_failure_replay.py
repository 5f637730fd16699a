"""Hard cases: what the incumbent fails comes again, as often as asked."""

from __future__ import annotations

from itertools import count, islice

import numpy as np

from enpire.rollout.collection.failure_replay import hard_cases, mixed
from enpire.types import Episode, Outcome, Verdict
from tests.store.samples import episode


def ran(seed: int, outcome: Outcome, policy: str = "mine", number: int = 1) -> Episode:
    named = f"{policy}-{number}-{seed}"
    verdict = Verdict(outcome)
    return episode(named, seed=seed, policy=policy, round=number, verdict=verdict)


FAILED, SOLVED = Outcome.FAILURE, Outcome.SUCCESS


def test_what_failed_and_was_not_solved_since_is_hard() -> None:
    known = [
        ran(1, FAILED),
        ran(2, SOLVED),
        ran(3, FAILED),
        ran(3, SOLVED, number=2),
        ran(4, Outcome.ABORTED),
        ran(5, FAILED, number=2),
    ]
    assert hard_cases(known, "mine", "") == [5, 1]


def test_what_the_parent_failed_counts_until_it_is_tried() -> None:
    known = [
        ran(1, FAILED, "parent"),
        ran(2, FAILED, "parent"),
        ran(3, FAILED, "another"),
        ran(1, SOLVED, number=2),
        ran(4, FAILED, number=2),
    ]
    assert hard_cases(known, "mine", "parent") == [4, 2]


def test_a_set_share_is_hard_and_none_comes_twice() -> None:
    hard = list(range(-100, 0))
    drawn = list(islice(mixed(count(), hard, 0.25, np.random.default_rng(0)), 300))
    again = [seed for seed in drawn if seed < 0]
    assert 50 < len(again) < 100
    assert again == hard[: len(again)]
    fresh = [seed for seed in drawn if seed >= 0]
    assert fresh == list(range(len(fresh))), "no fresh seed is left out"


def test_once_hard_cases_are_out_seeds_are_fresh() -> None:
    drawn = list(islice(mixed(count(), [-1, -2], 1.0, np.random.default_rng(0)), 5))
    assert drawn == [-1, -2, 0, 1, 2]
    assert list(islice(mixed(count(), [-1], 0.0, np.random.default_rng(0)), 3)) == [0, 1, 2]
