from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from enpire.environment import open_stations
from enpire.environment.loading import Order
from enpire.errors import RecipeError, UsageError
from enpire.improvement.behaviour_cloning import Training
from enpire.improvement.configured_recipe import ConfiguredRecipe
from enpire.improvement.recipe import RecipeInputs
from enpire.improvement.recipes.state_estimation import StateEstimation
from enpire.improvement.state_policy import DEVIATION
from enpire.policies import BestOfPolicy, EstimatedPolicy, FlowPolicy, FlowSpec, PictureSpec
from enpire.types import Episode, Outcome, Purpose, Verdict
from tests.improvement.cut import assert_goes_on_when_cut
from tests.improvement.pictured import filmed
from tests.store.samples import episode

SEES = PictureSpec("zip_tie", 6, 3, cameras=("left", "right"), size=16, felt=(0, 1, 2))
FAILURE = Verdict(Outcome.FAILURE)
SHOWN = filmed("shown", 20, 4, 16, purpose=Purpose.DEMONSTRATION)
LOST = filmed("lost", 24, 4, 16, verdict=FAILURE)
TRAINING = Training(steps=4, batch=8)
QUICK = StateEstimation(TRAINING, TRAINING, critic_steps=4)


def given(*episodes: Episode) -> RecipeInputs:
    return RecipeInputs(SEES, episodes, None, 3)


def estimated(policy: object) -> EstimatedPolicy:
    assert isinstance(policy, EstimatedPolicy)
    return policy


def test_demonstrations_alone_give_a_flow_that_acts_by_estimates() -> None:
    made = estimated(QUICK.improve(given(SHOWN)).policy)
    assert isinstance(made.acting, FlowPolicy)
    assert made.acting.spec.history == 1
    assert made.acting.spec.deviation == DEVIATION


def test_critics_choose_once_the_policy_acted_by_itself() -> None:
    first = QUICK.improve(given(SHOWN)).policy
    later = estimated(QUICK.improve(replace(given(SHOWN, LOST), incumbent=first)).policy)
    assert isinstance(later.acting, BestOfPolicy)
    flow = estimated(first).acting.tensors()
    for name, tensor in later.acting.base.tensors().items():
        np.testing.assert_array_equal(tensor, flow[name], "the flow stays as it is")


def test_what_estimates_goes_on_from_what_it_knew() -> None:
    still = replace(QUICK, estimator=replace(TRAINING, lr=0.0))
    first = estimated(QUICK.improve(given(SHOWN)).policy)
    later = still.improve(replace(given(SHOWN, LOST), incumbent=first)).policy
    for name, tensor in estimated(later).estimator.tensors().items():
        np.testing.assert_allclose(tensor, first.estimator.tensors()[name], atol=1e-6)


def lit(id: str, seed: int) -> Episode:
    """One whose pictures show what a tracker says: how bright each channel is."""
    shown = filmed(id, 200, 1, 16, purpose=Purpose.DEMONSTRATION)
    rows = np.random.default_rng(seed).uniform(0, 1, (200, 6)).astype(np.float32)
    pictures = np.zeros_like(shown.pictures)
    for at, (x, y, z) in enumerate(rows[:, 3:]):
        pictures[at, 0, int(15 * x), :, 0] = pictures[at, 0, :, int(15 * y), 1] = 255
        pictures[at, 1, int(15 * z), :, 2] = 255
    return replace(shown, observations=rows, pictures=pictures)


def test_it_learns_what_a_tracker_says_and_is_told_nothing_of_it() -> None:
    recipe = replace(QUICK, estimator=Training(steps=600, batch=32, lr=3e-3, noise=0.0))
    made = estimated(recipe.improve(given(lit("a", 1))).policy).estimator
    new = lit("b", 2)
    rows = torch.from_numpy(new.observations)
    hidden = rows.index_fill(1, torch.tensor(made.told), torch.nan)
    with torch.inference_mode():
        said = made.estimate(hidden, torch.from_numpy(new.pictures))
    torch.testing.assert_close(said[:, :3], rows[:, :3])
    wrong = (said - rows)[:, 3:].square().mean(dim=0).sqrt()
    assert (wrong < 0.4 * rows[:, 3:].std(dim=0)).all(), wrong


def test_a_training_that_is_cut_short_goes_on_to_the_same_weights(tmp_path: Path) -> None:
    assert_goes_on_when_cut(QUICK, given(SHOWN, LOST), tmp_path)


def test_without_cameras_there_is_nothing_to_learn_from() -> None:
    plain = replace(given(episode("e", 20)), spec=FlowSpec.of(SEES))
    with pytest.raises(RecipeError, match="--images 64"):
        QUICK.improve(plain)


def test_where_all_is_felt_there_is_nothing_to_estimate() -> None:
    felt = replace(SEES, felt=tuple(range(6)))
    with pytest.raises(RecipeError, match="nothing of what is observed comes from a tracker"):
        QUICK.improve(replace(given(SHOWN), spec=felt))


@pytest.mark.parametrize(("images", "serves"), [(0, False), (64, True)])
def test_stations_without_cameras_are_refused_before_a_run(images: int, serves: bool) -> None:
    stations = open_stations(Order("pick_cube", images=images), 1)
    with nullcontext() if serves else pytest.raises(UsageError, match="--images 64"):
        ConfiguredRecipe("state_estimation", StateEstimation()).require(stations)


def test_without_a_tracker_there_is_nothing_to_learn() -> None:
    untold = replace(SHOWN, observations=np.full_like(SHOWN.observations, np.nan))
    lost = replace(LOST, observations=untold.observations[:1].repeat(24, 0))
    with pytest.raises(RecipeError, match="no success has what a tracker says"):
        QUICK.improve(given(untold, lost))
