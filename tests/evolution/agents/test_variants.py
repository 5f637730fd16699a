"""The tuner's own recipes, variants of the built-in ones."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from enpire.errors import RecipeError
from enpire.improvement import recipe_finding as recipes
from enpire.improvement.behaviour_cloning import Training
from enpire.improvement.configured_recipe import require_sound
from enpire.improvement.recipe import Recipe, RecipeInputs
from enpire.packs.finder import shipped
from enpire.policies import ChunkPolicy, ChunkSpec, FlowPolicy, FlowSpec
from enpire.types import Episode, Outcome, Purpose, Verdict
from tests.store.samples import episode

SPEC = ChunkSpec("t", observation=6, action=3, chunk=4, execute=2, hidden=(8,))
VARIANTS = sorted(shipped("agents", "tuner").glob("variants/*.py"))
WON = Verdict(Outcome.SUCCESS)


def variant(name: str, **settings: Any) -> Recipe:
    (path,) = (p for p in VARIANTS if p.stem == name)
    return small(path, **settings)


def small(path: Path, **settings: Any) -> Recipe:
    made: Any = recipes.find(str(path)).recipe
    known = {n: v for n, v in {"passes": 0.0}.items() if hasattr(made, n)}
    return replace(made, training=Training(steps=3, batch=8), **known, **settings)  # type: ignore[no-any-return]


def some() -> list[Episode]:
    """Four demonstrations, then four successes and a failure of a policy; each longer."""
    kinds = [Purpose.DEMONSTRATION] * 4 + [Purpose.COLLECTION] * 4
    made = [
        episode(f"e{k}", 6 + k, purpose=purpose, verdict=WON) for k, purpose in enumerate(kinds)
    ]
    return [*made, episode("lost", 4, purpose=Purpose.COLLECTION, verdict=Verdict(Outcome.FAILURE))]


@pytest.mark.parametrize("path", VARIANTS, ids=lambda path: path.stem)
def test_a_candidate_is_sound_and_the_same_again(path: Path) -> None:
    given = RecipeInputs(SPEC, some(), ChunkPolicy(SPEC).eval(), seed=1)
    one, same = (small(path).improve(given) for _ in range(2))
    require_sound(one.policy, SPEC)
    for name, value in one.policy.tensors().items():
        np.testing.assert_array_equal(value, same.policy.tensors()[name])


@pytest.mark.parametrize("path", VARIANTS, ids=lambda path: path.stem)
def test_nothing_to_learn_from(path: Path) -> None:
    with pytest.raises(RecipeError):
        small(path).improve(RecipeInputs(SPEC, [], ChunkPolicy(SPEC).eval(), seed=1))


def test_the_fastest_successes_are_cloned() -> None:
    made = variant("fast_successes", share=0.25).improve(RecipeInputs(SPEC, some(), None, seed=1))
    assert made.numbers["episodes"] == 2


def test_demonstrations_are_left_out_once_there_are_enough_others() -> None:
    incumbent = FlowPolicy(FlowSpec.of(SPEC)).eval()
    given = RecipeInputs(SPEC, some(), incumbent, seed=1, name="p0")
    assert variant("own_successes", enough=4).improve(given).numbers["episodes"] == 4
    assert variant("own_successes", enough=5, quick=2.0).improve(given).numbers["episodes"] == 8


def test_cloning_goes_on_from_the_incumbent() -> None:
    incumbent = ChunkPolicy(SPEC).eval()
    before = incumbent.tensors()
    after = variant("further_cloning").improve(RecipeInputs(SPEC, some(), incumbent, seed=1))
    moved = [float(np.abs(v - before[n]).max()) for n, v in after.policy.tensors().items()]
    assert 0.0 < max(moved) < 0.1
    with pytest.raises(RecipeError, match="start with another"):
        variant("further_cloning").improve(RecipeInputs(SPEC, some(), None, seed=1))
