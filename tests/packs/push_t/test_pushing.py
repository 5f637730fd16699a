"""Pushes: where they touch, what they are thought to do, and what they do."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enpire.types import FloatArray

from .modules import module
from .test_geometry import ORIGIN, inside

geometry, pushing = module("geometry"), module("pushing")
LIFTED = -1
FINGER = pushing.Finger(np.array([0.20, 0.0]), np.array([0.0, 1.0]))

tray = st.tuples(st.floats(0.17, 0.22), st.floats(-0.06, 0.06), st.floats(-np.pi, np.pi))


def test_contacts_lie_on_the_outline_and_push_into_the_block() -> None:
    points, normals = pushing.POINTS, pushing.NORMALS
    np.testing.assert_allclose(np.linalg.norm(normals, axis=1), 1)
    assert inside(points + 0.001 * normals, ORIGIN).all()
    assert not inside(points - 0.001 * normals, ORIGIN).any()
    assert set(pushing.FACES) == set(range(8)), "on every face"


def test_fingers_before_a_contact_are_clear_of_the_block() -> None:
    """However the block is turned, corners of the fingers stay outside of it."""
    corners = pushing.FINGER_HALF[::-1] * [(-1, -1), (1, -1), (1, 1), (-1, 1)]  # opening along y
    for yaw in np.linspace(-np.pi, np.pi, 60):
        pose = np.array([0.0, 0.0, yaw])
        normal = geometry.rotate(yaw, pushing.NORMALS)
        at = FINGER.touching(geometry.rotate(yaw, pushing.POINTS), normal)
        at = at - pushing.STANDOFF * normal
        assert not inside((at[:, None] + corners).reshape(-1, 2), pose).any()


def test_a_push_through_the_centroid_does_not_turn_the_block() -> None:
    end = pushing.predict(ORIGIN)
    through = abs(pushing.TORQUE) < 1e-9
    assert through.any()
    np.testing.assert_allclose(end[through, :, 2], 0, atol=1e-9)
    way = np.linalg.norm(end[through][..., :2], axis=-1)
    np.testing.assert_allclose(way, np.broadcast_to(pushing.LENGTHS, way.shape))


def test_a_push_turns_the_block_as_its_lever_says_and_goes_as_far_as_asked() -> None:
    end = pushing.predict(ORIGIN)
    lever = abs(pushing.TORQUE) > 0.005
    assert (np.sign(end[lever, :, 2]) == np.sign(pushing.TORQUE[lever])[:, None]).all()
    touched = pushing.POINTS[:, None] + 0 * end[..., :2]
    moved = end[..., :2] + geometry.rotate(end[..., 2], touched) - touched
    along = (moved * pushing.NORMALS[:, None]).sum(axis=-1)[:, 0]  # the shortest: nearly straight
    np.testing.assert_allclose(along, pushing.LENGTHS[0], rtol=0.08)


@settings(max_examples=30)
@given(tray.map(np.array))
def test_a_chosen_push_stays_in_the_tray_and_counts_down(pose: FloatArray) -> None:
    if geometry.tray_margin(pose) < 0:
        return
    push = pushing.choose(pose, geometry.GOAL, FINGER, LIFTED)
    np.testing.assert_array_equal(push.path[0], pose)
    assert geometry.tray_margin(push.path[-1]) >= 0
    left = [push.remaining(at) for at in push.path]
    assert left[0] > 0
    assert left[-1] == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("goal", [(0.20, 0.0, 0.8), (0.19, 0.05, -2.0), (0.20, -0.05, 3.0)])
def test_pushes_as_predicted_bring_a_block_to_any_goal(goal: tuple[float, ...]) -> None:
    pose, face = np.array([0.19, 0.06, -1.0]), LIFTED
    for _ in range(25):
        push = pushing.choose(pose, np.array(goal), FINGER, face)
        pose, face = push.path[-1], push.face
        if geometry.overlap(pose, goal) > 0.93:
            return
    pytest.fail(f"still {geometry.overlap(pose, goal):.2f} of it covered after 25 pushes")
