"""A policy that sees: its forward pass row by row, its file, and what it refuses."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest
import torch

from enpire.environment import StationBackend
from enpire.environment.core.policy_cameras import PolicyCameras
from enpire.errors import PolicyError, RecipeError
from enpire.improvement.behaviour_cloning import Training, clone
from enpire.improvement.data import seen_examples
from enpire.improvement.recipe import RecipeInputs
from enpire.policies import ChunkSpec, PicturePolicy, PictureSpec, load, metadata, shape_of
from enpire.policies.flow import FlowPolicy
from enpire.policies.picture import Encoder
from enpire.types import Episode
from tests.store.samples import episode

SPEC = PictureSpec(
    task="t",
    observation=5,
    action=3,
    history=2,
    chunk=4,
    execute=2,
    hidden=(16, 16),
    cameras=("front", "side"),
    size=16,
    felt=(1, 4),
    channels=(4, 6),
)


class At:
    """Stations of which only what policies see is known."""

    observation_size = SPEC.observation

    def __init__(self, policy_cameras: PolicyCameras | None) -> None:
        self.policy_cameras = policy_cameras


def policy(seed: int = 0) -> PicturePolicy:
    torch.manual_seed(seed)
    made = PicturePolicy(SPEC).eval()
    with torch.no_grad():
        made.mean.normal_()
        made.std.uniform_(0.5, 2.0)
        made.centre.normal_()
        made.spread.uniform_(0.5, 2.0)
    return made


def shown(rows: int) -> tuple[np.ndarray[Any, Any], ...]:
    rng = np.random.default_rng(1)
    history = rng.standard_normal((rows, 2, 5)).astype(np.float32)
    drawn = rng.standard_normal((rows, 12)).astype(np.float32)
    return history, drawn, rng.integers(0, 256, (rows, 2, 16, 16, 3), dtype=np.uint8)


def filmed(name: str, length: int = 9, side: int = 16) -> Episode:
    rng = np.random.default_rng(len(name))
    rows = np.arange(0, length + 1, 3)
    return episode(
        name,
        length,
        observations=rng.standard_normal((length, 5)).astype(np.float32),
        pictures=rng.integers(0, 256, (len(rows), 2, side, side, 3), dtype=np.uint8),
        pictured=rows,
    )


def test_inference_is_the_forward_pass_of_each_row() -> None:
    made = policy()
    history, drawn, pictures = shown(4)
    with torch.no_grad():
        seen = made.see(torch.from_numpy(history), torch.from_numpy(pictures))
        expected = made.flow(seen[:, None], torch.from_numpy(drawn)).numpy()
    infer = made.inference()
    actions = infer(history, drawn, list(pictures))
    np.testing.assert_allclose(actions, expected, atol=2e-5)
    alone = infer(history[2:3], drawn[2:3], [pictures[2]])
    np.testing.assert_array_equal(alone[0], actions[2])


def test_what_is_not_felt_is_not_seen() -> None:
    made = policy()
    history, drawn, pictures = shown(2)
    before = made.inference()(history, drawn, list(pictures))
    history[..., [0, 2, 3]] = np.nan
    np.testing.assert_array_equal(made.inference()(history, drawn, list(pictures)), before)


def test_an_encoder_says_where_a_thing_is() -> None:
    """A bright spot moves a channel that likes brightness along with it."""
    encoder = Encoder((1, 1))
    with torch.no_grad():
        for layer in encoder.net:
            if isinstance(layer, torch.nn.Conv2d):
                layer.weight.fill_(1.0)
                layer.bias.zero_()  # type: ignore[union-attr]
        found = []
        for row, column in ((2, 2), (2, 13), (13, 2)):
            picture = torch.zeros((1, 3, 16, 16))
            picture[..., row - 1 : row + 2, column - 1 : column + 2] = 1.0
            found.append(encoder(picture)[0])
    (x0, y0), (x1, y1), (x2, y2) = (each.tolist() for each in found)
    assert x1 > x0 + 0.2
    assert abs(y1 - y0) < 0.05
    assert y2 > y0 + 0.2
    assert abs(x2 - x0) < 0.05


def test_a_file_gives_it_back() -> None:
    made = policy()
    again = load(metadata(made), made.tensors())
    assert isinstance(again, PicturePolicy)
    assert again.spec == SPEC
    history, drawn, pictures = shown(2)
    np.testing.assert_array_equal(
        again.inference()(history, drawn, list(pictures)),
        made.inference()(history, drawn, list(pictures)),
    )
    assert shape_of(SPEC.to_json()) == SPEC
    assert shape_of(SPEC.flow.to_json()) == SPEC.flow
    plain = ChunkSpec("t", 5, 3)
    assert shape_of(plain.to_json()) == plain


def test_it_acts_only_where_its_own_pictures_are_taken() -> None:
    made = policy()
    made.controller(cast(StationBackend, At(PolicyCameras(("front", "side"), 16, (1, 4)))))
    with pytest.raises(PolicyError, match="--images 16"):
        made.controller(cast(StationBackend, At(None)))
    with pytest.raises(PolicyError, match="pictures here have 32 px"):
        made.controller(cast(StationBackend, At(PolicyCameras(("front", "side"), 32, (1, 4)))))


def test_it_does_not_act_unseeing() -> None:
    controller = policy().controller(
        cast(StationBackend, At(PolicyCameras(("front", "side"), 16, (1, 4))))
    )
    controller.begin(0, np.random.default_rng(0), 0.0)
    with pytest.raises(PolicyError, match="before it was shown a picture"):
        controller.act(np.array([0]), np.zeros((1, 5), np.float32), cast(Any, None))


def test_each_example_shows_its_own_picture() -> None:
    first, second = filmed("a"), filmed("bb", 7)
    data = seen_examples([first, second], SPEC)
    assert len(data) == 3 + 3  # rows 0, 3, 6 of both; the last picture of `a` is of no action
    pictures = data.shown(torch.arange(len(data)))
    assert pictures is not None
    expected = np.concatenate([first.pictures[:3], second.pictures[:3]])
    np.testing.assert_array_equal(pictures.numpy(), expected)
    rows = data.rows[data.window[:, -1]]
    np.testing.assert_array_equal(rows[1].numpy(), first.observations[3])


def test_episodes_without_pictures_teach_it_nothing() -> None:
    with pytest.raises(RecipeError, match="--images"):
        seen_examples([episode("a", 4, observations=np.zeros((4, 5), np.float32))], SPEC)
    with pytest.raises(RecipeError, match="another shape"):
        seen_examples([filmed("a", side=8)], SPEC)


@pytest.mark.medium
def test_cloning_learns_from_what_is_shown() -> None:
    """Actions follow from the pictures alone: black ones up, white ones down."""
    episodes = []
    for number in range(8):
        bright = number % 2
        one = filmed(f"e{number}")
        actions = np.full((9, 3), 0.5 - bright, np.float32)
        pictures = np.zeros_like(one.pictures)
        pictures[..., :8, :, :] = 255 * bright
        pictures[..., 8:, :, :] = 255 * (1 - bright)
        episodes.append(replace(one, actions=actions, pictures=pictures))
    given = RecipeInputs(SPEC, episodes, None, 0)
    training = Training(steps=300, batch=16, average=0.9, noise=0.0)
    fitted = clone(given, episodes, "chunk", training, usual=1)
    made = fitted.policy
    assert isinstance(made, PicturePolicy)
    infer = made.inference()
    drawn = np.zeros((1, 12), np.float32)
    for one in episodes[:2]:
        said = infer(one.observations[None, :2], drawn, [one.pictures[0]])
        np.testing.assert_allclose(said[0].mean(), one.actions.mean(), atol=0.25)
    few, usual = (
        clone(given, episodes, "chunk", Training(steps, batch=16), usual=5).policy
        for steps in (5, 0)
    )
    for name, values in few.tensors().items():
        np.testing.assert_array_equal(values, usual.tensors()[name])


def test_a_policy_that_flows_is_not_one_that_sees() -> None:
    """Recipes that steer a flow take no policy whose condition they cannot make."""
    assert not isinstance(policy(), FlowPolicy)


def test_a_candidate_looks_as_the_incumbent_does_to_begin_with() -> None:
    episodes = [filmed("a"), filmed("bb")]
    made = policy(seed=3)
    still = Training(steps=1, batch=16, lr=0.0)
    again = clone(RecipeInputs(SPEC, episodes, made, 0), episodes, "chunk", still, usual=9).policy
    new = clone(RecipeInputs(SPEC, episodes, None, 0), episodes, "chunk", still, usual=9).policy
    name = "encoders.0.net.0.weight"
    np.testing.assert_array_equal(again.tensors()[name], made.tensors()[name])
    assert (new.tensors()[name] != made.tensors()[name]).any()
    last = "flow.net.0.weight"
    np.testing.assert_array_equal(again.tensors()[last], new.tensors()[last])
