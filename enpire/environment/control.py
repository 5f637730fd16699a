"""Cartesian actions in, joint setpoints out, for all stations at once.

An action moves each hand's setpoint by a small translation and rotation (a twist over one control
period) and sets its gripper. Damped least squares turns the twist into joint increments (Nakamura
and Hanafusa 1986; Wampler 1986); increments add to the last setpoint, not to the measured joints,
so that a hand held back by contact pushes as far as the position controller is soft. mink solves
the same problem more generally one arm at a time (resets use it); this is the batched special case
that a control period of many stations needs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from enpire.twin import Twin
from enpire.twin.twin import Rows
from enpire.types import Float32Array, FloatArray

DAMPING = 0.003  # of the least squares, in metres
ROTATION_LENGTH = 0.1  # metres that one radian weighs as much as
WEIGHT = np.array([1.0, 1.0, 1.0, ROTATION_LENGTH, ROTATION_LENGTH, ROTATION_LENGTH])
DAMPED = DAMPING**2 * np.eye(6)
YIELD = 0.002  # how far a hand gives way in a control period at twice its force limit [m]
FIRST, SECOND = np.array([[1, 2, 0, 2, 0, 1], [2, 0, 1, 1, 2, 0]])  # axes of a cross product


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
    def scale(self) -> FloatArray:
        """Physical size of a full twist, shape (arms, 6)."""
        return np.array([(*arm.translation, *arm.rotation) for arm in self.arms])


class CartesianControl:
    """Joint and gripper setpoints of n stations, moved by actions."""

    def __init__(self, twin: Twin, spec: ActionSpec, period: float) -> None:
        """Control `twin` at one action every `period` seconds."""
        self.twin = twin
        self.spec = spec
        self.arms = twin.scene.arms
        robot = twin.scene.robot
        dof = len(robot.arms[0].home)
        model = twin.model
        self._command = np.zeros((twin.stations, len(self.arms), dof + 1))
        self.setpoints: FloatArray = self._command[:, :, :dof]
        self.gripper: FloatArray = self._command[:, :, dof]
        self._low = np.array([model.jnt_range[arm.joints, 0] for arm in self.arms])
        self._high = np.array([model.jnt_range[arm.joints, 1] for arm in self.arms])
        self._step = np.array(robot.limits.joint_speed) * period
        self._qpos = np.array([arm.qpos for arm in self.arms])
        self._joints = np.array([arm.joints for arm in self.arms])
        self._grasp = np.array([arm.grasp for arm in self.arms])
        self._actuators = np.array([[*arm.actuators, arm.gripper] for arm in self.arms])
        grippers = np.array([arm.gripper_range for arm in robot.arms])
        self._closed, self._half_opening = grippers[:, :1], np.diff(grippers) / 2.0
        self._scale = spec.scale
        limits = robot.limits
        self._box_low = np.maximum([arm.low for arm in spec.arms], limits.workspace_low)
        self._box_high = np.minimum([arm.high for arm in spec.arms], limits.workspace_high)

    def measured(self, rows: Rows) -> FloatArray:
        """Joint angles, shape (m, arms, dof), in radians."""
        result: FloatArray = self.twin.qpos.take(rows, 0).take(self._qpos, 1)
        return result

    def set(self, row: int, joints: FloatArray, gripper: FloatArray) -> None:
        """Set one station's setpoints outright (in a reset): (arms, dof) rad and (arms,)."""
        self.setpoints[row] = np.clip(joints, self._low, self._high)
        self.gripper[row] = gripper
        self.send(np.array([row]))

    def jacobian(self, rows: Rows) -> FloatArray:
        """Geometric Jacobian of each grasp point, shape (m, arms, 6, dof), world frame."""
        axis = self.twin.xaxis.take(rows, 0).take(self._joints, 1)
        anchor = self.twin.xanchor.take(rows, 0).take(self._joints, 1)
        arm = self.hands(rows)[:, :, None] - anchor
        return np.concatenate([_cross(axis, arm), axis], axis=-1).swapaxes(-1, -2)

    def hands(self, rows: Rows) -> FloatArray:
        """Positions of the grasp points, (m, arms, 3) metres, world frame."""
        result: FloatArray = self.twin.site_xpos.take(rows, 0).take(self._grasp, 1)
        return result

    def lead(self, rows: Rows, jacobian: FloatArray) -> FloatArray:
        """How far the hands' setpoints run ahead of the hands, (m, arms, 3) metres."""
        ahead = self.setpoints.take(rows, 0) - self.measured(rows)
        result: FloatArray = (jacobian[:, :, :3] @ ahead[..., None])[..., 0]
        return result

    def apply(
        self, rows: Rows, actions: Float32Array, jacobian: FloatArray, force: FloatArray
    ) -> None:
        """Move the setpoints of `rows` by `actions`, shape (m, act), and send them.

        force: from each hand on what it touches, (m, arms, 3) newtons, world frame.
        """
        actions = actions.clip(-1.0, 1.0).reshape(len(rows), len(self.arms), 7)
        twist = actions[:, :, :6] * self._scale
        move = yielding(twist[:, :, :3], force, self.spec.push)
        hands = self.hands(rows)
        walls = np.minimum(self._box_low - hands, 0.0), np.maximum(self._box_high - hands, 0.0)
        twist[:, :, :3] = move.clip(*walls)
        weighted = jacobian * WEIGHT[:, None]
        transposed = weighted.swapaxes(-1, -2)
        solved = np.linalg.solve(weighted @ transposed + DAMPED, (twist * WEIGHT)[..., None])
        increment = (transposed @ solved)[..., 0]
        held, measured = self.setpoints.take(rows, 0), self.measured(rows)
        low = np.minimum(measured - self.spec.lead, held)
        high = np.maximum(measured + self.spec.lead, held)
        # An arm is slowed as a whole, so that its hand still moves in the direction asked for.
        room = np.where(increment > 0, high - held, held - low)
        share = np.minimum(room, self._step) / np.maximum(abs(increment), 1e-12)
        increment = increment * np.minimum(1.0, share.min(axis=-1, keepdims=True))
        joints = (held + increment).clip(self._low, self._high)
        gripper = self._closed + (actions[:, :, 6:] + 1.0) * self._half_opening
        self._command[rows] = np.concatenate([joints, gripper], axis=-1)
        self.send(rows)

    def send(self, rows: Rows) -> None:
        """Write the setpoints of `rows` to their position controllers."""
        self.twin.ctrl[rows[:, None, None], self._actuators] = self._command.take(rows, 0)


def yielding(move: FloatArray, force: FloatArray, push: float) -> FloatArray:
    """What is left of a translation against a contact force; both (..., 3), world frame.

    The part along the force is scaled from 1 at half of `push` to 0 at `push`; above it the hand
    gives way, as an admittance does (Hogan 1985).
    """
    size = np.sqrt((force * force).sum(axis=-1, keepdims=True))
    if size.max() <= push / 2.0:
        return move
    along = force / np.maximum(size, 1e-9)
    pushed = np.maximum((move * along).sum(axis=-1, keepdims=True), 0.0)
    held = (2.0 * size / push - 1.0).clip(0.0, 1.0)
    excess = (size / push - 1.0).clip(0.0, 1.0)
    left: FloatArray = move - along * (held * pushed + YIELD * excess)
    return left


def _cross(a: FloatArray, b: FloatArray) -> FloatArray:
    """Cross product over the last axis; np.cross costs ten times as much on arrays this small."""
    products = a.take(FIRST, -1) * b.take(SECOND, -1)
    result: FloatArray = products[..., :3] - products[..., 3:]
    return result
