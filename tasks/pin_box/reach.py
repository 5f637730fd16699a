"""What the arm reaches: the YAM's inverse kinematics in closed form, for many poses at once.

Three joints in a vertical plane put the wrist in its place, two more and the base turn the hand.
Lengths are those of `robots/yam/arm.xml`, and where the arm stands is in `robots/yam/robot.toml`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from enpire.types import FloatArray

BASE, AXIS = np.array([0.05, 0.0]), 0.02  # of joint 1; of joint 2 in front of it [m]
SHOULDER = 0.0631 + 0.0409  # height of joint 2 [m]
UPPER, FORE = 0.264, np.array([0.245, 0.06])  # from joint 2 to 3; from 3 to 4 [m]
WRIST, HAND = 0.074, 0.0353 + 0.1347  # from joint 4 to 5; from 5 to the grasp point [m]
LOW = np.array([-2.61799, 0.0, 0.0, -1.5708, -1.5708, -2.0944])  # of the joints [rad]
HIGH = np.array([3.05433, 3.66519, 3.66519, 1.5708, 1.5708, 2.0944])
SPARE = 0.03  # that a joint stays off its stop [rad]
AT_STOP = 0.015  # of a joint that cannot go on [rad]
NEAR_STOP = 0.06  # in which a joint at half speed comes to rest [rad]
EASE, EASINGS = 0.10, 9  # of a hand's pitch, at a time [rad]; at most so often


def joints(position: FloatArray, rotation: FloatArray) -> FloatArray:
    """Joint angles (..., 6) [rad] for grasp frames, (..., 3) [m] and (..., 3, 3), elbow up.

    NaN where the arm is too short.
    """
    opening, approach = rotation[..., 0], rotation[..., 2]
    back = position - HAND * approach
    azimuth = np.arctan2(back[..., 1] - BASE[1], back[..., 0] - BASE[0])
    zero = np.zeros_like(azimuth)
    ahead = np.stack([np.cos(azimuth), np.sin(azimuth), zero], axis=-1)
    aside = np.stack([-np.sin(azimuth), np.cos(azimuth), zero], axis=-1)
    sine = -_dot(approach, aside)
    five = np.arcsin(np.clip(sine, -1.0, 1.0))
    along = approach + sine[..., None] * aside
    along = along / np.maximum(np.linalg.norm(along, axis=-1, keepdims=True), 1e-9)
    pitch = np.arctan2(-along[..., 2], _dot(along, ahead))
    normal = np.sin(pitch)[..., None] * ahead + np.array([0.0, 0.0, 1.0]) * np.cos(pitch)[..., None]
    level = np.cos(five)[..., None] * aside + np.sin(five)[..., None] * along
    six = np.arctan2(_dot(opening, normal), _dot(opening, level))
    wrist = back - WRIST * along
    out = (wrist[..., 0] - BASE[0]) * ahead[..., 0] + (wrist[..., 1] - BASE[1]) * ahead[..., 1]
    out, up = out - AXIS, wrist[..., 2] - SHOULDER
    fore = float(np.hypot(*FORE))
    bend = (out**2 + up**2 - UPPER**2 - fore**2) / (2 * UPPER * fore)
    angle = -np.arccos(np.where(abs(bend) < 1.0, bend, np.nan))
    three = np.pi - float(np.arctan2(FORE[1], FORE[0])) + angle
    lift = np.arctan2(up, out) - np.arctan2(fore * np.sin(angle), UPPER + fore * np.cos(angle))
    two = np.mod(np.pi - lift, 2 * np.pi)
    return np.stack([azimuth, two, three, two - three - pitch, five, six], axis=-1)


def reached(position: FloatArray, rotation: FloatArray) -> NDArray[np.bool_]:
    """Whether joints are off their stops at these poses, shape (...)."""
    return _within(joints(position, rotation))


def stops_near(joints: FloatArray) -> bool:
    """Whether one of the joints (6,) [rad] is so near its stop that it would run into it."""
    return bool((np.minimum(joints - LOW, HIGH - joints) < NEAR_STOP).any())


def bent(joints: FloatArray) -> bool:
    """Whether joint 4, of these (6,) [rad], is at a stop: on its way there a hand leaves its line.

    What that joint can no more do the others do not make up for: a hand that points up and goes
    back drops by as much as it goes, and presses with 50 N on what is under it.
    """
    return bool(min(joints[3] - LOW[3], HIGH[3] - joints[3]) < AT_STOP)


def eased(position: FloatArray, frames: FloatArray) -> FloatArray:
    """Frames (..., 3, 3) that point less steeply, where a hand at `position` cannot as steeply."""
    result = frames.copy()
    for _ in range(EASINGS):
        found = joints(position, result)
        out = ~_within(found)
        if not out.any():
            break
        up = np.where(found[..., 3] > HIGH[3] - SPARE, -EASE, EASE)
        result = np.where(out[..., None, None], _raised(position, up) @ result, result)
    return result


def _within(joints: FloatArray) -> NDArray[np.bool_]:
    result: NDArray[np.bool_] = ((joints > LOW + SPARE) & (joints < HIGH - SPARE)).all(axis=-1)
    return result  # not a number is not


def _raised(position: FloatArray, up: FloatArray) -> FloatArray:
    """Turns (..., 3, 3) that raise a hand's approach by `up` [rad], about joints 2, 3 and 4."""
    azimuth = np.arctan2(position[..., 1] - BASE[1], position[..., 0] - BASE[0])
    x, y = -np.sin(azimuth), np.cos(azimuth)  # the axis, level
    cos, sin = np.cos(up), -np.sin(up)
    rows = [
        [cos + x * x * (1 - cos), x * y * (1 - cos), y * sin],
        [x * y * (1 - cos), cos + y * y * (1 - cos), -x * sin],
        [-y * sin, x * sin, cos],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def _dot(one: FloatArray, other: FloatArray) -> FloatArray:
    result: FloatArray = (one * other).sum(axis=-1)
    return result
