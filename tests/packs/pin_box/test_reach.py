"""The closed form of the arm's inverse kinematics, against the arm itself."""

from __future__ import annotations

import mujoco
import numpy as np

from enpire.environment import build_stations

from .samples import module


def test_joints_are_found_again_from_where_they_put_the_hand() -> None:
    scene = build_stations("pin_box", 1, 1).twin.scene
    data, arm = mujoco.MjData(scene.model), scene.arms[0]
    rng = np.random.default_rng(0)
    low, high = [-0.5, 0.8, 0.3, -1.4, -1.2, -1.8], [0.5, 2.0, 2.0, 1.4, 1.2, 1.8]
    found = 0
    for _ in range(100):
        joints = rng.uniform(low, high)
        data.qpos[arm.qpos] = joints
        mujoco.mj_kinematics(scene.model, data)
        position, frame = data.site_xpos[arm.grasp], data.site_xmat[arm.grasp].reshape(3, 3)
        if position[0] < 0.25:
            continue  # bent back over its base
        found += 1
        np.testing.assert_allclose(module("reach").joints(position, frame), joints, atol=1e-6)
        assert module("reach").reached(position, frame)
    assert found > 50


def test_what_is_too_far_or_too_steep_is_not_reached() -> None:
    rotation, reached = module("frames").hand_rotation, module("reach").reached
    level, down = rotation(0.0), rotation(np.pi / 2)
    assert reached(np.array([0.48, 0.0, 0.21]), level)
    assert not reached(np.array([0.95, 0.0, 0.21]), level)
    assert reached(np.array([0.36, 0.0, 0.16]), down)
    assert not reached(np.array([0.55, 0.0, 0.16]), down)
    turned = np.stack([-level[:, 0], -level[:, 1], level[:, 2]], axis=1)
    assert not reached(np.array([0.48, 0.0, 0.21]), turned), "upside down"


def test_a_hand_that_cannot_point_as_steeply_points_less_steeply() -> None:
    rotation, reach = module("frames").hand_rotation, module("reach")
    down = rotation(np.pi / 2)
    for at in (np.array([0.40, 0.05, 0.27]), np.array([0.52, -0.05, 0.16])):
        assert not reach.reached(at, down)
        eased = reach.eased(at, down)
        assert reach.reached(at, eased)
        np.testing.assert_allclose(eased @ eased.T, np.eye(3), atol=1e-12)
        assert -1.0 < eased[2, 2] < -0.5, "still down"
    low, up = np.array([0.40, 0.0, 0.18]), rotation(-0.6)
    assert not reach.reached(low, up)
    assert reach.reached(low, reach.eased(low, up)), "nor up as steeply"
    near = np.array([0.36, 0.0, 0.16])
    np.testing.assert_array_equal(reach.eased(near, down), down)


def test_a_wrist_at_its_stop_is_bent() -> None:
    reach = module("reach")
    free = np.array([0.0, 1.7, 0.4, 1.3, 0.0, 0.0])
    assert not reach.bent(free)
    assert not reach.stops_near(free)
    for angle in (1.562, -1.562):
        at_stop = np.where(np.arange(6) == 3, angle, free)
        assert reach.bent(at_stop)
        assert reach.stops_near(at_stop)
