"""What LeRobot calls and counts the axes of arms whose joints policies set.

Where a robot's pack says how LeRobot reaches its arms (`drivers.toml`), motors have the names and
units of that: degrees, and a gripper's per cent. Others have names of ours, and radians.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from enpire.drivers.build import settings
from enpire.drivers.lerobot.axes import Axes
from enpire.environment.control.cartesian_control import as_joint_actions, setpoint_ends
from enpire.environment.core.task import Task
from enpire.errors import PackError
from enpire.packs import Robot, find, load_robot, load_world
from enpire.twin import compose
from enpire.types import Float32Array, FloatArray

Floats = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Motors:
    """The axes of joint actions, in their order, as a dataset of LeRobot's has them."""

    keys: tuple[str, ...]  # their names there
    # Ours for one of theirs, of each axis; ours are radians and a gripper's own unit.
    factor: Floats
    offset: Floats  # ours where theirs is 0
    low: Floats  # ours of an action of -1
    high: Floats  # ours of an action of 1

    @classmethod
    def of(cls, task: Task) -> Self | None:
        """Return those of a task whose policies set joints; None for another.

        Raises:
            PackError: the robot's `drivers.toml` names more motors, or fewer, than it has axes.
        """
        layout = task.joint_actions
        if layout is None:
            return None
        robot, world = load_robot(find("robots", task.robot)), load_world(find("sim", task.world))
        scene = compose(world, robot, task.build)
        low, high = setpoint_ends(scene).reshape(2, -1).tolist()
        axes = axes_of(robot)
        if axes is None:
            names = layout.names([arm.name for arm in robot.arms])
            axes = Axes(names, np.ones(layout.size), np.zeros(layout.size))
        if len(axes.keys) != layout.size:
            raise PackError(
                f"robots/{robot.name}: drivers.toml has {len(axes.keys)} motors, and its arms have "
                f"{layout.size} axes"
            )
        factor, offset = tuple(axes.factor.tolist()), tuple(axes.offset.tolist())
        return cls(axes.keys, factor, offset, tuple(low), tuple(high))

    @property
    def axes(self) -> Axes:
        """Names and units alone."""
        return Axes(self.keys, np.array(self.factor), np.array(self.offset))

    def positions(self, ours: Float32Array) -> Float32Array:
        """Return theirs of joints and grippers (..., axes) as a task shows them."""
        theirs: FloatArray = (ours.astype(np.float64) - self.offset) / np.array(self.factor)
        return theirs.astype(np.float32)

    def theirs(self, observations: Float32Array) -> Float32Array:
        """Return observations (..., obs) whose first entries are axes, with these as theirs."""
        axes = len(self.keys)
        seen = self.positions(observations[..., :axes]), observations[..., axes:]
        return np.concatenate(seen, axis=-1)

    def shown(self, theirs: Float32Array) -> Float32Array:
        """Return joints and grippers (..., axes) as a task shows them, of theirs."""
        ours: FloatArray = np.array(self.offset) + np.array(self.factor) * theirs
        return ours.astype(np.float32)

    def told(self, actions: Float32Array) -> Float32Array:
        """Return theirs of joint actions (..., axes)."""
        low, high = np.array(self.low), np.array(self.high)
        ours = low + (high - low) * (0.5 + 0.5 * actions.astype(np.float64))
        theirs: FloatArray = (ours - self.offset) / np.array(self.factor)
        return theirs.astype(np.float32)

    def actions(self, theirs: Float32Array) -> Float32Array:
        """Return joint actions (..., axes), in [-1, 1], of theirs."""
        return self.actions_to(np.array(self.offset) + np.array(self.factor) * theirs)

    @property
    def step(self) -> FloatArray:
        """What one of theirs is of an action, (axes,)."""
        whole: FloatArray = np.abs(2.0 * np.array(self.factor) / np.subtract(self.high, self.low))
        return whole

    def actions_to(self, ours: FloatArray) -> Float32Array:
        """Return joint actions (..., axes), in [-1, 1], that lead to setpoints of ours."""
        return as_joint_actions(ours, np.array(self.low), np.array(self.high))


def axes_of(robot: Robot) -> Axes | None:
    """Read how LeRobot's motors stand for a robot's axes; None if its pack does not say.

    Raises:
        PackError: `drivers.toml` does not parse.
    """
    said = settings("lerobot", robot, None)
    return Axes.read(said.tables("axes")) if said.has("axes") else None
