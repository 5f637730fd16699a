"""Every recipe that comes with the harness keeps to the contract of `Recipe.improve`."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

from enpire.errors import RecipeError, UsageError
from enpire.improvement import recipe as recipes
from enpire.improvement.recipes.lookahead import Lookahead
from enpire.improvement.trainer import Training
from enpire.policies import ChunkPolicy, ChunkSpec
from enpire.types import Episode, Outcome, Purpose, Verdict
from tests.store.samples import episode

SPEC = ChunkSpec("t", observation=6, action=3, chunk=4, execute=2, hidden=(8,))
WON, LOST = Verdict(Outcome.SUCCESS), Verdict(Outcome.FAILURE)


def small(name: str) -> recipes.Recipe:
    """The recipe with as little training as it allows."""
    made: Any = recipes.find(name)
    cuts = {
        field.name: Training(steps=3, batch=8)
        for field in fields(made)
        if isinstance(getattr(made, field.name), Training)
    }
    cuts |= {field.name: 3 for field in fields(made) if field.name.endswith("steps")}
    return replace(made, **cuts)


def some() -> list[Episode]:
    """Demonstrations and rounds of collection, won and lost, an aborted and an empty one."""
    kinds = [
        (Purpose.DEMONSTRATION, WON),
        (Purpose.DEMONSTRATION, LOST),
        (Purpose.COLLECTION, WON),
        (Purpose.COLLECTION, LOST),
        (Purpose.EVALUATION, WON),
        (Purpose.COLLECTION, Verdict(Outcome.ABORTED)),
    ]
    made = [
        episode(f"e{i}-{n}", 6 + n, purpose=purpose, verdict=verdict, round=int(i > 1))
        for i, (purpose, verdict) in enumerate(kinds)
        for n in range(3)
    ]
    return [*made, episode("empty", 0, verdict=Verdict(Outcome.INVALID))]


@pytest.fixture(params=recipes.names())
def recipe(request: pytest.FixtureRequest) -> recipes.Recipe:
    return small(request.param)


@pytest.mark.parametrize("with_incumbent", [False, True])
def test_a_candidate_fits_and_acts(recipe: recipes.Recipe, with_incumbent: bool) -> None:
    incumbent = ChunkPolicy(SPEC).eval() if with_incumbent else None
    if isinstance(recipe, Lookahead) and incumbent is None:
        with pytest.raises(RecipeError, match="start with another recipe"):
            recipe.improve(SPEC, some(), incumbent, seed=1)
        return
    before = {k: v.copy() for k, v in incumbent.tensors().items()} if incumbent else {}
    candidate = recipe.improve(SPEC, some(), incumbent, seed=1)
    assert candidate.policy.spec == SPEC
    assert not candidate.policy.training
    actions = candidate.policy.infer(np.zeros((2, SPEC.history, SPEC.observation), np.float32))
    assert actions.shape == (2, SPEC.chunk, SPEC.action)
    assert np.isfinite(actions).all()
    assert candidate.numbers
    assert all(np.isfinite(value) for value in candidate.numbers.values())
    for name, value in before.items():
        np.testing.assert_array_equal(incumbent.tensors()[name], value)


def test_the_same_seed_gives_the_same_candidate(recipe: recipes.Recipe) -> None:
    incumbent = ChunkPolicy(SPEC).eval()
    one, same, other = (
        recipe.improve(SPEC, some(), incumbent, seed).policy.tensors() for seed in (1, 1, 2)
    )
    for name, value in one.items():
        np.testing.assert_array_equal(value, same[name])
    assert any((value != other[name]).any() for name, value in one.items())


def test_nothing_to_learn_from(recipe: recipes.Recipe) -> None:
    with pytest.raises(RecipeError):
        recipe.improve(SPEC, [], None, seed=1)


def test_cloning_follows_successful_demonstrations_only() -> None:
    followed = [e for e in some() if e.success and e.purpose is Purpose.DEMONSTRATION]
    one = small("bc").improve(SPEC, some(), None, seed=1)
    same = small("bc").improve(SPEC, followed, None, seed=1)
    assert one.numbers["episodes"] == len(followed) == 3
    for name, value in one.policy.tensors().items():
        np.testing.assert_array_equal(value, same.policy.tensors()[name])


def test_an_unknown_recipe() -> None:
    with pytest.raises(UsageError, match="unknown recipe 'replaybc'; did you mean replay_bc"):
        recipes.find("replaybc")
