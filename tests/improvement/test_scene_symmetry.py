"""Moments that are moved; that a moved scene shows the same is for `certification`."""

from __future__ import annotations

import numpy as np
import torch

from enpire.environment import ObservedRotation, Symmetry, load_task, read_symmetry
from enpire.improvement.scene_symmetry import moved, moved_by
from enpire.packs import find


def named(task: str) -> Symmetry:
    symmetry = read_symmetry(load_task(find("tasks", task)))
    assert symmetry is not None
    return symmetry


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
