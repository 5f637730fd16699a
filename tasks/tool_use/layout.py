"""The cutter's measures, and what the tracker says of cutter, strap, bundle and stand."""

from __future__ import annotations

import numpy as np

from enpire.environment import Readings
from enpire.types import FloatArray

BASE = np.array([0.10, -0.34, 0.0])  # of the right arm [m]
RIGHT = 1  # the arm that works; the other one stands aside
BITE = 0.018  # of the middle of the blades below the pivot [m]
TIP = 0.026  # of their ends [m]
GRIP = 0.065  # of the middle of the handles above it [m]
OPENED = 0.35  # of the held cutter, about [rad]
STANDING = 0.0255  # of the pivot above the floor of the stand when the cutter stands in it [m]
FEEDER = "feeder"  # the station's fixture: brings the next tie
TAGS = 6  # in a ring round either: a verdict that allows 3 mm between them asks for more than one
RINGS = {"bundle": (0.0112, 0.126), "clamp": (0.0288, 0.068)}  # radius and height [m]
TRACKED = (
    *("cutter", "jaw", "end_a", "end_b", "stand"),
    *(f"{name}_tag{i}" for name in RINGS for i in range(TAGS)),
)
CUTTER, JAW, END_A, END_B, STAND = range(5)
BUNDLE, CLAMP = slice(5, 5 + TAGS), slice(5 + TAGS, 5 + 2 * TAGS)
HAND = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])  # grasp to cutter frame


def cutter_frame(readings: Readings) -> FloatArray:
    """Rotation of the cutter, half way between its two jaws, to world, (m, 3, 3).

    It is the same from both sides: of the two frames that which looks along the world's x.
    """
    both = readings.rotation[:, CUTTER] + readings.rotation[:, JAW]
    both = np.where(both[:, :1, :1] < 0.0, both * (-1.0, -1.0, 1.0), both)
    hinge = both[:, :, 0] / np.linalg.norm(both[:, :, 0], axis=-1, keepdims=True)
    up = both[:, :, 2] - (both[:, :, 2] * hinge).sum(-1, keepdims=True) * hinge
    up /= np.linalg.norm(up, axis=-1, keepdims=True)
    return np.stack([hinge, np.cross(up, hinge), up], axis=-1)


def pivot(readings: Readings) -> FloatArray:
    """Of the cutter, (m, 3), world frame [m]."""
    result: FloatArray = readings.position[:, [CUTTER, JAW]].mean(axis=1)
    return result


def opening(readings: Readings) -> FloatArray:
    """Of the cutter's jaws, (m,) [rad]."""
    one, other = readings.rotation[:, CUTTER], readings.rotation[:, JAW]
    return np.arcsin(np.clip(-(one[:, :, 1] * other[:, :, 2]).sum(axis=-1), -1.0, 1.0))


def blades(readings: Readings) -> FloatArray:
    """The middle of the blades, (m, 3), world frame [m]."""
    return pivot(readings) - BITE * cutter_frame(readings)[:, :, 2]


def strap(readings: Readings) -> FloatArray:
    """The middle between the strap's ends, (m, 3), world frame [m]."""
    result: FloatArray = readings.position[:, [END_A, END_B]].mean(axis=1)
    return result


def gap(readings: Readings) -> FloatArray:
    """Between the strap's ends, (m,) [m]; zero while it is whole."""
    ends = readings.position[:, END_A] - readings.position[:, END_B]
    result: FloatArray = np.linalg.norm(ends, axis=-1)
    return result


def bundle(readings: Readings) -> FloatArray:
    """Of the bundle, its foot, (m, 3), world frame [m]."""
    result: FloatArray = readings.position[:, BUNDLE].mean(axis=1) - (0, 0, RINGS["bundle"][1])
    return result


def clamp(readings: Readings) -> FloatArray:
    """Of the clamp, its foot, (m, 3), world frame [m]."""
    result: FloatArray = readings.position[:, CLAMP].mean(axis=1) - (0, 0, RINGS["clamp"][1])
    return result


def clamp_frame(readings: Readings) -> FloatArray:
    """Rotation of clamp and strap to world, (m, 3, 3), to second order in the tags' errors."""
    result: FloatArray = readings.rotation[:, CLAMP].mean(axis=1)
    return result


def along(frame: FloatArray, offset: FloatArray) -> FloatArray:
    """Offsets (m, 3) in the world, along the axes of frames (m, 3, 3) [m]."""
    result: FloatArray = (offset[:, None] @ frame)[:, 0]
    return result


def shift(readings: Readings) -> FloatArray:
    """How far the bundle was moved in its clamp, along the world's x and y, (m, 2) [m]."""
    return (bundle(readings) - clamp(readings))[:, :2]


def from_stand(readings: Readings) -> FloatArray:
    """The pivot from its place in the stand, (m, 3), world frame [m]."""
    return pivot(readings) - readings.position[:, STAND] - (0.0, 0.0, STANDING)


def grip_from_hand(readings: Readings) -> FloatArray:
    """From the grasp point to the middle of the handles, (m, 3), world frame [m]."""
    grip = pivot(readings) + GRIP * cutter_frame(readings)[:, :, 2]
    result: FloatArray = grip - readings.hand_position[:, RIGHT]
    return result
