"""Advantage-weighted cloning: the gains by hand, and which moments it follows."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from enpire.improvement.behaviour_cloning import Training
from enpire.improvement.recipe import RecipeInputs
from enpire.improvement.recipes.habc import AdvantageWeighted, _clonable, gains, segments
from enpire.policies import ChunkSpec
from enpire.types import Episode, Outcome, Purpose, Verdict
from tests.store.samples import episode


def test_gains_by_hand() -> None:
    """Two episodes, of 3 rows won and 2 rows lost, chunks of 2 periods."""
    chance = torch.tensor([0.5, 0.6, 0.9, 0.5, 0.2])
    left = torch.tensor([4.0, 3.0, 1.0, 5.0, 6.0])
    won = torch.tensor([True, True, True, False, False])
    safer, faster = gains(chance, left, won, torch.tensor([3, 3, 3, 5, 5]), torch.tensor([3, 2]), 2)
    # Row 0 sees row 2; rows 1 and 2 see a success; rows 3 and 4 a failure.
    torch.testing.assert_close(safer, torch.tensor([0.4, 0.4, 0.1, -0.5, -0.2]))
    # Row 0 went from 4 to 1 in 2 periods; row 1 from 3 to 0 in 2; row 2 from 1 to 0 in 1. A failure
    # comes no nearer in the periods that it takes.
    torch.testing.assert_close(faster, torch.tensor([1.0, 1.0, 0.0, -2.0, -1.0]))


def test_a_gate_between_safety_and_haste() -> None:
    recipe = AdvantageWeighted(temperature=1.0, viable=0.5, sharpness=0.01)
    safer, faster = torch.tensor([1.0, -1.0, 1.0, -1.0]), torch.tensor([-1.0, 1.0, -1.0, 1.0])
    chance = torch.tensor([0.1, 0.1, 0.9, 0.9])
    weight = recipe._weight(safer, faster, chance, torch.ones(4, dtype=torch.bool))
    assert weight[0] > 1 > weight[1], "in doubt, the safer counts"
    assert weight[2] < 1 < weight[3], "nearly sure, the faster"
    assert weight.max() <= recipe.most


def test_weights_by_hand() -> None:
    """Gains in units of their spread, weighed by a gate, over a temperature, up to a limit."""
    recipe = AdvantageWeighted(temperature=0.5, viable=0.5, sharpness=0.1, most=5.0)
    safer, faster = torch.tensor([0.2, -0.2, 9.0]), torch.tensor([3.0, -3.0, 9.0])
    chance, own = torch.tensor([0.5, 0.7, 0.5]), torch.tensor([True, True, False])
    weight = recipe._weight(safer, faster, chance, own)
    spread = [math.sqrt(2 * 0.2**2), math.sqrt(2 * 3.0**2)]  # of the policy's own two
    gate = 1 / (1 + math.exp(-2.0))  # of a chance of 0.7
    both = -0.2 / spread[0] * (1 - gate) - 3.0 / spread[1] * gate
    first = 0.5 * 0.2 / spread[0] + 0.5 * 3.0 / spread[1]
    expected = [math.exp(first / 0.5), math.exp(both / 0.5), 5.0]
    torch.testing.assert_close(weight, torch.tensor(expected))


@pytest.mark.medium
def test_it_follows_what_succeeds() -> None:
    """One observation, two actions: up in the episodes that are won, down in those lost."""
    rng = np.random.default_rng(0)
    spec = ChunkSpec("t", observation=2, action=1, chunk=2, execute=2, hidden=(16,))

    def made(name: str, won: bool, shown: bool = False) -> Episode:
        outcome = Verdict(Outcome.SUCCESS if won else Outcome.FAILURE)
        purpose = Purpose.DEMONSTRATION if shown else Purpose.COLLECTION
        base = episode(name, 6, purpose=purpose, verdict=outcome)
        # Where it leads to is seen: the second entry of what is observed later.
        seen = np.stack([np.zeros(6), np.linspace(0, 1 if won else -1, 6)], axis=1)
        seen += 0.05 * rng.standard_normal(seen.shape)
        acted = np.full((6, 1), 0.5 if won else -0.5) + 0.05 * rng.standard_normal((6, 1))
        return replace(base, observations=seen.astype(np.float32), actions=acted.astype(np.float32))

    episodes = [made(f"{won}-{i}", won) for i in range(10) for won in (True, False)]
    recipe = AdvantageWeighted(
        "chunk", Training(steps=600, batch=64, average=0.98), critic_steps=200
    )
    candidate = recipe.improve(
        RecipeInputs(spec, [*episodes, made("shown", True, shown=True)], None, seed=0)
    )
    assert candidate.numbers["weight_won"] > 3 * candidate.numbers["weight_lost"]
    start = np.zeros((1, spec.history, 2), np.float32)
    assert candidate.policy.infer(start).mean() > 0.2, "cloning all alike would give 0"


def test_credit_ends_where_somebody_takes_over() -> None:
    flags = [np.array([0, 0, 1, 1, 0], bool), np.zeros(2, bool)]
    until = segments(flags)
    assert until.tolist() == [1, 1, 3, 3, 5, 7, 7]
    chance = torch.tensor([0.5, 0.4, 0.9, 0.9, 0.9, 0.5, 0.6])
    left, won = torch.zeros(7), torch.tensor([True] * 5 + [False] * 2)
    safer, _ = gains(chance, left, won, until, torch.tensor([5, 2]), chunk=3)
    torch.testing.assert_close(safer, torch.tensor([-0.1, 0.0, 0.0, 0.0, 0.1, -0.5, -0.6]))


def test_neither_the_way_back_nor_help_that_failed_is_cloned() -> None:
    went_back, helped = np.array([0, 1, 0, 0], bool), np.array([0, 1, 1, 0], bool)
    won, lost = (
        replace(episode(name, 4, verdict=Verdict(outcome)), intervened=helped, rewound=went_back)
        for name, outcome in (("w", Outcome.SUCCESS), ("l", Outcome.FAILURE))
    )
    assert _clonable(won).tolist() == [True, False, True, True]
    assert _clonable(lost).tolist() == [True, False, False, True]
    assert _clonable(replace(won, forked=3, variant=1)).tolist() == [False, False, False, True]
