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

from enpire.datasets.columns import ACTION, STATE, WHOLE
from enpire.datasets.compatibility import Allowed, TaskInterface, listed, names_of, renames_in
from enpire.datasets.folder import Frames
from enpire.drivers.lerobot.axes import UNITS, Axes
from enpire.errors import StoreError
from enpire.json_text import parsed
from enpire.types import FloatArray

TICKS, TURN = 4096, 360.0  # positions of a servo a turn, of which LeRobot takes one as unreachable
FULL = 100.0  # of a normalised joint, to either side of its middle
ROUNDED = 0.5  # a normalised joint may be beyond `FULL` by so much
BEYOND = 0.35  # a joint may be outside its range by so much, and a gripper by so much of it [rad]
BEHIND = 0.35  # half of the frames an arm may be farther from where its leader is than this [rad]
MOVED = 0.01  # a leader has moved if an axis is so far from where it was at first [rad]


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
    frames: Frames,
    recorded: Recorded,
    axes: Axes,
    ranges: FloatArray,
    robot: str,
    grippers: Sequence[int] = (),
) -> None:
    """See whether these are joint positions of this arm: within its ranges, and followed.

    ranges: of each axis, (axes, 2), in our units. grippers: axes that stay wider than they are sent
    where they hold something.

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
    ways = recorded.wanted - recorded.measured
    held = np.isin(np.arange(ways.shape[1]), list(grippers)) & (ways < 0.0)
    off = np.median(np.where(held, 0.0, np.abs(ways)), axis=0)
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
