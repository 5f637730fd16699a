"""The recipes of reinforcement learning, on a line on which a drunkard has walked."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from enpire.improvement import recipe_finding as recipes
from enpire.improvement.behaviour_cloning import Training
from enpire.improvement.recipe import RecipeInputs, latest
from enpire.improvement.sac import SacSettings
from enpire.types import Episode, Purpose
from tests.improvement.walking import SPEC, idle, walk
from tests.store.samples import episode

FAST = SacSettings(
    steps=300,
    batch=64,
    lr=2e-3,
    discount=0.9,
    width=32,
    members=3,
    polyak=0.95,
    caution=0.0,
    cloning=0.3,
)


@pytest.fixture(scope="module")
def episodes() -> list[Episode]:
    """Half of them from before."""
    walked = [walk(seed) for seed in range(300)]
    return [replace(e, round=0, purpose=Purpose.EVALUATION) if e.seed % 2 else e for e in walked]


@pytest.mark.parametrize("name", ["rlpd", "residual_rl"])
def test_the_candidate_walks_towards_the_goal(name: str, episodes: list[Episode]) -> None:
    recipe: Any = recipes.find(name).recipe
    recipe = replace(recipe, learning=FAST)
    if hasattr(recipe, "training"):
        recipe = replace(recipe, training=Training(steps=200, batch=64))
    candidate = recipe.improve(RecipeInputs(SPEC, episodes, idle(), seed=0))
    right, left = candidate.policy.infer(np.array([[[1.0]], [[-1.0]]], np.float32))[:, 0, 0]
    assert left - right > 0.2


def test_the_latest_round_is_apart() -> None:
    kinds = [
        ("d", Purpose.DEMONSTRATION, 0, 4),
        ("s", Purpose.EVALUATION, 0, 4),
        ("one", Purpose.COLLECTION, 1, 4),
        ("two", Purpose.COLLECTION, 2, 4),
        ("empty", Purpose.COLLECTION, 2, 0),
        ("compared", Purpose.EVALUATION, 2, 4),
    ]
    some = [episode(i, length, purpose=p, round=r) for i, p, r, length in kinds]
    fresh, older = latest(some)
    assert [e.id for e in fresh] == ["two"]
    assert [e.id for e in older] == ["d", "s", "one", "compared"]
    assert latest(some[:2]) == ([], some[:2])
