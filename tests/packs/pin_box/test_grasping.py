"""Where hands take hold of a pin, and where they push one that they cannot take hold of."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from enpire.types import FloatArray

from .samples import module

UP = np.array([0.0, 0.0, 1.0])
Pin = tuple[FloatArray, FloatArray]


def box() -> FloatArray:
    at: FloatArray = module("frames").BOX_AT
    return at


def standing(*holes: int) -> list[Pin]:
    """Pins in their holes."""
    parts = module("parts")
    return [(box() + parts.HOLES[i] - (0.0, 0.0, parts.DEPTH), UP) for i in holes]


def lying(x: float, y: float, yaw: float, height: float) -> Pin:
    """A pin with its middle there, box frame [m], pointing along `yaw` [rad]."""
    axis = np.array([np.cos(yaw), np.sin(yaw), 0.0])
    return box() + np.array([x, y, height + 0.002]) - 0.016 * axis, axis


def in_tray(x: float, y: float, yaw: float) -> Pin:
    return lying(x, y, yaw, module("parts").TRAY)


def on_the_face(x: float, y: float, _: float) -> Pin:
    """One that stands there."""
    return box() + np.array([x, y, 0.0]), UP


@pytest.mark.parametrize(
    ("kind", "place", "seats"),
    [
        (in_tray, (-0.13, 0.05, 0.3), True),
        (in_tray, (-0.13, -0.05, np.pi), False),  # the wrong way round for the arm
        (in_tray, (0.055, 0.02, np.pi / 2), None),
        (in_tray, (0.0, 0.09, 0.0), None),  # along the rim
        (on_the_face, (-0.010, 0.006, 0.0), True),
    ],
)
def test_a_pin_is_taken_hold_of_across_and_clear_of_everything(
    kind: Callable[..., Pin], place: tuple[float, ...], seats: bool | None
) -> None:
    grasping = module("grasping")
    end, axis = kind(*place)
    grasps = grasping.plan(end, axis, standing(0, 1), box(), np.eye(3))
    assert grasps
    best = grasps[0]
    if seats is not None:
        assert best.seats == seats
    obstacles = grasping.obstacles(standing(0, 1), box(), np.eye(3))
    for grasp in grasps:
        opening, approach = grasp.rotation[:, 0], grasp.rotation[:, 2]
        assert abs(opening @ axis) < 1e-9
        gripped = end + grasp.along * axis
        assert np.linalg.norm(np.cross(gripped - grasp.position, approach)) < 1e-9
        hand, frame = grasp.position[None], grasp.rotation[None]
        for gap in (grasping.GAP, 0.002):
            assert grasping.clearance(hand, frame, gap, *obstacles)[0] > grasping.CLEAR
        assert module("reach").reached(grasp.position, grasp.rotation)


def wedged() -> Pin:
    """Along the row of holes, beside the pins that stand there."""
    return lying(-0.003, 0.0042, 0.0, 0.0)


def test_a_pin_beside_others_is_not_taken_hold_of_but_pushed() -> None:
    end, axis = wedged()
    others = standing(0, 1)
    assert not module("grasping").plan(end, axis, others, box(), np.eye(3))
    nudging, grasping = module("nudging"), module("grasping")
    chosen = set()
    for seed in range(5):
        rng = np.random.default_rng(seed)
        nudge = nudging.plan(rng, (end, axis), others, box(), np.eye(3))
        assert np.linalg.norm(nudge.end - nudge.begin) >= nudging.LEAST
        way = np.linspace(nudge.begin, nudge.end - 0.0015 * (nudge.end - nudge.begin), 5)
        clear = grasping.clearance(
            way[:4],
            np.broadcast_to(nudge.rotation, (4, 3, 3)),
            0.0,
            *grasping.obstacles(others, box(), np.eye(3)),
        )
        assert clear.min() > 0.0
        chosen.add(tuple(nudge.begin))
    assert len(chosen) > 1, "what did not help is not done again"


def test_a_pin_out_of_reach_is_left() -> None:
    end, axis = in_tray(0.40, 0.0, 0.0)
    assert not module("grasping").plan(end, axis, standing(0, 1), box(), np.eye(3))
