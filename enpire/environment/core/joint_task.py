"""A task as it is where policies say where joints are to be, and see where they are."""

from __future__ import annotations

import numpy as np

from enpire.environment.control.joint_actions import JointActions
from enpire.environment.control.sensing import Readings
from enpire.environment.core.task import Task
from enpire.packs import Robot
from enpire.types import Float32Array


def with_joint_actions(task: type[Task], robot: Robot) -> type[Task]:
    """Return the task with joint actions, and with joint positions before what it observes.

    All else is as in `task`: scene, resets, verifier, demonstrator.

    Args:
        task: Whose policies move the hands of `robot`.
        robot: The task's.
    """
    layout = JointActions(len(robot.arms), len(robot.arms[0].home))
    names = layout.names([arm.name for arm in robot.arms])

    def observe(self: Task, readings: Readings) -> Float32Array:
        """See `Task.observe`; joints come first [rad], and grippers in their own unit."""
        joints = readings.axes.astype(np.float32)
        return np.concatenate([joints, task.observe(self, readings)], axis=1)

    own = {
        "__doc__": f"{task.__name__}, with joint actions.",
        "__module__": task.__module__,
        "joint_actions": layout,
        "observation_names": (*names, *task.observation_names),
        "observe": observe,
    }
    return type(f"{task.__name__}ByJoints", (task,), own)
