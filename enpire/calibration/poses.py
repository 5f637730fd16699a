"""Poses (4, 4), and where an arm's wrist is."""

from __future__ import annotations

import mujoco
import numpy as np
from scipy.spatial.transform import Rotation

from enpire.packs import Arm, Robot
from enpire.types import FloatArray


def pose(rotation: Rotation, position: FloatArray) -> FloatArray:
    """The pose (4, 4) of a rotation and a position (3,) [m]."""
    result = np.eye(4)
    result[:3, :3], result[:3, 3] = rotation.as_matrix(), position
    return result


def of_vector(vector: FloatArray) -> FloatArray:
    """The pose of a rotation vector and a position, (6,)."""
    return pose(Rotation.from_rotvec(vector[:3]), vector[3:])


def to_vector(matrix: FloatArray) -> FloatArray:
    """The inverse of `of_vector`."""
    return np.concatenate([Rotation.from_matrix(matrix[:3, :3]).as_rotvec(), matrix[:3, 3]])


def inverse(matrix: FloatArray) -> FloatArray:
    """The pose that leads the other way round."""
    result = np.eye(4)
    result[:3, :3] = matrix[:3, :3].T
    result[:3, 3] = -matrix[:3, :3].T @ matrix[:3, 3]
    return result


def wrists(robot: Robot, arm: str, positions: FloatArray) -> FloatArray:
    """world_wrist of an arm, (n, 4, 4), for positions (n, axes) of all arms as a driver reads."""
    names = [each.name for each in robot.arms]
    chosen: Arm = robot.arms[names.index(arm)]
    joints = len(chosen.home)
    first = names.index(arm) * (joints + 1)
    model = mujoco.MjModel.from_xml_path(str(chosen.model))
    data = mujoco.MjData(model)
    addresses = [model.joint(f"joint{i + 1}").qposadr[0] for i in range(joints)]
    world_base = pose(
        Rotation.from_quat(chosen.quaternion, scalar_first=True), np.array(chosen.position)
    )
    found = []
    for position in positions:
        data.qpos[addresses] = position[first : first + joints]
        mujoco.mj_kinematics(model, data)
        site = data.site("wrist")
        turned = Rotation.from_matrix(site.xmat.reshape(3, 3))
        found.append(world_base @ pose(turned, site.xpos))
    return np.array(found)
