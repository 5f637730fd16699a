"""Joint angles for hand poses, by mink, and hand poses for joint angles; on the arms alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import mink
import mujoco
import numpy as np

from enpire.packs import Robot, World
from enpire.twin import compose
from enpire.types import FloatArray

STEP = 0.2  # of the differential solution [s]


class Kinematics:
    """Inverse kinematics of all arms of a robot at once, joint limits kept."""

    def __init__(self, world: World, robot: Robot, iterations: int = 60) -> None:
        """Solve from home at first, later from `warm` starts."""
        scene = compose(world, robot, lambda spec: None)
        self._arms = scene.arms
        self._configuration = mink.Configuration(scene.model)
        self._limits = [mink.ConfigurationLimit(scene.model)]
        self._tasks = [
            mink.FrameTask(f"{arm.name}_grasp", "site", 1.0, 0.1, lm_damping=1e-6)
            for arm in scene.arms
        ]
        self._home = scene.model.qpos0.copy()
        for index, arm in zip(scene.arms, robot.arms, strict=True):
            self._home[index.qpos] = arm.home
        self._iterations = iterations

    def solve(
        self,
        positions: Sequence[FloatArray],
        rotations: Sequence[FloatArray],
        warm: FloatArray | None = None,
    ) -> FloatArray:
        """Joint angles that put every grasp frame at its pose, or as near as limits allow.

        Args:
            positions: per arm (3,), world frame [m].
            rotations: per arm (3, 3), grasp frame to world.
            warm: joint angles to start from, (arms, dof) [rad]; home if None.

        Returns:
            Joint angles (arms, dof) [rad].
        """
        q = self._home.copy()
        if warm is not None:
            for arm, joints in zip(self._arms, warm, strict=True):
                q[arm.qpos] = joints
        self._configuration.update(q)
        for task, position, rotation in zip(self._tasks, positions, rotations, strict=True):
            target = mink.SE3.from_rotation_and_translation(
                mink.SO3.from_matrix(rotation), np.asarray(position)
            )
            task.set_target(target)
        for _ in range(self._iterations):
            error = max(
                float(np.linalg.norm(task.compute_error(self._configuration)))
                for task in self._tasks
            )
            if error < 1e-5:
                break
            velocity = mink.solve_ik(
                self._configuration, self._tasks, STEP, "daqp", damping=1e-6, limits=self._limits
            )
            self._configuration.integrate_inplace(velocity, STEP)
        return np.array([self._configuration.q[arm.qpos] for arm in self._arms])


class Forward:
    """The hands' poses of a robot's arms, by their joint angles alone."""

    def __init__(self, world: World, robot: Robot) -> None:
        """Take the robot as it stands in `world`; what was identified there changes no lengths."""
        scene = compose(replace(world, dynamics=None), robot, lambda spec: None)
        self._arms, self._model = scene.arms, scene.model
        self._data = mujoco.MjData(scene.model)

    def hands(self, joints: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The hands at joint angles (arms, dof) [rad].

        Returns:
            Positions (arms, 3) [m] and rotations (arms, 3, 3), grasp frame to world.
        """
        for arm, angles in zip(self._arms, joints, strict=True):
            self._data.qpos[arm.qpos] = angles
        mujoco.mj_kinematics(self._model, self._data)
        grasps = [arm.grasp for arm in self._arms]
        rotations = self._data.site_xmat[grasps].reshape(-1, 3, 3)
        return self._data.site_xpos[grasps].copy(), rotations.copy()
