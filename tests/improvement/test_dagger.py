"""A learned teacher for policies of LeRobot's: what it says is what they learn."""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from enpire.errors import RecipeError
from enpire.improvement.behaviour_cloning import Training
from enpire.improvement.configured_recipe import require_sound
from enpire.improvement.recipe import RecipeInputs
from enpire.improvement.recipes.dagger import Dagger
from enpire.improvement.recipes.finetune import FineTuning, Windows
from enpire.improvement.state_policy import (
    best_chunks,
    choose_by_critics,
    clone_state_flow,
    state_inputs,
)
from enpire.policies import ChunkPolicy, ChunkSpec, LeRobotPolicy
from enpire.policies.lerobot.model import LeRobotModel
from enpire.types import Outcome, Verdict
from tests.improvement.cut import assert_goes_on_when_cut
from tests.policies.lerobots import folder_of
from tests.store.samples import episode

SPEC = ChunkSpec("zip_tie", observation=6, action=3, execute=4)
WON = [episode(f"e{i}", 16 + i) for i in range(3)]
LOST = replace(episode("lost", 24), verdict=Verdict(Outcome.FAILURE))
TRAINING = Training(steps=4, batch=8)
QUICK = Dagger(FineTuning(steps=2, batch=4, lr=1e-3), TRAINING, critic_steps=4)


@pytest.fixture(scope="module")
def act(tmp_path_factory: pytest.TempPathFactory) -> LeRobotPolicy:
    return LeRobotPolicy.read(folder_of("act", tmp_path_factory.mktemp("act") / "act", 6, 3))


@pytest.fixture(scope="module")
def diffusion(tmp_path_factory: pytest.TempPathFactory) -> LeRobotPolicy:
    root = tmp_path_factory.mktemp("diffusion")
    return LeRobotPolicy.read(folder_of("diffusion", root / "diffusion", 6, 3))


def given(base: LeRobotPolicy | ChunkPolicy, **changes: object) -> RecipeInputs:
    inputs = RecipeInputs(SPEC, [*WON, LOST], base, seed=5, instruction="pick up the cube")
    return replace(inputs, **changes)  # type: ignore[arg-type]


def test_a_policy_of_the_same_kind_comes_of_all_episodes(act: LeRobotPolicy) -> None:
    made = QUICK.improve(given(act))
    assert made.numbers["episodes"] == 4, "what failed is taught, too"
    assert isinstance(made.policy, LeRobotPolicy)
    require_sound(made.policy, SPEC)
    assert made.policy.spec == act.spec


@pytest.mark.parametrize(("looks_again", "carried_out"), [(True, 2), (False, 4)])
def test_it_looks_again_as_often_as_its_teacher(
    act: LeRobotPolicy, looks_again: bool, carried_out: int
) -> None:
    assert act.model().execute == 4
    often = given(act, spec=replace(SPEC, execute=2))
    made = replace(QUICK, look_again=looks_again).improve(often).policy
    assert isinstance(made, LeRobotPolicy)
    assert made.model().execute == carried_out


def test_the_best_of_a_teachers_chunks_is_what_its_critics_expect_most_of() -> None:
    inputs = state_inputs(given(ChunkPolicy(SPEC)), [*WON, LOST])
    teacher = choose_by_critics(
        replace(inputs, incumbent=clone_state_flow(inputs, WON, TRAINING)), 4
    )
    teacher.head.spec = replace(teacher.head.spec, caution=0.0)
    blind = copy.deepcopy(teacher)  # all chunks are alike to it, so the first that is drawn is best
    rows = torch.from_numpy(LOST.observations)
    with torch.no_grad():
        blind.head.critics.weights[-1].zero_()
        moments = teacher.head.see(rows[:, None])
        first, best = (
            teacher.head.values(moments, best_chunks(each, rows, 0)[:, : SPEC.execute]).mean(dim=0)
            for each in (blind, teacher)
        )
    assert (best >= first).all()
    assert (best > first).any()


@pytest.mark.parametrize("kind", ["act", "diffusion"])
def test_what_is_taught_is_predicted_from_each_moment_on(
    kind: str, request: pytest.FixtureRequest
) -> None:
    model = LeRobotModel.load(request.getfixturevalue(kind).files)
    rows = sum(map(len, WON))
    taught = torch.arange(float(rows))[:, None, None] + torch.zeros(rows, 3, 3)
    windows = replace(Windows.of(WON, model, "go", SPEC, anywhere=True), taught=taught)
    assert len(windows) == rows
    batch = windows.batch(torch.tensor([2, 20]))
    ahead = torch.tensor(model.config.action_delta_indices) >= 0
    said = batch["action"][:, ahead]
    np.testing.assert_array_equal(said[0], 2.0)
    np.testing.assert_array_equal(said[1], 20.0)
    assert not batch["action_is_pad"][:, ahead][:, :3].any()
    assert batch["action_is_pad"][:, ahead][:, 3:].all(), "beyond what was taught"
    plain = Windows.of(WON, model, "go", SPEC).batch(torch.tensor([2]))
    past = batch["action"][:1, ~ahead]
    torch.testing.assert_close(past, plain["action"][:, ~ahead], msg="what was done before stays")


def test_a_teacher_is_asked_about_no_more_moments_than_training_has_use_for(
    act: LeRobotPolicy,
) -> None:
    asked: list[Tensor] = []

    def teacher(at: Tensor) -> Tensor:
        asked.append(at)
        return torch.zeros(len(at), 3, 3)

    tuning = FineTuning(steps=4, batch=8, lr=1e-3)
    tuning.teach(act.model(), WON, given(act), teacher=teacher)
    (at,) = asked
    assert sum(map(len, WON)) > len(at) == 4 * 8 // 2
    assert len(at.unique()) == len(at)


def test_a_training_that_is_cut_short_goes_on_to_the_same_weights(
    act: LeRobotPolicy, tmp_path: Path
) -> None:
    assert_goes_on_when_cut(QUICK, given(act), tmp_path)


def test_another_kind_of_policy_is_refused() -> None:
    with pytest.raises(RecipeError, match="begin with --policy DIR"):
        QUICK.improve(given(ChunkPolicy(SPEC)))


def test_joint_actions_are_refused(act: LeRobotPolicy) -> None:
    joints = replace(SPEC, task="pick_cube@joints")
    with pytest.raises(RecipeError, match="--recipe finetune"):
        QUICK.improve(given(act, spec=joints))


def test_without_a_success_nobody_can_teach(act: LeRobotPolicy) -> None:
    with pytest.raises(RecipeError, match="nobody can teach"):
        QUICK.improve(given(act, episodes=[LOST]))
