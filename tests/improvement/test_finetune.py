"""Fine-tuning of LeRobot's policies: it learns, resumes, and gives back what LeRobot loads."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load

from enpire.errors import RecipeError
from enpire.improvement.checkpoint import Checkpoint
from enpire.improvement.configured_recipe import require_sound
from enpire.improvement.recipe import RecipeInputs
from enpire.improvement.recipes.finetune import FineTuning, Windows
from enpire.policies import ChunkPolicy, ChunkSpec, LeRobotPolicy, PictureSpec
from enpire.policies.lerobot.folder import WEIGHTS
from enpire.policies.lerobot.model import LeRobotModel
from enpire.types import Outcome, Verdict
from tests.improvement.pictured import filmed
from tests.policies.lerobots import folder_of
from tests.store.samples import episode

SPEC = ChunkSpec("zip_tie", observation=6, action=3)
KINDS = ["act", "diffusion", "smolvla"]


@pytest.fixture(scope="module")
def bases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, LeRobotPolicy]:
    root = tmp_path_factory.mktemp("policies")
    return {kind: LeRobotPolicy.read(folder_of(kind, root / kind, 6, 3)) for kind in KINDS}


def given(base: LeRobotPolicy, **changes: object) -> RecipeInputs:
    bad = replace(episode("bad", 30), verdict=Verdict(Outcome.FAILURE))
    good = [episode(f"e{i}", 12 + i) for i in range(4)]
    told = RecipeInputs(SPEC, [*good, bad], base, seed=5, instruction="pick up the cube")
    return replace(told, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rank", [0, 2])
def test_two_steps(kind: str, rank: int, bases: dict[str, LeRobotPolicy]) -> None:
    made = FineTuning(steps=2, batch=4, lr=1e-3, rank=rank).improve(given(bases[kind]))
    assert made.numbers["episodes"] == 4, "a failure is not imitated"
    policy = made.policy
    assert isinstance(policy, LeRobotPolicy)
    require_sound(policy, SPEC)
    assert policy.spec == bases[kind].spec
    assert policy.files.keys() == bases[kind].files.keys()
    before, after = load(bases[kind].files[WEIGHTS]), load(policy.files[WEIGHTS])
    assert before.keys() == after.keys(), "adapters are merged"
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    assert changed
    if kind == "smolvla":
        assert not any(".vlm.model." in name for name in changed), "the backbone is frozen"
    normalising = [name for name in policy.files if "normalizer" in name]
    assert normalising
    assert all(policy.files[name] == bases[kind].files[name] for name in normalising)
    LeRobotModel.load(policy.files).chunks(
        np.zeros((1, 2, 6), np.float32)[:, -history(policy) :], "", [0]
    )


def history(policy: LeRobotPolicy) -> int:
    return LeRobotModel.load(policy.files).history


@pytest.mark.parametrize("rank", [0, 2])
def test_cut_short_it_comes_to_the_same(
    rank: int, bases: dict[str, LeRobotPolicy], tmp_path: Path
) -> None:
    class Interrupted(Checkpoint):
        keeps_left = 3

        @property
        def due(self) -> bool:
            Interrupted.keeps_left -= 1
            if not Interrupted.keeps_left:
                raise KeyboardInterrupt
            return True

    recipe = FineTuning(steps=6, batch=4, lr=1e-3, rank=rank)
    whole = recipe.improve(given(bases["act"])).policy
    with pytest.raises(KeyboardInterrupt):
        recipe.improve(given(bases["act"], checkpoint=Interrupted(tmp_path, "it")))
    resumed = recipe.improve(given(bases["act"], checkpoint=Checkpoint(tmp_path, "it"))).policy
    assert resumed == whole


@pytest.mark.medium
def test_it_learns_what_was_shown(bases: dict[str, LeRobotPolicy]) -> None:
    """An episode in which each observation has its own action."""
    shown = episode("e", 40)
    action = np.tanh(shown.observations[:, :3]).astype(np.float32)
    action[:] = action[0]
    shown = replace(shown, actions=action)

    def error(policy: LeRobotPolicy) -> float:
        chunks = LeRobotModel.load(policy.files).chunks(shown.observations[:8, None], "", [0] * 8)
        return float(np.abs(chunks[:, :4] - action[0]).mean())

    made = FineTuning(steps=150, batch=16, lr=3e-3).improve(given(bases["act"], episodes=[shown]))
    assert isinstance(made.policy, LeRobotPolicy)
    assert error(made.policy) < 0.3 * error(bases["act"])


def test_windows_are_those_of_lerobots_dataset(
    bases: dict[str, LeRobotPolicy], tmp_path: Path
) -> None:
    from lerobot.datasets.lerobot_dataset import LeRobotDataset

    from enpire.datasets import Layout, export

    names = tuple("abcdef")
    episodes = [episode(f"e{i}", 12 + i) for i in range(2)]
    export(episodes, Layout(25, "do it", "arm", names, names[:3]), tmp_path / "set")
    for kind in ("act", "diffusion"):
        model = LeRobotModel.load(bases[kind].files)
        config = model.config
        deltas = {"action": config.action_delta_indices}
        if config.observation_delta_indices is not None:
            deltas["observation.state"] = config.observation_delta_indices
        ahead = {name: [at / 25 for at in each] for name, each in deltas.items()}
        dataset = LeRobotDataset(
            "set", tmp_path / "set", delta_timestamps=ahead, video_backend="pyav"
        )
        windows = Windows.of(episodes, model, "do it", SPEC)
        batch = windows.batch(torch.arange(len(windows)))
        assert len(windows) == 25 - 2 * int(getattr(config, "drop_n_last_frames", 0))
        for i, at in enumerate(windows.at.tolist()):
            row = dataset[at]
            for name in ("observation.state", "action", "action_is_pad"):
                torch.testing.assert_close(batch[name][i], row[name], rtol=0, atol=0)


# Of policies that see

SEES = PictureSpec("zip_tie", 6, 3, cameras=("front", "side"), size=64, felt=(1, 4))


@pytest.mark.parametrize(("kind", "every"), [("act", 4), ("diffusion", 1)])
def test_who_sees_learns_from_moments_with_pictures(kind: str, every: int, tmp_path: Path) -> None:
    base = LeRobotPolicy.read(folder_of(kind, tmp_path / kind, 2, 3, ("side",)))
    model = LeRobotModel.load(base.files)
    shown = [filmed("a", 12, every), filmed("b", 15, every)]
    windows = Windows.of(shown, model, "do it", SEES)
    assert set(windows.at.tolist()) <= {*range(0, 12, every), *range(12, 27, every)}
    batch = windows.batch(torch.arange(len(windows)))
    for i, at in enumerate(windows.at.tolist()):
        first, of = (0, shown[0]) if at < 12 else (12, shown[1])
        rows = [max(at + back, first) - first for back in windows.seen.tolist()]
        pictures = batch["observation.images.side"][i].reshape(len(rows), 3, 64, 64)
        expected = np.stack([of.pictures[row // every, 1] for row in rows])
        found = (255 * pictures).round().byte().permute(0, 2, 3, 1).numpy()
        np.testing.assert_array_equal(found, expected)
        state = batch["observation.state"][i].reshape(len(rows), 2)
        np.testing.assert_array_equal(state, of.observations[rows][:, [1, 4]])
    told = given(base, spec=SEES, episodes=shown)
    made = FineTuning(steps=2, batch=2, lr=1e-3).improve(told)
    assert isinstance(made.policy, LeRobotPolicy)
    assert made.policy.spec == base.spec
    assert made.policy.files != base.files
    require_sound(made.policy, SEES)


def test_who_sees_says_which_pictures_it_lacks(tmp_path: Path) -> None:
    base = LeRobotPolicy.read(folder_of("diffusion", tmp_path / "d", 2, 3, ("side",)))
    recipe = FineTuning(steps=1)
    with pytest.raises(RecipeError, match="--images"):
        recipe.improve(given(base))
    with pytest.raises(RecipeError, match="no episode has pictures"):
        recipe.improve(given(base, spec=SEES))
    sparse = replace(filmed("a", 12, 4), pictured=np.array([2, 6, 10]))
    with pytest.raises(RecipeError, match="pictures of 2 successive periods"):
        recipe.improve(given(base, spec=SEES, episodes=[sparse]))


def test_messages_say_what_to_do(bases: dict[str, LeRobotPolicy]) -> None:
    with pytest.raises(RecipeError, match="--policy DIR"):
        FineTuning().improve(given(bases["act"], incumbent=ChunkPolicy(SPEC)))
    with pytest.raises(RecipeError, match="no moment of any success"):
        FineTuning().improve(given(bases["act"], episodes=[]))
    with pytest.raises(RecipeError, match="no adapters at 'nowhere'"):
        FineTuning(rank=2, targets="nowhere").improve(given(bases["act"]))
