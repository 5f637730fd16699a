"""Moments that are moved; that a moved scene shows the same is for `certification`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor

from enpire.environment import (
    ObservedRotation,
    Symmetry,
)
from enpire.improvement.data import examples
from enpire.improvement.displacement import displaced
from enpire.improvement.scene_symmetry import (
    TAKEN_BACK,
    led_further,
    mirrored,
    moved,
    moved_by,
    scales,
)
from enpire.policies import ChunkSpec
from tests.improvement.symmetries import named
from tests.store.samples import episode


def test_actions_turn_with_the_scene_and_heights_and_grippers_stay() -> None:
    actions = torch.zeros(1, 1, 14)
    actions[0, 0, :7] = torch.tensor([0.5, 0.0, 0.3, 0.0, 0.2, 0.1, -1.0])
    actions[0, 0, 7:] = torch.tensor([0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0])
    quarter = torch.tensor([[np.pi / 2]])
    history = torch.zeros(1, 2, 42)
    _, done = moved_by(named("zip_tie"), history, actions, quarter, torch.zeros(3, 1, 1))
    np.testing.assert_allclose(done[0, 0, :7], [0, 0.5, 0.3, -0.2, 0, 0.1, -1], atol=1e-6)
    np.testing.assert_allclose(done[0, 0, 7:], [-1, 0, 0, 0, 0, 0, 1], atol=1e-6)


def test_a_rotation_vector_may_be_turned_beyond_a_half_turn() -> None:
    symmetry = Symmetry(
        np.pi, (0, 0, 0), rotations=(ObservedRotation((0, 1, 2), 0.1, sines=False),)
    )
    seen = torch.tensor([[[0.0, 0.0, 20.0]]])  # 2 rad about the vertical
    turned, _ = moved_by(
        symmetry, seen, torch.zeros(1, 1, 3), torch.tensor([[2.0]]), torch.zeros(3, 1, 1)
    )
    np.testing.assert_allclose(turned[0, 0], [0, 0, 10 * (4.0 - 2 * np.pi)], rtol=1e-5, atol=1e-5)


def test_each_row_is_moved_by_itself_and_no_farther_than_allowed() -> None:
    symmetry = named("pick_cube")
    (point,) = symmetry.points
    history, actions = torch.zeros(500, 2, 16), torch.zeros(500, 3, 7)
    before = history.clone()
    seen, _ = moved(symmetry, history, actions, torch.Generator().manual_seed(0))
    assert torch.equal(history, before)
    places = seen[:, :, list(point.entries)] * point.unit
    assert torch.equal(places[:, 0], places[:, 1])  # both observations of a row
    assert places[..., 2].abs().max() == 0.0
    widest = places[:, 0, :2].abs().max(dim=0).values
    assert (widest <= 0.09 + 1e-6).all()
    assert (widest > 0.08).all()


def test_a_setpoint_further_ahead_is_taken_back_by_the_chunk() -> None:
    symmetry = named("zip_tie")
    history, actions = torch.zeros(2000, 2, 42), torch.zeros(2000, 8, 14)
    seen, done = led_further(symmetry, history, actions, torch.Generator().manual_seed(0))
    further = seen[:, 0, 37:40] * 0.01  # [m]
    assert torch.equal(seen[:, 0], seen[:, 1]), "both observations of a row"
    shown = further.abs().amax(dim=1) > 0.0
    assert 0.45 < shown.float().mean() < 0.55
    np.testing.assert_allclose(further[shown].std(), 0.005, rtol=0.05)
    back = done[:, :, 7:10].cumsum(dim=1) * 0.0024  # [m]
    np.testing.assert_allclose(back[:, 0], -TAKEN_BACK * further, rtol=1e-4, atol=1e-8)
    np.testing.assert_allclose(back[:, -1], -(1 - 0.8**8) * further, rtol=1e-4, atol=1e-8)
    rest = [i for i in range(42) if not 37 <= i < 40]
    assert not seen[..., rest].any(), "nothing else is seen to differ"
    assert not done[..., [*range(7), *range(10, 14)]].any(), "only that hand is moved"


@pytest.mark.parametrize("shown", [led_further, displaced])
def test_what_no_pack_names_stays_as_it_was(shown: Callable[..., tuple[Tensor, Tensor]]) -> None:
    history, actions = torch.ones(3, 1, 16), torch.ones(3, 2, 7)
    generator = torch.Generator().manual_seed(0)
    before = generator.get_state()
    seen, done = shown(named("pick_cube"), history, actions, generator)
    assert torch.equal(seen, history)
    assert torch.equal(done, actions)
    assert torch.equal(generator.get_state(), before), "a run made before draws as it did"


def test_actions_are_mirrored_in_the_plane_of_the_pack() -> None:
    symmetry = named("push_t")
    assert symmetry.mirror is not None
    actions = torch.zeros(1, 1, 7)
    actions[0, 0, :3] = torch.tensor([0.5, 0.0, 0.3])
    _, done = mirrored(symmetry, symmetry.mirror, torch.zeros(1, 1, 25), actions)
    np.testing.assert_allclose(done[0, 0, :3], [0.0, -0.5, 0.3], atol=1e-4)


def test_half_of_the_moments_are_mirrored_each_as_a_whole() -> None:
    symmetry = named("push_t")
    history, actions = torch.ones(1000, 2, 25), torch.ones(1000, 8, 7)
    seen, done = moved(symmetry, history, actions, torch.Generator().manual_seed(0))
    turned = seen[:, 0, 3] < 0.0
    assert 0.45 < turned.float().mean() < 0.55
    assert torch.equal(turned, seen[:, 1, 8] < 0.0)
    assert torch.equal(turned, done[:, 0, 0] < 0.0)
    assert torch.equal(turned, done[:, -1, 5] < 0.0), "it turns about the vertical the other way"


def test_mirrored_twice_is_as_before() -> None:
    symmetry = named("push_t")
    assert symmetry.mirror is not None
    generator = torch.Generator().manual_seed(0)
    history = torch.randn(5, 3, 25, generator=generator)
    actions = torch.randn(5, 8, 7, generator=generator)
    seen, done = history, actions
    for _ in range(2):
        seen, done = mirrored(symmetry, symmetry.mirror, seen, done)
    np.testing.assert_allclose(seen, history, atol=1e-5)
    np.testing.assert_allclose(done, actions, atol=1e-5)


def test_what_nobody_tracked_has_no_scale() -> None:
    """A policy that sees is not shown it, and its weights stay finite."""
    seen = np.random.default_rng(0).standard_normal((6, 3)).astype(np.float32)
    seen[2:, 1] = np.nan
    data = examples([episode("e", 6, observations=seen)], ChunkSpec("t", 3, 3))
    found = scales(data)
    assert (found.mean[1], found.std[1]) == (0.0, 1.0)
    np.testing.assert_array_equal(found.mean[[0, 2]], data.rows.mean(dim=0)[[0, 2]])
