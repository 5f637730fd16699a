"""The loop's decisions, simulated: it seldom claims a target that is not there."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.loop_simulation import SimulatedLoop, loop_chance, simulate
from enpire.rollout.evaluation.statistics import estimate
from enpire.rollout.loop.settings import LoopSettings

# As a loop is by default, but for what is looked at before a policy is examined: the less that is,
# the more policies are examined that only seem to be good, and the sooner a simulation is over.
HASTY = LoopSettings.of(task="simulated", start_episodes=60, max_pairs=10)


@pytest.mark.medium
def test_a_loop_of_policies_below_the_target_seldom_says_that_it_is_reached() -> None:
    """The bar: at a true 0.985, a chance of at most 0.1 over all attempts of six rounds.

    As many loops as a test has time for say so within their interval; the sum over attempts, which
    `test_sealed_rule` has exactly, says so for any loop.
    """
    found = loop_chance(HASTY, rate=0.985, runs=60, seed=1)
    assert found.attempts > 2.0, "they are examined again and again"
    assert estimate(found.reached, found.runs).low <= 0.1


def test_a_loop_of_good_policies_says_so() -> None:
    found = loop_chance(HASTY, rate=0.997, runs=15, seed=1)
    assert found.reached >= 14


def test_a_simulated_loop_compares_promotes_and_examines_as_a_loop_does() -> None:
    loop = SimulatedLoop(HASTY, 0.98, 3, np.random.default_rng(3))
    state = loop.run()
    kinds = [note.kind for note in loop.run_store.ledger.decisions()]
    assert sum(kind in ("promoted", "kept") for kind in kinds) == state.round
    assert kinds.count("sealing") == kinds.count("sealed") == state.sealed_attempts
    assert len({episode.id for episode in loop.episodes}) == len(loop.episodes)


@pytest.mark.parametrize("rate", [0.0, 1.0])
def test_policies_that_always_fail_or_succeed(rate: float) -> None:
    settings = HASTY.but(target=0.9, sealed_episodes=10)
    end = simulate(settings, rate, np.random.default_rng(0), rounds=2)
    assert (end.reached, end.attempts, end.sealed) == ((True, 1, 27) if rate else (False, 0, 0))
