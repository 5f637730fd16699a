"""Cartesian actions in, joint setpoints out, for all stations at once; or joint actions in.

An action moves each hand's setpoint by a small translation and rotation (a twist over one control
period) and sets its gripper. Damped least squares turns the twist into joint increments (Nakamura
and Hanafusa 1986; Wampler 1986); increments add to the last setpoint, not to the measured joints,
so that a hand held back by contact pushes as far as the position controller is soft. mink solves
the same problem more generally one arm at a time (resets use it); this is the batched special case
that a control period of many stations needs.

A joint action says where joints are to be (`JointActions`); setpoints go there within the same
limits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from enpire.environment.control import kernels
from enpire.twin import Scene, Twin
from enpire.twin.twin import Rows
from enpire.types import Float32Array, FloatArray

CALM = 0.5  # share of its speed limits at which an arm goes to a posture


@dataclass(frozen=True, slots=True)
class ArmAction:
    """What a full action (1.0) does to one arm in one control period.

    translation [m] and rotation [rad], in the world frame. Axes with scale 0 are held. No action
    takes the hand out of the box from low to high, world frame [m], nor out of its robot's.
    """

    translation: tuple[float, float, float]
    rotation: tuple[float, float, float]
    low: tuple[float, float, float] = (-np.inf,) * 3
    high: tuple[float, float, float] = (np.inf,) * 3


@dataclass(frozen=True, slots=True)
class ActionSpec:
    """The layout of an action vector: per arm dx dy dz rx ry rz gripper, all in [-1, 1].

    gripper: -1 is closed, 1 open. lead: no action takes a setpoint further than this ahead of its
    joint [rad]. push: a hand that feels half of this force slows down against it, stands still at
    the whole of it, and yields beyond [N].
    """

    arms: tuple[ArmAction, ...]
    lead: float = 0.12
    push: float = 15.0

    @property
    def size(self) -> int:
        """Length of the action vector."""
        return 7 * len(self.arms)

    @property
    def grippers(self) -> tuple[int, ...]:
        """Entries that open and close hands."""
        return tuple(range(6, self.size, 7))

    @property
    def scale(self) -> FloatArray:
        """Physical size of a full twist, shape (arms, 6)."""
        return np.array([(*arm.translation, *arm.rotation) for arm in self.arms], np.float64)


class CartesianControl:
    """Joint and gripper setpoints of n stations, moved by actions."""

    def __init__(
        self,
        twin: Twin,
        spec: ActionSpec,
        period: float,
        reset: ActionSpec | None = None,
        stretch: float = math.inf,
    ) -> None:
        """Control `twin` at one action every `period` seconds.

        Args:
            twin: the stations.
            spec: of actions.
            period: of control [s].
            reset: for the skills of resets.
            stretch: that a reset takes a hand's setpoint ahead of the hand, at most [m].
        """
        self.twin = twin
        self.spec = spec
        self.period = period
        self.arms = twin.scene.arms
        robot = twin.scene.robot
        dof = len(robot.arms[0].home)
        self.command = np.zeros((twin.stations, len(self.arms), dof + 1))
        self.setpoints: FloatArray = self.command[:, :, :dof]
        self.gripper: FloatArray = self.command[:, :, dof]
        self.ends = setpoint_ends(twin.scene)
        self._range = self.ends[:, :, :dof].copy()
        self._step = np.array(robot.limits.joint_speed) * period
        self._qpos = np.array([arm.qpos for arm in self.arms])
        self._joints = np.array([arm.joints for arm in self.arms])
        self._grasp = np.array([arm.grasp for arm in self.arms])
        self._actuators = np.array([[*arm.actuators, arm.gripper] for arm in self.arms])
        self._waits, self._stretch = min(spec.lead, (reset or spec).lead), stretch
        self.limits = self._limits(spec)
        self.reset_limits = self._limits(reset or spec)

    def _limits(self, spec: ActionSpec) -> tuple[Any, ...]:
        """The limits of actions, as `kernels.move` takes them."""
        robot = self.twin.scene.robot
        low = np.maximum([arm.low for arm in spec.arms], robot.limits.workspace_low)
        high = np.minimum([arm.high for arm in spec.arms], robot.limits.workspace_high)
        return (
            self._actuators,
            spec.scale,
            np.array([low, high]),
            self._range,
            self._step,
            np.array([arm.gripper_range for arm in robot.arms], np.float64),
            float(spec.lead),
            float(spec.push),
            # A whole action along all axes goes further than along one.
            np.maximum(
                np.linalg.norm(spec.scale[:, :3], axis=1),
                robot.limits.cartesian_speed * self.period,
            ),
        )

    def measured(self, rows: Rows) -> FloatArray:
        """Joint angles, shape (m, arms, dof), in radians."""
        result: FloatArray = self.twin.qpos.take(rows, 0).take(self._qpos, 1)
        return result

    def set(self, row: int, joints: FloatArray, gripper: FloatArray) -> None:
        """Set one station's setpoints outright (in a reset): (arms, dof) rad and (arms,)."""
        self.setpoints[row] = np.clip(joints, *self._range)
        self.gripper[row] = gripper
        self.twin.ctrl[row, self._actuators] = self.command[row]

    def relax(
        self,
        row: int,
        pressed: NDArray[np.bool_] | None = None,
        bearing: FloatArray | float = 0.0,
    ) -> None:
        """Bring one station's setpoints back to its joints, so that nothing presses.

        Grippers do no more open against what is outside them; they go on holding what they hold,
        but for those of `pressed` hands (arms,): what they have closed on does not give way.
        bearing: how far setpoints stay ahead, (arms, dof) [rad], where hands bear a load.
        """
        opening = self.twin.actuator_length[row, self._actuators[:, -1]]
        gripper = np.minimum(self.gripper[row], opening)
        if pressed is not None:
            gripper[pressed] = opening[pressed]
        self.set(row, self.measured(np.array([row]))[0] + bearing, gripper)

    def approach(
        self, row: int, joints: FloatArray, gripper: FloatArray, jacobian: FloatArray
    ) -> None:
        """Move one station's setpoints by a period's way to a posture, straight in the joints.

        All of an arm's joints arrive together, none faster than half of its limit, nor the hand.
        No setpoint jumps by more than a lead, which would jolt what a stiff hand holds. An arm
        waits whose setpoint is as far ahead of a joint as the leads of actions and of the
        reset's skills both allow, or as far ahead of the hand as a reset may: on a soft arm joints
        that lag would catch up all at once.

        Args:
            joints: (arms, dof) rad. gripper: (arms,). jacobian: (arms, 6, dof), of this station.
        """
        limits = self.twin.scene.robot.limits
        farthest = CALM * limits.cartesian_speed * self.period
        measured, to = self.measured(np.array([row]))[0], self.setpoints[row].copy()
        for arm, way in enumerate(joints - to):
            ahead = to[arm] - measured[arm]
            stretched = float(np.linalg.norm(jacobian[arm, :3] @ ahead)) > self._stretch
            if abs(ahead).max() > self._waits or stretched:
                continue
            parts = max(
                float((abs(way) / np.minimum(CALM * self._step, self._waits)).max()),
                float(np.linalg.norm(jacobian[arm, :3] @ way)) / farthest,
                1.0,
            )
            to[arm] += way / parts
        self.set(row, to, gripper)

    def jacobian(self, rows: Rows) -> FloatArray:
        """Geometric Jacobian of each grasp point, shape (m, arms, 6, dof), world frame."""
        twin, (arms, dof) = self.twin, self._joints.shape
        result = np.empty((len(rows), arms, 6, dof))
        kernels.jacobian(
            rows, twin.site_xpos, twin.xanchor, twin.xaxis, self._grasp, self._joints, result
        )
        return result

    def apply(
        self,
        rows: Rows,
        actions: Float32Array,
        jacobian: FloatArray,
        force: FloatArray,
        limits: tuple[Any, ...] | None = None,
    ) -> None:
        """Move the setpoints of `rows` by `actions`, shape (m, act), and send them.

        force: from each hand on what it touches, (m, arms, 3) newtons, world frame. limits:
        `reset_limits`, if the actions are those of a reset's skills.
        """
        own = self.limits if limits is None else limits
        self._carry_out(kernels.move, rows, actions, jacobian, force, own)

    def follow(
        self, rows: Rows, actions: Float32Array, jacobian: FloatArray, force: FloatArray
    ) -> None:
        """Move the setpoints of `rows` towards joint actions, (m, arms (dof + 1)), and send them.

        jacobian and force are as in `apply`.
        """
        self._carry_out(kernels.follow, rows, actions, jacobian, force, self.limits)

    def joint_actions(self, rows: Rows, actions: Float32Array, force: FloatArray) -> Float32Array:
        """Return the joint actions (m, arms (dof + 1)) that lead where `actions` would.

        Nothing moves. actions: (m, act), of hands; force: as in `apply`.
        """
        command, ctrl = self.command.copy(), self.twin.ctrl.copy()
        jacobian = self.jacobian(rows)
        self._carry_out(kernels.move, rows, actions, jacobian, force, self.limits, command, ctrl)
        wanted = as_joint_actions(command[rows], *self.ends)
        return wanted.reshape(len(rows), -1)

    def _carry_out(
        self,
        kernel: Callable[..., None],
        rows: Rows,
        actions: Float32Array,
        jacobian: FloatArray,
        force: FloatArray,
        limits: tuple[Any, ...],
        command: FloatArray | None = None,
        ctrl: FloatArray | None = None,
    ) -> None:
        """Move setpoints as `kernel` does; command, ctrl: in place of the stations' own."""
        twin = self.twin
        kernel(
            rows,
            actions,
            jacobian,
            force,
            twin.qpos,
            twin.site_xpos,
            twin.ctrl if ctrl is None else ctrl,
            self.command if command is None else command,
            self._qpos,
            self._grasp,
            limits,
        )


def setpoint_ends(scene: Scene) -> FloatArray:
    """Return the setpoints of joint actions of -1 and of 1, (2, arms, dof + 1)."""
    joints = scene.model.jnt_range[[arm.joints for arm in scene.arms]].transpose(2, 0, 1)
    grippers = np.array([arm.gripper_range for arm in scene.robot.arms], np.float64)
    return np.concatenate([joints, grippers.T[:, :, None]], axis=2)


def as_joint_actions(setpoints: FloatArray, low: FloatArray, high: FloatArray) -> Float32Array:
    """Return the joint actions, in [-1, 1], that lead to setpoints; low, high: `setpoint_ends`."""
    wanted: FloatArray = (2.0 * (setpoints - low) / (high - low) - 1.0).clip(-1.0, 1.0)
    return wanted.astype(np.float32)
