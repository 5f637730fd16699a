"""Whether an arm's velocities are those of its positions, and what they are where none are told."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from enpire.types import FloatArray

VELOCITY_S = 0.04  # velocities are differences over it, where nobody tells them
REST_S = 0.5  # for which a gripper's setpoint has to stand still
SWING = 0.3  # of the way that a gripper is sent, for one there and back
SWINGS = 2  # times that it goes the other way
WINDOW_S = 0.25  # over which a velocity is held against how far an axis has come
FAR = 0.05  # that it comes in a window, to say something [rad or m]
WINDOWS = 8  # of an axis, at least
RIGHT = (0.6, 1.6)  # times the speed of a position: filters are late, and are right on the whole


def told_share(
    stamps: FloatArray, position: FloatArray, velocity: FloatArray, window: float = WINDOW_S
) -> FloatArray:
    """How many times as fast as its position each axis says that it moves, (axes,).

    It is the median over windows in which an axis comes far, so single lies of an encoder do not
    count; NaN where there are too few of them.

    Args:
        stamps: (T,), increasing [s].
        position: (T, axes) [rad or m].
        velocity: (T, axes) [rad/s or m/s], NaN where it is not told.
        window: [s].
    """
    steps = np.diff(stamps)[:, None] * (velocity[1:] + velocity[:-1]) / 2
    way = np.concatenate([np.zeros_like(position[:1]), np.cumsum(steps, axis=0)])
    ends = np.unique(np.searchsorted(stamps, np.arange(stamps[0], stamps[-1], window)))
    moved, told = np.diff(position[ends], axis=0), np.diff(way[ends], axis=0)
    result = np.full(position.shape[1], np.nan)
    for axis in range(position.shape[1]):
        far = (np.abs(moved[:, axis]) > FAR * window / WINDOW_S) & np.isfinite(told[:, axis])
        if far.sum() >= WINDOWS:
            result[axis] = np.median(told[far, axis] / moved[far, axis])
    return result


def untrue(share: FloatArray) -> int | None:
    """The first axis whose velocity is not that of its position, by `told_share`; None: none is."""
    with np.errstate(invalid="ignore"):
        wrong = np.flatnonzero((share < RIGHT[0]) | (share > RIGHT[1]))
    return int(wrong[0]) if len(wrong) else None


class Moment(NamedTuple):
    """A joint state, and the setpoint that had been sent by then."""

    stamp: int  # monotonic [ns]
    position: FloatArray  # (axes,)
    velocity: FloatArray  # (axes,), NaN where it is not told
    sent: FloatArray | None  # (axes,)


def speed_of(past: Sequence[Moment]) -> FloatArray:
    """Velocities (axes,) at the newest of `past`, as differences of positions."""
    newest = past[-1]
    before = newest
    for each in reversed(past):
        before = each
        if newest.stamp - each.stamp >= VELOCITY_S * 1e9:
            break
    seconds = (newest.stamp - before.stamp) * 1e-9
    if not seconds:
        return np.zeros_like(newest.position)
    return (newest.position - before.position) / seconds


def untrue_states(past: Sequence[Moment], axes: Sequence[str], grippers: NDArray[np.intp]) -> str:
    """Say which axis tells no true velocity, or goes the other way; empty if none does."""
    if len(past) < WINDOWS:
        return ""
    stamps = np.array([each.stamp for each in past]) * 1e-9
    position, velocity = (np.array([each[k] for each in past]) for k in (1, 2))
    share = told_share(stamps, position, velocity)
    share[grippers] = np.nan  # what moves no arm may be told in a unit of its own
    axis = untrue(share)
    if axis is not None:
        return (
            f"{axes[axis]} says velocities that are {share[axis]:.3g} times those of its "
            "positions: rad/s or m/s are needed. Left out, or NaN, they are worked out"
        )
    return next(filter(None, (_turned(past, stamps, k, axes[k]) for k in grippers)), "")


def _turned(past: Sequence[Moment], stamps: FloatArray, axis: int, name: str) -> str:
    """What is wrong with a gripper that goes one way whenever it is sent the other."""
    sent = np.array([np.nan if each.sent is None else each.sent[axis] for each in past])
    position = np.array([each.position[axis] for each in past])
    begins = np.flatnonzero(np.append(True, np.diff(sent) != 0))
    ends = np.append(begins[1:], len(sent)) - 1
    rests = ends[(stamps[ends] - stamps[begins] >= REST_S) & np.isfinite(sent[ends])]
    asked, came = np.diff(sent[rests]), np.diff(position[rests])
    far = np.abs(asked) > SWING * max(np.ptp(sent[rests]) if len(rests) else 0.0, 1e-9)
    back = far & (np.sign(asked) != np.sign(came)) & (np.abs(came) > SWING * np.abs(asked))
    if back.sum() < SWINGS or (far & ~back).any():
        return ""
    return (
        f"{name} goes the other way than it is sent, {back.sum()} times: its positions are upside "
        "down. Its closed and open are gripper_range of robot.toml"
    )
