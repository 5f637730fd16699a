"""Joint positions of a dataset, as `lerobot-record` writes them, as what a task feels and does.

Such a dataset says where an arm's motors were, and where a leader arm wanted them. The pack of the
robot says which motor is which axis (`drivers.toml`, docs/lerobot-arms.md). Kinematics makes hands
of the wanted joints, and the ways of these hands are the actions. What a tracker would have said
is not known: it is NaN, which only policies that see by cameras do without.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from enpire.datasets import joint_signs
from enpire.datasets.columns import ACTION, STATE, WHOLE
from enpire.datasets.compatibility import Allowed, TaskInterface, listed, names_of, renames_in
from enpire.datasets.folder import Frames
from enpire.drivers.lerobot.axes import UNITS, Axes
from enpire.environment import Readings, Stations
from enpire.environment.core.motors import Motors
from enpire.environment.core.policy_cameras import felt_entries
from enpire.environment.kinematics import Forward
from enpire.errors import StoreError
from enpire.json_text import parsed
from enpire.packs import Robot
from enpire.types import Float32Array, FloatArray

TICKS, TURN = 4096, 360.0  # positions of a servo a turn, of which LeRobot takes one as unreachable
FULL = 100.0  # of a normalised joint, to either side of its middle
ROUNDED = 0.5  # a normalised joint may be beyond `FULL` by so much
BEYOND = 0.35  # a joint may be outside its range by so much, and a gripper by so much of it [rad]
BEHIND = 0.35  # half of the frames an arm may be farther from where its leader is than this [rad]
MOVED = 0.01  # a leader has moved if an axis is so far from where it was at first [rad]
REACH = 0.03  # a hand may be outside the task's box by so much [m]
TILT = 0.1  # turns about axes that actions hold are told from here on [rad]


@dataclass(frozen=True, slots=True)
class Recorded:
    """Axes of all frames, in our units: joints [rad] and grippers, arm after arm, (frames, axes).

    measured: where they were. wanted: where they were then sent. said: what was assumed.
    """

    measured: FloatArray
    wanted: FloatArray
    said: str


@dataclass(frozen=True, slots=True)
class Resampled:
    """An episode at a task's rate, a row per control period.

    measured, wanted: as in `Recorded`, (periods, axes), between two frames by a straight line.
    frames: the newest frame of each period, counted within the episode, (periods,). still: how long
    its leader stood still before, which is left out [s].
    """

    measured: FloatArray
    wanted: FloatArray
    frames: tuple[int, ...]
    still: float


def has_joints(
    features: Mapping[str, Any], columns: Sequence[str], axes: Axes, allowed: Allowed
) -> bool:
    """Tell whether columns are joint positions of these axes, by their names after renaming.

    With `accept_names` a column is if it has as many entries as there are axes.
    """
    return not any(_lacking(features, column, axes, allowed) for column in columns)


def require_in_both(
    folder: Path, features: Mapping[str, Any], axes: Axes, wanted: TaskInterface, allowed: Allowed
) -> None:
    """See whether state and action are both joint positions of these axes, or neither is.

    Raises:
        StoreError: one of the two is, and the other has neither their names nor the task's.
    """
    lacking = {name: _lacking(features, name, axes, allowed) for name in (STATE, ACTION)}
    whole = [name for name in lacking if not lacking[name]]
    if len(whole) != 1 or WHOLE in features:
        return
    other, ours = (STATE, wanted.observation) if whole[0] == ACTION else (ACTION, wanted.action)
    if other not in features:
        return
    called = names_of(features[other].get("names"))
    if called is None:
        raise StoreError(
            f"{folder}: {whole[0]} has the joint positions of its arm, and {other} does not name "
            "its entries: if they are in the arm's order in both, say --accept-names"
        )
    if set(called) & set(ours):
        return
    raise StoreError(
        f"{folder}: {whole[0]} has the joint positions of its arm, and {other} lacks "
        f"{listed(lacking[other], 30)}; it calls its entries {listed(called, 30)}. If "
        f"these are the same motors, say --rename {other}:THEIRS=OURS,..."
    )


def _lacking(features: Mapping[str, Any], column: str, axes: Axes, allowed: Allowed) -> list[str]:
    """The motors that a column has no entry of, by its names after renaming."""
    about = features.get(column, {})
    if allowed.accept_names and tuple(about.get("shape") or ()) == (len(axes.keys),):
        return []
    rename = renames_in(column, allowed.rename)
    theirs = {rename.get(name, name) for name in names_of(about.get("names")) or ()}
    return [key for key in axes.keys if key not in theirs]


def in_our_units(
    frames: Frames, measured: FloatArray, wanted: FloatArray, axes: Axes, allowed: Allowed
) -> Recorded:
    """Convert motor positions (frames, axes), in the order of `axes`, to radians.

    Normalised joints, -100 to 100, become degrees by the calibration that LeRobot keeps of the arm.
    A gripper is by the axis itself, from 0 to 100.

    Raises:
        StoreError: nothing says which of the two they are, or the calibration does not fit.
    """
    if allowed.degrees and allowed.calibration:
        raise StoreError("--degrees or --calibration FILE: joints are in one of the two")
    degrees = np.isclose(np.abs(axes.factor), UNITS["degrees"])
    if not degrees.any() and not (allowed.degrees or allowed.calibration):
        return Recorded(
            axes.offset + axes.factor * measured, axes.offset + axes.factor * wanted, ""
        )
    if not (allowed.degrees or allowed.calibration):
        raise StoreError(
            f"{frames.folder} has joint positions, and does not say in what: --degrees, if it was "
            "recorded with use_degrees (the default of LeRobot 0.6); else they go from -100 to "
            "100: --calibration FILE, the JSON file that lerobot-calibrate wrote of the arm that "
            "followed"
        )
    factors: FloatArray = np.ones(len(axes.keys))
    if allowed.calibration:
        factors = _degrees_of_one(Path(allowed.calibration), axes, degrees)
        beyond = np.abs(np.maximum(abs(measured), abs(wanted))[:, degrees]) > FULL + ROUNDED
        if beyond.any():
            row, at = (int(i[0]) for i in np.nonzero(beyond))
            raise StoreError(
                f"{frames.folder}: {frames.place(row)}: {np.array(axes.keys)[degrees][at]} is "
                f"beyond {FULL:g}: these joints are not normalised: --degrees"
            )
    how = f"from -100 to 100 by {Path(allowed.calibration).name}" if allowed.calibration else ""
    scale = axes.factor * factors
    return Recorded(
        axes.offset + scale * measured,
        axes.offset + scale * wanted,
        f"joints taken as {how or 'degrees'}",
    )


def _degrees_of_one(path: Path, axes: Axes, normalised: Any) -> FloatArray:
    """Degrees that one of a normalised joint is, (axes,); 1 for what is no joint."""
    try:
        said = parsed(path.read_text("utf-8-sig"))
    except (OSError, ValueError) as error:
        raise StoreError(f"{path} cannot be read: {error}") from error
    found = np.ones(len(axes.keys))
    for at in np.flatnonzero(normalised).tolist():
        motor = axes.keys[at].removesuffix(".pos")
        about = said.get(motor) if isinstance(said, dict) else None
        about = about if isinstance(about, dict) else {}
        low, high, mode = (about.get(key) for key in ("range_min", "range_max", "drive_mode"))
        if not (type(low) is type(high) is int and 0 <= low < high < TICKS):
            raise StoreError(
                f"{path} has no range_min and range_max of {motor}, from 0 to {TICKS - 1}: is it "
                "the calibration of this arm?"
            )
        if mode not in (0, 1, None):  # text would turn the axis, also "0"
            raise StoreError(f"{path}: drive_mode of {motor} is {mode!r:.80}: 0 or 1 is needed")
        sign = -1.0 if mode else 1.0
        found[at] = sign * (high - low) / (2 * FULL) * TURN / (TICKS - 1)
    return found


def require_of_arm(
    frames: Frames, recorded: Recorded, axes: Axes, ranges: FloatArray, robot: str
) -> None:
    """See whether these are joint positions of this arm: within its ranges, and followed.

    ranges: of each axis, (axes, 2), in our units.

    Raises:
        StoreError: one is far beyond its range, or the arm was elsewhere than its leader for most
            of the time.
    """
    slack = BEYOND * np.minimum(1.0, ranges[:, 1] - ranges[:, 0])
    for what, values in ((STATE, recorded.measured), (ACTION, recorded.wanted)):
        far = (values < ranges[:, 0] - slack) | (values > ranges[:, 1] + slack)
        if far.any():
            row, at = (int(i[0]) for i in np.nonzero(far))
            low, high, there = (
                (v - axes.offset[at]) / axes.factor[at] for v in (*ranges[at], values[row, at])
            )
            raise StoreError(
                f"{frames.folder}: {frames.place(row)}: {what}, {axes.keys[at]}, is {there:.4g}, "
                f"and {robot}'s goes from {min(low, high):.4g} to {max(low, high):.4g}: another "
                "unit, another zero, or another arm"
            )
    off = np.median(np.abs(recorded.wanted - recorded.measured), axis=0)
    worst = int(np.argmax(off / slack))
    if off[worst] > BEHIND * slack[worst] / BEYOND:
        raise StoreError(
            f"{frames.folder}: {axes.keys[worst]} is {off[worst]:.2g} rad away from where action "
            "wants it in half of the frames: an action has to be where the leader arm is, and the "
            "state where the arm is"
        )


def resampled(stamps: FloatArray, measured: FloatArray, wanted: FloatArray, hz: float) -> Resampled:
    """One episode's frames at a task's rate, from where its leader first moves.

    A policy that is shown somebody who does nothing yet learns to do nothing.

    Args:
        stamps: of its frames [s], rising, (frames,).
        measured: where axes were, (frames, axes).
        wanted: where they were then sent, likewise.
        hz: control periods a second.
    """
    since = stamps - stamps[0]
    moved = np.flatnonzero((np.abs(wanted - wanted[0]) > MOVED).any(axis=1))
    still = math.floor(since[max(moved[0] - 1, 0)] * hz + 1e-6) if len(moved) else 0
    periods = math.floor(since[-1] * hz + 1e-6) + 1
    times = np.arange(still, max(periods, still + 1)) / hz
    newest = np.searchsorted(since, times + 1e-6, side="right") - 1

    def between(values: FloatArray) -> FloatArray:
        return np.stack([np.interp(times, since, column) for column in values.T], axis=1)

    return Resampled(between(measured), between(wanted), tuple(newest.tolist()), still / hz)


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

    def require_no_forces(self, folder: Path) -> None:
        """See whether joint positions tell what the task's policies feel of themselves.

        Args:
            folder: Of the dataset that has joint positions alone.

        Raises:
            StoreError: They feel forces, too.
        """
        if self.motors is None and (forces := self._forces()):
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

    def odd(self, recorded: Sequence[tuple[FloatArray, FloatArray]], fps: float) -> str:
        """Tell what joint positions say otherwise than these arms in the twin; nothing if so.

        Args:
            recorded: Of each episode where axes were and where they were sent, (frames, axes).
            fps: Frames a second.
        """
        size = len(self.axes.keys) // len(self._arms)
        joints = [i for i in range(len(self.axes.keys)) if (i + 1) % size]  # a gripper is last
        theirs, own = (
            [(measured[:, joints], wanted[:, joints]) for measured, wanted in each]
            for each in (recorded, joint_signs.moved_about(self._stations))
        )
        names = [self.axes.keys[i] for i in joints]
        return joint_signs.odd_joints(theirs, fps, own, 1.0 / self._stations.period, names)

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

    def _forces(self) -> list[str]:
        """Felt entries that depend on what a wrist feels, by name."""
        seen = []
        for force in (0.0, 1.0):
            blank, _ = self._stations.sensors.blank(1)
            for values in blank:
                values[...] = 0.5
            blank[4][...] = force
            with np.errstate(invalid="ignore"):
                seen.append(self._task.observe(Readings(*blank).untracked())[0])
        names = self._task.observation_names
        return [names[at] for at in self.felt if seen[0][at] != seen[1][at]]
