"""A task's arms, by which joint positions of a dataset are what the task shows and is acted on by.

Kinematics makes hands of joints. The task's own control says which actions move hands so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from enpire.datasets import joint_agreement, joint_signs
from enpire.datasets.joints import Resampled
from enpire.drivers.lerobot.axes import Axes
from enpire.environment import Readings, Stations
from enpire.environment.core.motors import Motors
from enpire.environment.core.policy_cameras import felt_entries, made_up
from enpire.environment.kinematics import Forward
from enpire.errors import StoreError
from enpire.packs import Robot
from enpire.types import Float32Array, FloatArray

REACH = 0.03  # a hand may be outside the task's box by so much [m]
AHEAD = 0.1  # of a setpoint, by which entries are known that show it [rad]
TILT = 0.1  # turns about axes that actions hold are told from here on [rad]
COMPARED = 2000  # periods in which what is shown is held against joint positions, about


@dataclass(frozen=True, slots=True)
class Converted:
    """An episode as a task has it, a row per control period.

    observations: (periods, obs), NaN where a tracker would say it. actions: (periods, act), in
    [-1, 1]. behind: the share of periods after which a hand is farther than a full action from
    where it was wanted. tilt: the farthest that it is turned otherwise, about axes that actions
    hold [rad].
    """

    observations: Float32Array
    actions: Float32Array
    behind: float
    tilt: float


class ArmModel:
    """A task's arms: what hands joints are, what a task shows of them, and which actions move so.

    name: of the robot. axes: as its pack has them. felt: entries of the task's observation that are
    there without a tracker. motors: where its policies set joints.
    """

    def __init__(self, stations: Stations, axes: Axes, motors: Motors | None = None) -> None:
        """stations: of their own, on which no episode has begun, and whose policies move hands.

        motors: of the same task where its policies set joints, if these are to be taught.
        """
        self._stations, self._task, self.axes = stations, stations.task, axes
        self.motors = motors
        self.name = self._task.robot
        scene = stations.twin.scene
        self._arms = scene.arms
        self._places = np.array([arm.qpos for arm in scene.arms])
        self._openings = np.array([arm.gripper for arm in scene.arms])
        self._wrists = np.array([arm.force for arm in scene.arms])
        self._forward = Forward(scene.world, scene.robot)
        self.felt = felt_entries(self._task, stations.sensors)
        if motors is not None:
            self.felt = tuple(range(len(motors.keys)))
        self.ranges = self._ranges(scene.robot)

    @property
    def grippers(self) -> tuple[int, ...]:
        """Which axes are grippers: the last one of each arm."""
        size = len(self.axes.keys) // len(self._arms)
        return tuple(range(size - 1, len(self.axes.keys), size))

    def require_no_forces(self, folder: Path) -> None:
        """See whether joint positions tell what the task's policies feel of themselves.

        Args:
            folder: Of the dataset that has joint positions alone.

        Raises:
            StoreError: They feel forces, too.
        """
        if self.motors is None and (forces := self._forces(self.felt)):
            raise StoreError(
                f"{folder} has joint positions, and policies of {self._task.name} feel forces "
                f"({forces[0]}), too: record its demonstrations on the station"
            )

    def convert(self, measured: FloatArray, wanted: FloatArray) -> Converted:
        """What the task shows in each period, and the actions that have the hands follow.

        The task's own control carries the actions out, with the arm where it was measured: within
        its limits, setpoints go where the leader's were, and what is left of a way follows in the
        next periods. Before the first period the leader stood where it is then.

        Args:
            measured: an episode's axes, where they were, (periods, axes).
            wanted: where they were then sent, likewise.
        """
        if self.motors is not None:
            return self._as_it_is(self.motors, measured, wanted)
        stations, twin, control = self._stations, self._stations.twin, self._stations.control
        joints, grippers = self._split(measured)
        leader, leader_grippers = self._split(wanted)
        scale, rows = self._task.actions.scale, np.zeros(1, np.int64)
        held, sent = scale == 0.0, np.zeros((len(wanted), len(self._arms), 7), np.float32)
        low, high = np.array([arm.gripper_range for arm in self._robot.arms], np.float64).T
        sent[:, :, 6] = (2.0 * (leader_grippers - low) / (high - low) - 1.0).clip(-1.0, 1.0)
        control.set(0, leader[0], leader_grippers[0])
        seen: list[Readings] = []
        behind, tilt = 0, 0.0
        for period, (where, opening) in enumerate(zip(joints, grippers, strict=True)):
            twin.qpos[0, self._places] = where
            twin.forward(0)
            twin.actuator_length[0, self._openings] = opening
            twin.history[0, self._wrists] = 0.0
            readings, jacobian = stations.sensors.read(rows, [0])
            seen.append(readings.untracked())
            left = self._between(control.setpoints[0], leader[period])
            tilt = max(tilt, float(np.abs(left[held]).max(initial=0.0)))
            full = np.divide(left, scale, out=np.zeros_like(left), where=~held)
            sent[period, :, :6] = full.clip(-1.0, 1.0)
            action = sent[period].reshape(1, -1)
            control.apply(rows, action, jacobian, np.zeros_like(readings.wrist_force))
            left = self._between(control.setpoints[0], leader[period])
            behind += bool((np.abs(left) > scale)[~held].any())
        with np.errstate(invalid="ignore"):
            shown = self._task.observe(Readings.joined(seen)).astype(np.float32)
        felt = np.full_like(shown, np.nan)
        felt[:, self.felt] = shown[:, self.felt]
        actions = sent.reshape(len(sent), -1)
        return Converted(felt, actions, behind / len(sent), tilt)

    def _as_it_is(self, motors: Motors, measured: FloatArray, wanted: FloatArray) -> Converted:
        """Return joint positions as what policies see that set joints, and do."""
        seen = np.full((len(measured), len(motors.keys) + self._others), np.nan, np.float32)
        seen[:, : len(motors.keys)] = measured
        return Converted(seen, motors.actions_to(wanted), behind=0.0, tilt=0.0)

    @property
    def _others(self) -> int:
        """Entries of an observation that are no joint's, where policies set joints."""
        return len(self._task.observation_names)

    def shown_by(self, measured: FloatArray) -> FloatArray:
        """Return what the task shows beside joints as far as these alone say it.

        Args:
            measured: Where axes were, (periods, axes).

        Returns:
            (periods, obs of the task whose policies move hands), NaN for other entries: what a
            tracker says, what a wrist feels, and what setpoints are ahead of.
        """
        stations, twin = self._stations, self._stations.twin
        joints, grippers = self._split(measured)
        rows = np.zeros(1, np.int64)
        seen: list[list[Readings]] = [[], []]
        for where, opening in zip(joints, grippers, strict=True):
            twin.qpos[0, self._places] = where
            twin.forward(0)
            twin.actuator_length[0, self._openings] = opening
            twin.history[0, self._wrists] = 0.0
            for ahead, each in zip((0.0, AHEAD), seen, strict=True):
                stations.control.set(0, where + ahead, opening)
                each.append(stations.sensors.read(rows, [0])[0].untracked())
        with np.errstate(invalid="ignore"):
            shown, other = (self._task.observe(Readings.joined(each)) for each in seen)
        felt = list(felt_entries(self._task, stations.sensors))
        names = self._task.observation_names
        forces = [names.index(name) for name in self._forces(felt)]
        known = [i for i in felt if i not in forces and (shown[:, i] == other[:, i]).all()]
        found: FloatArray = np.full(shown.shape, np.nan)
        found[:, known] = shown[:, known]
        return found

    def shown_elsewhere(
        self, parts: Sequence[Resampled], observations: Sequence[Float32Array], names: Sequence[str]
    ) -> str:
        """Tell what a dataset shows beside joints elsewhere than these have it; nothing if so.

        Args:
            parts: Of each episode where axes were.
            observations: Likewise what the dataset shows beside joints, (periods, obs).
            names: Of the entries of that.
        """
        step = max(1, sum(len(part.measured) for part in parts) // COMPARED)
        return joint_agreement.shown_otherwise(
            [each[::step].astype(np.float64) for each in observations],
            [self.shown_by(part.measured[::step]) for part in parts],
            names,
        )

    def odd(self, recorded: Sequence[tuple[FloatArray, FloatArray]], fps: float) -> str:
        """Tell what joint positions say otherwise than these arms in the twin; nothing if so.

        Args:
            recorded: Of each episode where axes were and where they were sent, (frames, axes).
            fps: Frames a second.
        """
        joints = [i for i in range(len(self.axes.keys)) if i not in self.grippers]
        theirs, own = (
            [(measured[:, joints], wanted[:, joints]) for measured, wanted in each]
            for each in (recorded, joint_signs.moved_about(self._stations))
        )
        names = [self.axes.keys[i] for i in joints]
        told = (
            joint_signs.odd_joints(theirs, fps, own, 1.0 / self._stations.period, names),
            joint_agreement.odd_followers(recorded, fps, self.axes.keys, self.grippers),
        )
        return "; ".join(text for text in told if text)

    def _between(self, joints: FloatArray, others: FloatArray) -> FloatArray:
        """The ways of the hands from joints to others, both (arms, dof): (arms, 6) [m], [rad]."""
        here, here_turned = self.hands(joints)
        there, there_turned = self.hands(others)
        turns = Rotation.from_matrix(there_turned @ here_turned.transpose(0, 2, 1)).as_rotvec()
        return np.concatenate([there - here, turns], axis=1)

    def hands(self, joints: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The hands at joints (arms, dof) [rad]: (arms, 3) [m] and (arms, 3, 3), to world."""
        return self._forward.hands(joints)

    def outside(self, measured: FloatArray) -> float:
        """The share of periods, of (periods, axes), in which a hand is outside the task's box."""
        joints, _ = self._split(measured)
        positions = np.array([self.hands(each)[0] for each in joints])
        limits = self._robot.limits
        low = np.maximum([arm.low for arm in self._task.actions.arms], limits.workspace_low)
        high = np.minimum([arm.high for arm in self._task.actions.arms], limits.workspace_high)
        out = (positions < low - REACH) | (positions > high + REACH)
        return float(out.any(axis=(1, 2)).mean())

    @property
    def _robot(self) -> Robot:
        return self._stations.twin.scene.robot

    def _split(self, axes: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Joints (periods, arms, dof) and grippers (periods, arms)."""
        each = axes.reshape(len(axes), len(self._arms), -1)
        return each[:, :, :-1], each[:, :, -1]

    def _ranges(self, robot: Robot) -> FloatArray:
        model = self._stations.twin.model
        found: list[FloatArray] = []
        for index, arm in zip(self._arms, robot.arms, strict=True):
            found += [*model.jnt_range[index.joints], np.array(arm.gripper_range)]
        return np.array(found, np.float64)

    def _forces(self, felt: Sequence[int]) -> list[str]:
        """Felt entries that depend on what a wrist feels, by name."""
        with np.errstate(invalid="ignore"):
            seen = [
                self._task.observe(made_up(self._stations.sensors, force))[0]
                for force in (0.0, 1.0)
            ]
        names = self._task.observation_names
        return [names[at] for at in felt if seen[0][at] != seen[1][at]]
