"""The search: what was tried is known again from the store, and what was better counts."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from enpire.environment import Parameter
from enpire.improvement.search import Fitness, Search, candidate_name
from enpire.types import Episode, FloatArray, Outcome, Purpose, Times, Verdict
from tests.store.samples import episode

PARAMETERS = (Parameter("a", 1.0, 0.0, 10.0), Parameter("b", -1.0, -2.0, 0.0))
BEST = np.array([7.0, -0.5])
CANDIDATES = 10


def result(
    id: str, success: bool = False, score: float = 0.0, time: float = 1.0, **changes: object
) -> Episode:
    outcome = Outcome.SUCCESS if success else Outcome.FAILURE
    given = {"verdict": Verdict(outcome, score=score), "times": Times(1.0, time, 1.0)}
    return episode(id, **given | changes)


def tried(number: int, values: FloatArray, seeds: list[int]) -> list[Episode]:
    """The nearer to the best values, the higher the score."""
    return [
        result(
            f"{number}-{k}-{seed}",
            score=1.0 - 0.5 * float(np.linalg.norm((one - BEST) / (10.0, 2.0))),
            policy=candidate_name(number, k),
            seed=seed,
            round=number,
        )
        for k, one in enumerate(values)
        for seed in seeds
    ]


def search() -> Search:
    return Search(PARAMETERS, CANDIDATES, 0.2)


def test_it_begins_at_the_plain_values_and_within_the_bounds() -> None:
    np.testing.assert_allclose(search().mean, [1.0, -1.0])
    drawn = search().draw([5, 6])
    assert drawn.shape == (CANDIDATES, 2)
    assert (drawn >= (0.0, -2.0)).all()
    assert (drawn <= (10.0, 0.0)).all()
    assert len(np.unique(drawn[:, 0])) == CANDIDATES


def test_a_generation_follows_from_its_seeds_and_those_before() -> None:
    np.testing.assert_array_equal(search().draw([5, 6]), search().draw([6, 5]))
    assert (search().draw([5, 6]) != search().draw([7, 6])).any()
    store: list[Episode] = []
    for number, seeds in enumerate([[5, 6], [8, 9], [11, 12]], start=1):
        drawn = search().follow(store).draw(seeds)
        again = search().follow(store[::-1]).draw(seeds)
        np.testing.assert_array_equal(drawn, again)
        store += tried(number, drawn, seeds)


def test_it_comes_to_what_is_best() -> None:
    store: list[Episode] = []
    off = []
    for number in range(1, 25):
        found = search().follow(store)
        off.append(float(np.linalg.norm((found.mean - BEST) / (10.0, 2.0))))
        assert found.generations == number - 1
        store += tried(number, found.draw([number]), [number])
    assert off[-1] < 0.02 < off[0]


def test_success_counts_first_then_score_then_time() -> None:
    order = [
        [result("a", True, 0.2, 9.0), result("b", True, 0.2, 9.0)],
        [result("a", True, 0.9, 2.0), result("b", False, 0.9, 2.0)],
        [result("a", True, 0.9, 3.0), result("b", False, 0.9, 3.0)],
        [result("a", True, 0.5, 1.0), result("b", False, 0.5, 1.0)],
        [result("a", False, 0.99, 0.1)],
        [episode("a", verdict=Verdict(Outcome.INVALID))],
        [],
    ]
    losses = [Fitness.of(each).loss for each in order]
    assert all(better <= worse for better, worse in pairwise(losses))
    assert len(set(losses)) == len(losses) - 1


def test_only_its_own_episodes_count() -> None:
    strange = [
        result("a", True, policy="policy-0"),
        result("b", True, policy="skill-1.0", purpose=Purpose.EVALUATION),
        result("c", True, policy="skill-1.0x"),
    ]
    found = search().follow(strange)
    assert found.generations == 0
    np.testing.assert_array_equal(found.mean, search().mean)


def test_a_candidate_that_was_not_tried_is_the_worst() -> None:
    drawn = search().draw([5])
    store = tried(1, drawn, [5])
    best = int(np.argmax([e.verdict.score for e in store]))
    with_it, without = (
        search().follow(some).mean for some in (store, store[:best] + store[best + 1 :])
    )
    assert np.linalg.norm(with_it - drawn[best]) < np.linalg.norm(without - drawn[best])
    assert search().follow(store).best.score == pytest.approx(store[best].verdict.score)
