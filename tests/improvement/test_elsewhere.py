"""On a GPU: what crosses to it and back, what is computed in bfloat16, and a training there."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from enpire.improvement import behaviour_cloning
from enpire.improvement.behaviour_cloning import Training
from enpire.improvement.checkpoint import Checkpoint
from enpire.improvement.learner import Learner
from enpire.improvement.recipe import Recipe, RecipeInputs
from enpire.improvement.recipes.bc import BehaviourCloning
from enpire.improvement.recipes.dsrl import NoiseLearning
from enpire.improvement.recipes.residual_rl import ResidualLearning
from enpire.improvement.recipes.rlpd import PriorData
from enpire.improvement.sac import SacSettings
from enpire.policies import ChunkSpec, PictureSpec, Policy
from enpire.policies.device import VARIABLE
from enpire.types import Outcome, Purpose, Verdict
from tests.improvement.elsewhere import THERE, elsewhere
from tests.improvement.pictured import filmed
from tests.store.samples import episode

SPEC = ChunkSpec("zip_tie", observation=6, action=3)
SEES = PictureSpec("zip_tie", 6, 3, cameras=("left", "right"), size=64, felt=(0, 1, 2))
TRAINING = Training(steps=3, batch=8)
LEARNING = SacSettings(steps=6, batch=8)
EPISODES = [
    *(episode(f"e{i}", 16 + i, round=i % 3) for i in range(4)),
    episode("bad", 24, verdict=Verdict(Outcome.FAILURE)),
    episode("demo", 24, purpose=Purpose.DEMONSTRATION),
]
GIVEN = RecipeInputs(SPEC, EPISODES, None, 3)
SEEN = [filmed(f"f{i}", 20 + i, 3, purpose=Purpose.DEMONSTRATION) for i in range(2)]
ON_CHUNKS: list[Recipe] = [
    ResidualLearning(LEARNING, TRAINING),
    PriorData(LEARNING),
]
ON_FLOWS: list[Recipe] = [
    NoiseLearning(LEARNING),
    ResidualLearning(LEARNING, TRAINING),
]


def called(recipe: Recipe) -> str:
    return type(recipe).__name__


def alike(one: Policy, other: Policy) -> bool:
    mine, theirs = one.tensors(), other.tensors()
    return all(np.array_equal(mine[name], theirs[name]) for name in mine | theirs)


def crossed(recipe: Recipe, given: RecipeInputs, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is learned on a GPU is there while it is, and comes back the same."""
    here = recipe.improve(given).policy
    losses: list[Tensor] = []
    run = Learner.run

    def noted(learner: Learner, stage: str, steps: int, step: Any, checkpoint: Checkpoint) -> float:
        def one(at: int) -> Tensor:
            losses.append(step(at))
            kept = learner.kept(at).tensors.values()
            assert {values.device.type for values in kept} == {"cpu"}
            return losses[-1]

        return run(learner, stage, steps, one, checkpoint)

    monkeypatch.setattr(Learner, "run", noted)
    with elsewhere(monkeypatch):
        there = recipe.improve(given).policy
        assert {loss.device for loss in losses} == {THERE}
    assert alike(here, there)


@pytest.mark.parametrize("kind", ["chunk", "flow"])
def test_cloning_crosses_at_the_borders(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    late = replace(TRAINING, late=2 if kind == "flow" else 0)
    crossed(BehaviourCloning(kind, late), GIVEN, monkeypatch)


def test_so_does_cloning_by_cameras(monkeypatch: pytest.MonkeyPatch) -> None:
    seeing = BehaviourCloning("chunk", replace(TRAINING, steps=1, shift=2, relight=0.2))
    crossed(seeing, RecipeInputs(SEES, SEEN, None, 3), monkeypatch)


@pytest.mark.parametrize("recipe", ON_CHUNKS, ids=called)
def test_so_does_what_improves_on_chunks(recipe: Recipe, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = BehaviourCloning("chunk", TRAINING).improve(GIVEN).policy
    crossed(recipe, replace(GIVEN, incumbent=begun), monkeypatch)


@pytest.mark.parametrize("recipe", ON_FLOWS, ids=called)
def test_so_does_what_improves_on_flows(recipe: Recipe, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = BehaviourCloning("flow", TRAINING).improve(GIVEN).policy
    crossed(recipe, replace(GIVEN, incumbent=begun), monkeypatch)


def test_what_does_not_cross_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    with elsewhere(monkeypatch):
        (left, right) = torch.ones(2), torch.ones(2).to(THERE)
        with pytest.raises(RuntimeError, match="two devices"):
            left + right


@pytest.mark.parametrize("given", [GIVEN, RecipeInputs(SEES, SEEN, None, 3)], ids=["felt", "seen"])
def test_bfloat16_comes_to_about_the_same(
    given: RecipeInputs, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = BehaviourCloning("flow", Training(steps=20, batch=16, average=0.0))
    single = recipe.improve(given)
    monkeypatch.setattr(
        behaviour_cloning, "mixed", lambda where: torch.autocast("cpu", torch.bfloat16)
    )
    halved = recipe.improve(given)
    assert not alike(single.policy, halved.policy), "it was computed in bfloat16"
    assert halved.numbers["loss"] == pytest.approx(single.numbers["loss"], rel=0.02)
    for name, values in halved.policy.tensors().items():
        assert values.dtype == np.float32
        np.testing.assert_allclose(values, single.policy.tensors()[name], atol=0.05)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
@pytest.mark.parametrize(
    ("recipe", "given"),
    [
        (BehaviourCloning("flow", TRAINING), GIVEN),
        (BehaviourCloning("flow", TRAINING), RecipeInputs(SEES, SEEN, None, 3)),
    ],
)
def test_a_training_on_a_gpu(
    recipe: Recipe, given: RecipeInputs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, "cuda")
    there = recipe.improve(given).policy
    monkeypatch.setenv(VARIABLE, "cpu")
    here = recipe.improve(given).policy
    for name, values in there.tensors().items():
        np.testing.assert_allclose(values, here.tensors()[name], atol=0.05)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
def test_reinforcement_on_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "cuda")
    begun = BehaviourCloning("flow", TRAINING).improve(GIVEN).policy
    made = NoiseLearning(LEARNING).improve(replace(GIVEN, incumbent=begun))
    assert all(np.isfinite(values).all() for values in made.policy.tensors().values())
