"""Where a twin and what was recorded part: when, in which joint, in which phase of the motion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from enpire.errors import StoreError
from enpire.identification.arms import ArmsModel
from enpire.identification.recording import Recording
from enpire.types import FloatArray

STILL = 0.02  # a setpoint slower than this stands still [rad/s]
AFTER = 0.3  # so long after a setpoint has turned round, a joint turns [s]
HELD = 0.02  # of a gripper's range: farther from its setpoint, it holds something
PHASES = ("still", "moving", "turning", "holding")


@dataclass(frozen=True, slots=True, eq=False)
class Gap:
    """Position errors of one recording: twin minus recorded.

    error: (T, joints) [rad]. phase: (T, joints), index in `PHASES`: a joint's setpoint stands
    still, moves, has just turned round; or its hand holds something.
    """

    recording: Recording
    joints: tuple[str, ...]
    error: FloatArray
    phase: FloatArray

    def parted(self, tolerance: float) -> list[tuple[float, str, str] | None]:
        """When joints' errors are first above tolerance [rad]: seconds, joint, phase."""
        seconds = self.recording.stamps - self.recording.stamps[0]
        found: list[tuple[float, str, str] | None] = []
        for k, joint in enumerate(self.joints):
            rows = np.flatnonzero(abs(self.error[:, k]) > tolerance)
            if len(rows):
                phase = PHASES[int(self.phase[rows[0], k])]
                found.append((float(seconds[rows[0]]), joint, phase))
            else:
                found.append(None)
        return found


def gap(arms: ArmsModel, recording: Recording, values: FloatArray) -> Gap:
    """Replay a recording's setpoints to the twin's arms with parameters `values`, (n,)."""
    axes = arms.joint_axes
    response = arms.respond(values[None], recording)
    error = (response.position[0] - recording.position)[:, axes]
    scene = arms.scene
    names = tuple(f"{a.name}/joint{k + 1}" for a in scene.arms for k in range(len(a.joints)))
    return Gap(recording, names, error, _phases(arms, recording))


def by_phase(gaps: Sequence[Gap]) -> dict[str, FloatArray]:
    """Root mean square errors (joints,) [rad] by phase, NaN where there was none, and in all."""
    error = np.concatenate([each.error for each in gaps])
    phase = np.concatenate([each.phase for each in gaps])
    found = {}
    for number, name in enumerate(PHASES):
        mine = phase == number
        count = mine.sum(0)
        squares = np.where(mine, error**2, 0.0).sum(0)
        found[name] = np.sqrt(squares / np.where(count, count, np.nan))
    return {**found, "all": np.sqrt(np.mean(error**2, axis=0))}


def plot(gaps: Sequence[Gap], path: Path) -> None:
    """Errors of every joint over time, a line a recording; raises StoreError."""
    from matplotlib.figure import Figure

    joints = gaps[0].joints
    columns = 2 if len(joints) > 3 else 1
    rows = -(-len(joints) // columns)
    figure = Figure(figsize=(4.0 * columns, 1.5 * rows + 0.6), layout="constrained")
    axes = figure.subplots(rows, columns, sharex=True, squeeze=False)
    for k, (joint, here) in enumerate(zip(joints, axes.T.ravel(), strict=False)):
        for each in gaps:
            seconds = each.recording.stamps - each.recording.stamps[0]
            here.plot(seconds, 1e3 * each.error[:, k], linewidth=0.7, alpha=0.7)
        here.axhline(0.0, color="0.6", linewidth=0.6, zorder=0)
        here.set_title(joint, fontsize=8)
        here.tick_params(labelsize=7)
    for here in axes.T.ravel()[len(joints) :]:
        here.set_visible(False)
    figure.supxlabel("time [s]", fontsize=8)
    figure.supylabel("twin - recorded [mrad]", fontsize=8)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=130)
    except (OSError, ValueError) as error:
        raise StoreError(f"{path} cannot be written: {error}") from error


def _phases(arms: ArmsModel, recording: Recording) -> FloatArray:
    """(T, joints), index in `PHASES`."""
    stamps, scene = recording.stamps, arms.scene
    joints = len(scene.arms[0].joints)
    sent = recording.sent[:, arms.joint_axes]
    speed = np.gradient(sent, stamps, axis=0)
    moving = abs(speed) > STILL
    phase = np.where(moving, PHASES.index("moving"), PHASES.index("still"))
    for k in range(sent.shape[1]):
        signs = np.where(moving[:, k], np.sign(speed[:, k]), 0.0)
        rows = np.flatnonzero(signs)
        turns = rows[1:][np.diff(signs[rows]) != 0.0]
        for turn in turns:
            near = (stamps >= stamps[turn]) & (stamps < stamps[turn] + AFTER)
            phase[near, k] = PHASES.index("turning")
    for number, arm in enumerate(scene.robot.arms):
        gripper = number * (joints + 1) + joints
        closed, opened = arm.gripper_range
        way = (recording.position[:, gripper] - recording.sent[:, gripper]) * np.sign(
            opened - closed
        )
        holds = _lasting(way > HELD * abs(opened - closed), stamps, AFTER)
        phase[holds, number * joints : (number + 1) * joints] = PHASES.index("holding")
    return phase.astype(np.float64)


def _lasting(flags: FloatArray, stamps: FloatArray, seconds: float) -> FloatArray:
    """Where a flag has been set for so long: a gripper that only closes soon arrives."""
    since = np.where(flags, np.nan, stamps)
    since[0] = stamps[0]
    for row in range(1, len(since)):
        if np.isnan(since[row]):
            since[row] = since[row - 1]
    return np.asarray(flags & (stamps - since > seconds))
