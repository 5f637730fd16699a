from __future__ import annotations

import copy
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
from enpire.improvement.recipe import ConfiguredRecipe, RecipeInputs
from enpire.improvement.recipes.dagger import Dagger, Teacher, relabelled, seen
from enpire.policies import (
    Chooser,
    ChooserSpec,
    FlowPolicy,
    FlowSpec,
    PicturePolicy,
    PictureSpec,
)
from enpire.types import Episode, Outcome, Purpose, Verdict
from tests.improvement.cut import assert_goes_on_when_cut
from tests.improvement.pictured import filmed
from tests.store.samples import episode

SEES = PictureSpec("zip_tie", 6, 3, cameras=("left", "right"), size=64, felt=(0, 1, 2))
FAILURE = Verdict(Outcome.FAILURE)
SHOWN = filmed("shown", 20, 4, purpose=Purpose.DEMONSTRATION)
LOST = filmed("lost", 24, 4, verdict=FAILURE)
TRAINING = Training(steps=4, batch=8)
QUICK = Dagger(TRAINING, TRAINING, critic_steps=4)


def teacher() -> Teacher:
    torch.manual_seed(0)
    spec = ChooserSpec(6, (4, 2, 0), 3, SEES.execute, (0, 1), caution=0.0)
    return Teacher(FlowPolicy(FlowSpec.of(SEES)).eval(), Chooser(spec).eval(), 0)


def alike(chooser: Chooser) -> Chooser:
    """To whose critics all chunks are worth the same, so that the first that is drawn is taken."""
    other = copy.deepcopy(chooser)
    with torch.no_grad():
        other.critics.weights[-1].zero_()
    return other


def given(*episodes: Episode) -> RecipeInputs:
    return RecipeInputs(SEES, episodes, None, 3)


def test_a_policy_that_sees_comes_of_it() -> None:
    made = QUICK.improve(given(SHOWN, LOST))
    assert isinstance(made.policy, PicturePolicy)
    assert made.numbers["asked"] == len(LOST.pictured)


def test_the_teacher_is_asked_about_what_the_policy_did_alone() -> None:
    data, asked = relabelled([SHOWN, LOST], SEES, knows := teacher())
    shown = len(SHOWN.pictured)
    assert asked == len(LOST.pictured)
    np.testing.assert_array_equal(data.actions[1], SHOWN.actions[4:12])
    history = data.rows[data.window[shown:]]
    torch.testing.assert_close(data.actions[shown:], knows.chunks(history))
    assert data.valid[shown:].all(), "the teacher's chunk does not end with the episode"


def test_the_teacher_says_what_its_critics_expect_most_of() -> None:
    knows, history = teacher(), torch.randn(5, 3, 6)
    with torch.no_grad():
        moments = knows.chooser.see(history)
        first, best = (
            replace(knows, chooser=chooser).chunks(history)
            for chooser in (alike(knows.chooser), knows.chooser)
        )
        worth = [knows.chooser.values(moments, each).mean(dim=0) for each in (first, best)]
    assert (worth[1] >= worth[0]).all()
    assert (worth[1] > worth[0]).any()


def test_what_somebody_did_to_help_stays() -> None:
    helping = np.arange(len(LOST)) >= 12
    helped = replace(LOST, intervened=helping)
    data, asked = relabelled([helped], SEES, teacher())
    assert asked == 3
    np.testing.assert_array_equal(data.actions[3], LOST.actions[12:20])


def test_a_demonstration_that_failed_shows_nothing() -> None:
    assert seen([replace(SHOWN, verdict=FAILURE), LOST]) == [LOST]


def test_a_training_that_is_cut_short_goes_on_to_the_same_weights(tmp_path: Path) -> None:
    assert_goes_on_when_cut(QUICK, given(SHOWN, LOST), tmp_path)


def test_without_cameras_there_is_nobody_to_teach() -> None:
    plain = replace(given(episode("e", 20)), spec=FlowSpec.of(SEES))
    with pytest.raises(RecipeError, match="--images 64"):
        QUICK.improve(plain)


@pytest.mark.parametrize(("images", "serves"), [(0, False), (64, True)])
def test_stations_without_cameras_are_refused_before_a_run(images: int, serves: bool) -> None:
    stations = open_stations(Order("pick_cube", images=images), 1)
    with nullcontext() if serves else pytest.raises(UsageError, match="--images 64"):
        ConfiguredRecipe("dagger", Dagger()).require(stations)


def test_without_a_tracker_nobody_can_teach() -> None:
    untold = replace(SHOWN, observations=np.full_like(SHOWN.observations, np.nan))
    with pytest.raises(RecipeError, match="nobody can teach"):
        QUICK.improve(
            given(untold, replace(LOST, observations=untold.observations[:1].repeat(24, 0)))
        )
