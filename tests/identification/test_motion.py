"""Motions keep to a robot's limits, and the search finds more telling ones."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from enpire.errors import UsageError
from enpire.identification.explore import Information, explore
from enpire.identification.motion import draw, motion
from enpire.identification.play import ArmNoise

RATE = 100.0


@pytest.mark.parametrize("seed", range(3))
def test_a_motion_keeps_to_every_limit_and_rests_at_its_ends(scene, seed) -> None:
    made = motion(scene, draw(scene, np.random.default_rng(seed), RATE), 6.0, RATE)
    robot, arm = scene.robot, scene.arms[0]
    joints = made.sent[:, :-1]
    assert (made.sent[0] == [*robot.arms[0].home, robot.arms[0].gripper_range[1]]).all()
    np.testing.assert_allclose(made.sent[-1], made.sent[0], atol=1e-12)
    speed = np.diff(joints, axis=0) * RATE
    acceleration = np.diff(speed, axis=0) * RATE
    assert (abs(speed) <= robot.limits.joint_speed).all()
    assert (abs(acceleration) <= robot.limits.joint_acceleration).all()
    assert abs(speed).max() > 0.1
    low, high = scene.model.jnt_range[arm.joints].T
    assert ((joints > low) & (joints < high)).all()
    data, hands = mujoco.MjData(scene.model), []
    for row in joints:
        data.qpos[arm.qpos] = row
        mujoco.mj_kinematics(scene.model, data)
        hands.append(data.site_xpos[arm.grasp].copy())
    assert (np.min(hands, axis=0) >= robot.limits.workspace_low).all()
    assert (np.max(hands, axis=0) <= robot.limits.workspace_high).all()
    fastest = np.linalg.norm(np.diff(hands, axis=0), axis=1).max() * RATE
    assert fastest <= robot.limits.cartesian_speed


def test_a_motion_needs_time(scene) -> None:
    with pytest.raises(UsageError, match="at least 3 s"):
        motion(scene, draw(scene, np.random.default_rng(0), RATE), 2.0, RATE)


@pytest.mark.medium
def test_the_search_finds_a_more_telling_motion(arms) -> None:
    information = Information(arms, ArmNoise(), RATE)
    found = explore(information, np.random.default_rng(0), 16, 4.0)
    assert found.deviation[-1] < found.deviation[0]
    assert found.deviation[-1] ** 2 == pytest.approx(information.variance(found.waves, 4.0))
    assert len(found.motion.stamps) == 400
