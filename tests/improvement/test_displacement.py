"""A hand elsewhere, and the way back; that it is observed so is for `certification`."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from enpire.environment import Displacement, Face
from enpire.improvement.displacement import (
    LET_GO,
    PACE,
    back_first,
    displaced,
    held_back,
    out_first,
    seen_elsewhere,
)
from tests.improvement.symmetries import named

CHUNK = 8


def displacement(task: str) -> Displacement:
    said = named(task).displaced
    assert said is not None
    return said


def face() -> Face:
    said = displacement("zip_tie").face
    assert said is not None
    return said


def before_the_face(rows: int) -> torch.Tensor:
    """Observations of `zip_tie` whose tail is 20 mm before the head's middle."""
    history = torch.zeros(rows, 2, 42)
    history[..., 0] = -2.0
    return history


def test_half_of_the_moments_show_the_hand_elsewhere_with_what_it_holds() -> None:
    history = before_the_face(4000)
    actions = torch.zeros(len(history), CHUNK, 14)
    seen, done = displaced(named("zip_tie"), history, actions, torch.Generator().manual_seed(0))
    assert torch.equal(seen[:, 0], seen[:, 1]), "both observations of a row"
    by = seen[:, 0, 19:22] * 0.01  # of the right hand [m]
    shown = by.abs().amax(dim=1) > 0.0
    assert 0.45 < shown.float().mean() < 0.55
    assert 0.0049 < by.abs().max() <= 0.005 + 1e-6
    tip = seen[:, 0, :3] - history[:, 0, :3]  # of the head's axes, x is the world's y, y is -x
    np.testing.assert_allclose(tip * 0.01, by[:, [1, 0, 2]] * torch.tensor([1, -1, 1]), atol=1e-6)
    np.testing.assert_allclose(seen[:, 0, 9][shown], (tip[shown, 2] / 0.15).tanh(), atol=1e-5)
    away = done[:, :, 7:10].sum(dim=1) * 0.0024 + by
    np.testing.assert_allclose(away, 0.0, atol=1e-6)
    rest = [i for i in range(42) if i not in (0, 1, 2, 6, 7, 8, 9, 19, 20, 21)]
    assert torch.equal(seen[..., rest], history[..., rest])


@pytest.mark.parametrize("tip", [0.0, -0.4, -30.0])
def test_a_tail_in_the_head_or_far_away_stays_where_it_is(tip: float) -> None:
    history = before_the_face(50)
    history[:, -1, 0] = tip
    actions = torch.rand(50, CHUNK, 14)
    seen, done = displaced(named("zip_tie"), history, actions, torch.Generator().manual_seed(0))
    assert torch.equal(seen, history)
    assert torch.equal(done, actions)


def test_none_is_shown_where_no_tail_could_be() -> None:
    history = before_the_face(1000)
    history[..., 0] = -0.5  # half a millimetre before the place up to which it may be
    actions = torch.zeros(len(history), CHUNK, 14)
    seen, _ = displaced(named("zip_tie"), history, actions, torch.Generator().manual_seed(0))
    assert seen[..., 0].max() <= -0.45
    assert (seen[..., 0] < -0.5).any()


def test_places_are_seen_along_the_axes_of_an_object_that_is_turned() -> None:
    history = torch.zeros(1, 1, 28)
    history[..., 14] = 0.3 / 0.1  # the box's yaw
    by = torch.tensor([[0.002, 0.001, -0.001]])
    seen = seen_elsewhere(displacement("pin_box"), history, by)[0, 0]
    cos, sin = math.cos(0.3), math.sin(0.3)
    along = [0.002 * cos + 0.001 * sin, 0.001 * cos - 0.002 * sin, -0.001]
    np.testing.assert_allclose(seen[:3] * 0.01, along, atol=1e-7)
    np.testing.assert_allclose(seen[3:6], np.tanh(np.array(along) / 0.0015), atol=1e-5)
    np.testing.assert_allclose(seen[15:18] * 0.01, by[0], atol=1e-7)


def test_the_way_back_comes_first_and_what_was_done_so_much_later() -> None:
    hand = displacement("zip_tie").hand
    actions = torch.rand(3, CHUNK, 14)
    by = torch.tensor([[0.0, 0.0, 0.0], [0.005, 0.0, -0.001], [0.0, 0.001, 0.0]])
    done = back_first(hand, actions, by)
    assert torch.equal(done[0], actions[0])
    for row, periods in ((1, 3), (2, 1)):
        assert torch.equal(done[row, periods:], actions[row, : CHUNK - periods])
        back = done[row, :periods]
        np.testing.assert_allclose(back[:, 7:10].sum(dim=0) * 0.0024, -by[row], atol=1e-7)
        assert back[:, 7:10].abs().max() <= PACE + 1e-6
        assert not back[:, [*range(6), *range(10, 13)]].any(), "nothing else moves"
        assert torch.equal(back[:, [6, 13]], actions[row, :1, [6, 13]].expand(periods, 2))


FORWARD, UP = torch.tensor([0.0, 1.0, 0.0]), torch.tensor([0.0, 0.0, 1.0])
"""The ways into an unturned head, and up from it, in the world."""


@pytest.mark.parametrize(
    ("tip", "by", "out"),
    [
        (-0.006, -0.004 * UP, 0.006),  # at the face and below the slot
        (-0.006, -0.0009 * UP, 0.0),  # in line with it
        (-0.006, 0.004 * FORWARD, 0.0),
        (-0.011, -0.004 * UP, 0.0),  # far enough away to go aside at once
    ],
)
def test_who_stands_at_a_face_goes_out_before_he_goes_aside(
    tip: float, by: torch.Tensor, out: float
) -> None:
    said = displacement("zip_tie")
    history = before_the_face(1)
    history[..., 0] = tip / 0.01
    actions = back_first(said.hand, torch.zeros(1, CHUNK, 14), by[None])
    done = out_first(said.hand, face(), history, actions, by[None])
    way = done[0, :, 7:10].cumsum(dim=0) * 0.0024
    np.testing.assert_allclose(way[-1], -by - out * FORWARD, atol=1e-6)
    if out:
        aside = way[:, 2].abs() > 1e-9
        np.testing.assert_allclose(way[aside, 1], -out, atol=1e-6)


def test_a_hand_that_a_face_holds_back_feels_it_and_lets_go() -> None:
    history, ahead = before_the_face(1), torch.tensor([[0.01]])
    seen, done = held_back(
        displacement("zip_tie").hand, face(), history, torch.zeros(1, CHUNK, 14), ahead
    )
    change = seen[0, 0] - history[0, 0]
    np.testing.assert_allclose(change[37:40] * 0.01, 0.01 * FORWARD, atol=1e-6)
    np.testing.assert_allclose(change[31:34] * 5.0, 2.5 * FORWARD, atol=1e-5)
    np.testing.assert_allclose(change[28:31], -change[31:34])
    assert not change[:28].any()
    np.testing.assert_allclose(done[0, 0, 7:10] * 0.0024, -LET_GO * 0.01 * FORWARD, atol=1e-6)
    assert -0.01 < float(done[0, :, 8].sum() * 0.0024) < -0.009


@pytest.mark.parametrize(("tip", "share"), [(-0.006, 0.5), (-0.02, 0.0), (-0.003, 0.0)])
def test_hands_are_held_back_before_the_face_alone(tip: float, share: float) -> None:
    history = before_the_face(2000)
    history[..., 0] = tip / 0.01
    actions = torch.zeros(len(history), CHUNK, 14)
    seen, _ = displaced(named("zip_tie"), history, actions, torch.Generator().manual_seed(0))
    where = seen[:, -1, 0] * 0.01
    felt = (seen[:, -1, 38] != 0.0)[(where - tip).abs() < 0.002]  # of hands that are near there
    assert felt.float().mean() == pytest.approx(share, abs=0.05)
    ahead = seen[:, -1, 38].max() * 0.01
    assert ahead <= 0.018
    assert (ahead > 0.017) == bool(share)
