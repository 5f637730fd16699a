"""Recipes over policies of LeRobot's: what is learned beside a base that stays as it is, or in it.

The bases are tiny, with random weights: what is tested is that the loss or the value is followed,
that a training cut short comes to the same weights, and that what cannot be served is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import torch

from enpire.environment import PolicyCameras, StationBackend
from enpire.errors import PolicyError, RecipeError
from enpire.improvement.behaviour_cloning import Training
from enpire.improvement.checkpoint import Checkpoint
from enpire.improvement.configured_recipe import require_sound
from enpire.improvement.frozen_base import Moments
from enpire.improvement.recipe import Recipe, RecipeInputs
from enpire.improvement.recipes.dsrl import NoiseLearning
from enpire.improvement.recipes.finetune import FineTuning
from enpire.improvement.recipes.residual_rl import ResidualLearning
from enpire.improvement.recipes.specialist import Specialist
from enpire.improvement.sac import SacSettings
from enpire.observe import policy_loading
from enpire.policies import (
    Base,
    ChunkPolicy,
    ChunkSpec,
    Composed,
    FlowPolicy,
    FlowSpec,
    LeRobotPolicy,
    PicturePolicy,
    PictureSpec,
    Policy,
    ResidualPolicy,
    SpecialistPolicy,
    SteeredPolicy,
    load,
    metadata,
)
from enpire.types import Episode, Float32Array, Outcome, Verdict
from tests.improvement.pictured import filmed
from tests.policies.lerobots import changed, folder_of
from tests.store.samples import episode

pytestmark = pytest.mark.medium

SPEC = ChunkSpec("zip_tie", observation=6, action=3, hidden=(16,))
QUICK = SacSettings(steps=6, batch=8, width=8, members=2, delay=1)
RECIPES: dict[str, Recipe] = {
    "residual_rl": ResidualLearning(learning=QUICK),
    "dsrl": NoiseLearning(learning=QUICK, trials=12),
    "specialist": Specialist(training=Training(steps=6, batch=8), ages=2),
}


@pytest.fixture(scope="module")
def bases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, LeRobotPolicy]:
    root = tmp_path_factory.mktemp("policies")
    kinds = ["act", "diffusion", "smolvla"]
    return {kind: LeRobotPolicy.read(folder_of(kind, root / kind, 6, 3)) for kind in kinds}


def given(incumbent: Policy | None, **changes: Any) -> RecipeInputs:
    lost = [episode(f"bad{i}", 10, verdict=Verdict(Outcome.FAILURE)) for i in range(2)]
    won = [episode(f"e{i}", 12 + i) for i in range(2)]
    told = RecipeInputs(SPEC, [*won, *lost], incumbent, seed=5, instruction="pick up the cube")
    return replace(told, **changes)


def same(one: Policy, other: Policy) -> bool:
    """To the last bit."""
    ours, theirs = one.tensors(), other.tensors()
    return ours.keys() == theirs.keys() and all(
        np.array_equal(ours[name], theirs[name]) for name in ours
    )


@pytest.mark.parametrize(
    ("name", "kind", "made"),
    [
        ("residual_rl", "act", ResidualPolicy),
        ("residual_rl", "smolvla", ResidualPolicy),
        ("dsrl", "diffusion", SteeredPolicy),
        ("dsrl", "smolvla", SteeredPolicy),
        ("specialist", "diffusion", SpecialistPolicy),
    ],
)
def test_every_recipe_serves_what_it_can(
    name: str, kind: str, made: type, bases: Mapping[str, LeRobotPolicy]
) -> None:
    candidate = RECIPES[name].improve(given(bases[kind]))
    policy = candidate.policy
    assert isinstance(policy, made)
    require_sound(policy, SPEC)
    if isinstance(policy, Composed):
        assert policy.base == bases[kind], "the base stays as it is"
        assert same(load(metadata(policy), policy.tensors()), policy)
        further = RECIPES[name].improve(given(policy)).policy
        assert isinstance(further, made)
        assert further.base == bases[kind], "a later round stands on the same base"
    else:
        assert not same(policy, bases[kind])


@pytest.mark.parametrize("name", ["residual_rl", "dsrl", "specialist"])
def test_cut_short_it_comes_to_the_same(
    name: str, bases: Mapping[str, LeRobotPolicy], tmp_path: Path
) -> None:
    class Interrupted(Checkpoint):
        keeps_left = 5

        @property
        def due(self) -> bool:
            Interrupted.keeps_left -= 1
            if not Interrupted.keeps_left:
                raise KeyboardInterrupt
            return True

    recipe, base = RECIPES[name], bases["diffusion"]
    whole = recipe.improve(given(base)).policy
    with pytest.raises(KeyboardInterrupt):
        recipe.improve(given(base, checkpoint=Interrupted(tmp_path, "it")))
    resumed = recipe.improve(given(base, checkpoint=Checkpoint(tmp_path, "it"))).policy
    assert same(resumed, whole)


def test_a_residual_climbs_what_ends_well() -> None:
    """One chunk is an episode: it is won where it goes up, and the base does not move."""
    spec = FlowSpec("t", 1, 1, history=1, stride=1, chunk=2, execute=2, hidden=(8,))
    base = FlowPolicy(spec).eval()
    rng = np.random.default_rng(0)

    def tried(i: int) -> Episode:
        up = rng.uniform(-1, 1)
        outcome = Outcome.SUCCESS if up > 0 else Outcome.FAILURE
        return episode(
            f"e{i}",
            2,
            verdict=Verdict(outcome),
            observations=np.zeros((2, 1), np.float32),
            actions=np.full((2, 1), up, np.float32),
        )

    learning = SacSettings(steps=120, batch=64, lr=1e-2, width=16, members=2, cloning=0.1)
    made = ResidualLearning(learning=learning, reach=1.0).improve(
        RecipeInputs(ChunkSpec("t", 1, 1), [tried(i) for i in range(60)], base, seed=0)
    )
    assert isinstance(made.policy, ResidualPolicy)
    with torch.no_grad():
        moved = made.policy.head(torch.zeros(1, 1, 1), torch.zeros(1, 2, 1))
    assert moved.mean() > 0.2


def test_a_specialist_corrects_what_its_generalist_says() -> None:
    """The generalist says nothing in particular; what was done is in what the specialist sees."""
    spec = replace(SPEC, observation=1, action=1, chunk=4, execute=4)
    rng = np.random.default_rng(1)

    def shown(i: int) -> Episode:
        places = rng.uniform(-1, 1, (20, 1)).astype(np.float32)
        return episode(f"e{i}", 20, observations=places, actions=-0.5 * places)

    episodes = [shown(i) for i in range(10)]
    recipe = Specialist(training=Training(steps=300, batch=64, average=0.98), pending=2, every=4)
    made = recipe.improve(RecipeInputs(spec, episodes, ChunkPolicy(spec).eval(), seed=0)).policy
    assert isinstance(made, SpecialistPolicy)
    together = made.head.spec
    history = np.array([[[0.0], [0.0], [place]] for place in (-0.8, 0.8)], np.float32)
    said = np.zeros((2, 4, 1), np.float32)
    acted = made.head.policy.infer(together.condition(history, said, np.ones(2)))[:, 0, 0]
    assert acted[0] > 0.2
    assert acted[1] < -0.2


def test_advantages_weigh_lerobots_own_loss(bases: Mapping[str, LeRobotPolicy]) -> None:
    """One moment, two actions: what has all the weight is what is learned."""
    seen = np.zeros((30, 6), np.float32)
    up, down = (
        episode(f"{at}", 30, observations=seen, actions=np.full((30, 3), at, np.float32))
        for at in (0.8, -0.8)
    )
    weight = torch.cat([torch.ones(30), torch.zeros(30)])
    tuning = FineTuning(steps=60, batch=8, lr=3e-3)
    policy, _ = tuning.tuned(bases["act"], [up, down], given(bases["act"]), weight)
    chunk = policy.sampler("").chunks(np.zeros((1, 1, 6), np.float32), [0])
    assert chunk.mean() > 0.5


def test_finetune_distils_into_the_base(bases: Mapping[str, LeRobotPolicy]) -> None:
    together = RECIPES["residual_rl"].improve(given(bases["act"])).policy
    tuning = FineTuning(steps=2, batch=4, lr=1e-3)
    taught = tuning.improve(given(together)).policy
    assert same(taught, tuning.improve(given(bases["act"])).policy)


# Bases that see by cameras

SEES = PictureSpec(
    "zip_tie",
    observation=6,
    action=3,
    chunk=4,
    execute=4,
    hidden=(16,),
    cameras=("front", "side"),
    size=64,
    felt=(1, 4),
    channels=(4, 6),
)


@pytest.fixture(scope="module")
def sighted(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Base]:
    """LeRobot's look through one camera, and take what is felt; ours looks through both."""
    root = tmp_path_factory.mktemp("sighted")

    @cache
    def made(kind: str) -> Base:
        torch.manual_seed(0)
        if kind == "picture":
            return PicturePolicy(SEES).eval()
        return LeRobotPolicy.read(folder_of(kind, root / kind, 2, 3, ("side",)))

    return made


def pictured(incumbent: Policy | None, every: int = 4, **changes: Any) -> RecipeInputs:
    lost = [filmed(f"bad{i}", 10, every, verdict=Verdict(Outcome.FAILURE)) for i in range(2)]
    won = [filmed(f"e{i}", 13 + i, every) for i in range(2)]
    return given(incumbent, **{"spec": SEES, "episodes": [*won, *lost]} | changes)


@pytest.mark.parametrize(
    ("name", "kind", "made"),
    [
        ("residual_rl", "picture", ResidualPolicy),
        ("residual_rl", "act", ResidualPolicy),
        ("dsrl", "picture", SteeredPolicy),
        ("dsrl", "smolvla", SteeredPolicy),
        ("specialist", "picture", SpecialistPolicy),
        ("specialist", "diffusion", SpecialistPolicy),
    ],
)
def test_every_recipe_serves_what_sees(
    name: str, kind: str, made: type, sighted: Callable[[str], Base]
) -> None:
    base = sighted(kind)
    before = {name: values.copy() for name, values in base.tensors().items()}
    told = pictured(base, every=1 if kind == "diffusion" else 4)  # which sees two periods
    policy = RECIPES[name].improve(told).policy
    assert isinstance(policy, made)
    require_sound(policy, SEES)
    assert same(load(metadata(policy), policy.tensors()), policy)
    if isinstance(policy, Composed):
        assert all(np.array_equal(before[n], v) for n, v in policy.base.tensors().items())
        again = RECIPES[name].improve(replace(told, incumbent=policy)).policy
        assert isinstance(again, made), "a later round stands on the same base"
        assert same(again.base, policy.base)
    else:
        assert not same(policy, base)


@pytest.mark.parametrize("name", ["residual_rl", "dsrl", "specialist"])
def test_what_stands_on_it_is_told_no_more_than_it_sees(
    name: str, sighted: Callable[[str], Base]
) -> None:
    """Who acts is the same whatever a tracker says; in `dsrl` and `residual_rl` critics hear it."""
    base = sighted("picture")
    policy = RECIPES[name].improve(pictured(base)).policy
    assert isinstance(policy, Composed)
    stations = cast(StationBackend, At(PolicyCameras(SEES.cameras, SEES.size, SEES.felt)))
    assert policy_loading.images(policy) == SEES.size
    policy_loading.require_fit(policy, stations, name)
    rng = np.random.default_rng(2)
    history = rng.standard_normal((1, 3, 6)).astype(np.float32)
    pictures = rng.integers(0, 256, (1, 2, 64, 64, 3), dtype=np.uint8)

    def acted(history: Float32Array) -> Float32Array:
        controller = policy.controller(stations)
        controller.begin(0, np.random.default_rng(0), 0.0)
        controller.look(0, pictures[0])
        states = [controller._states[0]]
        depth = controller.spec.history
        return controller.chunks(np.repeat(history[:, -1:], depth, axis=1), states)

    blind = history.copy()
    blind[..., [0, 2, 3, 5]] = np.nan
    np.testing.assert_array_equal(acted(history), acted(blind))
    felt = history.copy()
    felt[..., 1] += 1.0
    assert not np.array_equal(acted(history), acted(felt))
    before = acted(history)
    pictures = 255 - pictures
    assert not np.array_equal(acted(history), before)


class At:
    """Stations of which only what policies see is known."""

    observation_size, action_size, name = 6, 3, "zip_tie"

    def __init__(self, policy_cameras: PolicyCameras) -> None:
        self.policy_cameras = policy_cameras


def test_it_is_asked_about_moments_with_pictures(sighted: Callable[[str], Base]) -> None:
    """Periods 0, 4, 8 of both episodes, of which the last chunk ends with the first episode."""
    base = sighted("picture")
    episodes = [filmed("a", 10, 4), filmed("bb", 11, 4)]
    moments = Moments.of(base, episodes, pictured(base))
    (at,) = np.nonzero(moments.known)
    assert at.tolist() == [0, 4, 8, 10, 14, 18]
    said = moments.answers(at, 0, Checkpoint(), "base", np.zeros((6, 4, 3), np.float32))
    asked = moments.asked
    for i, (one, row) in enumerate([(0, 0), (0, 4), (0, 8), (1, 0), (1, 4), (1, 8)]):
        seen = episodes[one].observations[np.maximum(row - np.array([4, 2, 0]), 0)][None]
        shown = episodes[one].pictures[None, None, row // 4]
        alone = asked.chunks(seen, [0], np.zeros((1, 4, 3), np.float32), shown)
        np.testing.assert_allclose(said[i], alone[0], atol=2e-5)
    data, where = moments.transitions(episodes, said, 0.9)
    assert where.tolist() == at.tolist()
    felt, chunk, told = data.history[:, 0].split([3 * 2, 4 * 3, 4], dim=1)
    np.testing.assert_array_equal(felt[1], episodes[0].observations[[0, 2, 4]][:, [1, 4]].ravel())
    np.testing.assert_array_equal(chunk, said.flatten(1))
    np.testing.assert_array_equal(told[4], episodes[1].observations[4, [0, 2, 3, 5]])
    np.testing.assert_array_equal(data.later[0], data.history[1])
    assert (data.discount == 0).tolist() == [False, False, True, False, False, True]


def test_a_chunk_counts_if_what_its_end_shows_is_known(sighted: Callable[[str], Base]) -> None:
    base = sighted("picture")
    one = filmed("a", 10, 3)  # periods 0, 3, 6, 9: none is four periods after another
    moments = Moments.of(base, [one], pictured(base))
    said = torch.zeros(4, 4, 3)
    assert moments.transitions([one], said, 0.9)[1].tolist() == [6, 9]


def test_who_sees_is_told_which_pictures_are_lacking(sighted: Callable[[str], Base]) -> None:
    for name in ("residual_rl", "specialist", "dsrl"):
        with pytest.raises(RecipeError, match="--images 64"):
            RECIPES[name].improve(given(sighted("picture")))
        with pytest.raises(RecipeError, match="no episode has pictures"):
            RECIPES[name].improve(given(sighted("picture"), spec=SEES))
    others = replace(SEES, size=32)
    with pytest.raises(RecipeError, match="pictures here have 32 px"):
        RECIPES["residual_rl"].improve(pictured(sighted("act"), spec=others))
    late = [filmed("a", 12, 4, pictured=np.array([2, 6, 10]))]
    with pytest.raises(RecipeError, match="2 successive periods"):
        RECIPES["residual_rl"].improve(pictured(sighted("diffusion"), episodes=late))


def test_messages_say_what_to_do(bases: Mapping[str, LeRobotPolicy], tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match="makes them of none"):
        RECIPES["dsrl"].improve(given(bases["act"]))
    for name in ("residual_rl", "specialist"):
        with pytest.raises(RecipeError, match=f"{name} stands on a policy of kind .* there is no"):
            RECIPES[name].improve(given(None))
        with pytest.raises(RecipeError, match="leave --images out"):
            RECIPES[name].improve(given(bases["act"], spec=SEES))
    with pytest.raises(RecipeError, match="no episode succeeded"):
        RECIPES["specialist"].improve(given(bases["act"], episodes=[]))
    folder = folder_of("act", tmp_path / "act", 6, 3, n_action_steps=1)
    ensemble = LeRobotPolicy.read(changed(folder, temporal_ensemble_coeff=0.01))
    with pytest.raises(PolicyError, match="temporal_ensemble_coeff to null"):
        RECIPES["residual_rl"].improve(given(ensemble))
