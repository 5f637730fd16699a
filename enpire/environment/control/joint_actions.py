"""Actions that say where joints are to be: their layout, and how those that move hands become such.

A policy that was taught on recorded joints, as LeRobot's are, acts so. What moves hands goes on to
work beside it: scripts, people, and who helps a policy. Their setpoints are then the actions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from enpire.environment.control.cartesian_control import CartesianControl
from enpire.environment.control.sensing import Readings
from enpire.twin.twin import Rows
from enpire.types import Float32Array

OF_ARM = 7  # entries of an action that moves hands, for each arm; the gripper's is the last


@dataclass(frozen=True, slots=True)
class JointActions:
    """The layout of an action: per arm where each joint is to be, then the gripper, in [-1, 1].

    -1 and 1 are the ends of a joint's range; a gripper is closed at -1 and open at 1.
    """

    arms: int  # how many there are
    dof: int  # joints of each arm

    @property
    def size(self) -> int:
        """Length of the action vector."""
        return self.arms * (self.dof + 1)

    @property
    def grippers(self) -> tuple[int, ...]:
        """Entries that open and close hands."""
        return tuple(range(self.dof, self.size, self.dof + 1))

    def names(self, arms: Sequence[str]) -> tuple[str, ...]:
        """Return what entries are called, as LeRobot calls motors; arms: the robot's, by name."""
        motors = [*(f"joint{i + 1}" for i in range(self.dof)), "gripper"]
        if self.arms == 1:
            return tuple(f"{motor}.pos" for motor in motors)
        return tuple(f"{arm}_{motor}.pos" for arm in arms for motor in motors)

    def fixed_dims(self, of_hands: Mapping[int, float]) -> dict[int, float]:
        """Return the grippers' part of `Task.fixed_action_dims`, whose actions move hands."""
        hands = {entry // OF_ARM: value for entry, value in of_hands.items() if entry % OF_ARM == 6}
        return {self.grippers[arm]: value for arm, value in hands.items()}


class JointTargets:
    """Makes actions of stations of those that move their hands."""

    def __init__(
        self, control: CartesianControl, layout: JointActions, fixed: Mapping[int, float]
    ) -> None:
        """Take the setpoints of `control`; fixed: entries of actions of hands, and their values."""
        self._control, self._fixed = control, dict(fixed)
        self.size = layout.size  # entries of an action of the stations
        self.grippers = layout.grippers  # those of them that open and close hands

    def of(self, rows: Rows, actions: Float32Array, readings: Readings) -> Float32Array:
        """Return the joint actions (m, size) whose setpoints are those of `actions` of hands.

        Args:
            rows: the stations that act, (m,), in this control period.
            actions: (m, 7 arms), as `ActionSpec` has them.
            readings: of these stations.
        """
        if self._fixed:
            actions = actions.copy()
            for entry, value in self._fixed.items():
                actions[:, entry] = value
        return self._control.joint_actions(rows, actions, readings.wrist_force)


class MovesHands:
    """A controller whose actions move hands, also on stations where a policy's set joints."""

    _targets: JointTargets | None = None

    def connect(self, targets: JointTargets) -> None:
        """Return actions of these stations from now on; an episode is about to begin there."""
        self._targets = targets

    def told(self, rows: Rows, moved: Sequence[Float32Array], readings: Readings) -> Float32Array:
        """Return the stations' actions, (m, act), that move hands by `moved`, each (7 arms,)."""
        actions = np.stack(moved)
        return actions if self._targets is None else self._targets.of(rows, actions, readings)
