"""The T: its shape, where it is to lie, how much of the goal it covers; the arm at the start.

A pose in the plane of the bench is (x, y, yaw) [m, m, rad]. The T's frame has its origin at the
centroid, its stem points along -y: an upright letter for who looks along the world's y axis.
"""

from __future__ import annotations

import cmath
from collections.abc import Sequence

import numpy as np

from enpire.environment import Readings
from enpire.types import FloatArray

UNIT = 0.025  # width of the bars [m]; the bar is 4 units long, the stem reaches 3 below it
HEIGHT = 0.020  # of the block [m]
CENTROID = 19 / 14  # below the bar's upper face [units]
AREA = 7 * UNIT**2  # of the footprint [m^2]
SHIFT = AREA / (4 * UNIT)  # along bar or stem for a share left open: 4 units of edge face it [m]
GYRATION = 1.465 * UNIT  # the footprint's polar radius of gyration [m]
GOAL = np.array([0.200, 0.0, np.pi / 4])  # pose
# A hand that points straight down; joint 4 makes up for whatever joints 2 and 3 turn.
START = (0.0, -0.21, 0.28, np.pi / 2 - 0.07, np.pi / 2)
SHUT = -0.17453  # of the jaw [rad]
CLEAR = 0.055  # height of a hand that was lifted: higher than to go from face to face [m]
TRAY_BACK = 0.118  # x of the tray's straight rim [m]
TRAY_CENTRE, TRAY_RADIUS = 0.0388, 0.238  # x of the round rim's centre, its radius [m]

Polygon = list[complex]  # corners counter-clockwise, x + iy [m]


def _rectangle(left: float, right: float, low: float, high: float) -> Polygon:
    """A rectangle in the T's frame from units below the bar's upper face."""
    corners = ((left, low), (right, low), (right, high), (left, high))
    return [UNIT * complex(x, y + CENTROID) for x, y in corners]


BAR = _rectangle(-2, 2, -1, 0)
STEM = _rectangle(-0.5, 0.5, -4, -1)
# The outline, counter-clockwise from the lower left corner of the stem.
OUTLINE = [STEM[0], STEM[1], STEM[2], BAR[1], BAR[2], BAR[3], BAR[0], STEM[3]]
# Of the tags that the tracker follows, four in each unit, in the T's frame: (28, 3) [m]. Their mean
# is the centroid.
TAGS = UNIT * np.array(
    [
        *((x, y + CENTROID, 0.0) for x in np.arange(-1.75, 2.0, 0.5) for y in (-0.75, -0.25)),
        *((x, y + CENTROID, 0.0) for x in (-0.25, 0.25) for y in np.arange(-3.75, -1.0, 0.5)),
    ]
)


def posture(off: Sequence[float] | FloatArray) -> tuple[FloatArray, FloatArray]:
    """Joints (1, 5) and jaw (1,) [rad] at the start, joints 1, 2, 3 and 5 `off` from `START`."""
    one, two, three, five = off
    joints = START + np.array([one, two, three, -(two + three), five])
    return joints[None], np.array([SHUT])


def block_pose(readings: Readings) -> FloatArray:
    """The block's pose, shape (m, 3): the mean of its tags, by the direction of its stem.

    A block that lies on its other face has the same footprint as one that was turned: a T is
    symmetric about its stem.
    """
    return stem_pose(readings.position.mean(axis=1), readings.rotation.mean(axis=1))


def stem_pose(position: FloatArray, rotation: FloatArray) -> FloatArray:
    """The same of a centroid's `position` (..., 3) and a block's `rotation` (..., 3, 3)."""
    stem = -rotation[..., :2, 1]
    yaw = np.arctan2(stem[..., 0], -stem[..., 1])
    return np.concatenate([position[..., :2], yaw[..., None]], axis=-1)


def mean_pose(poses: FloatArray) -> FloatArray:
    """The mean, (3,), of poses (m, 3) that differ by noise."""
    turn = np.exp(1j * poses[:, 2]).mean()
    return np.array([*poses[:, :2].mean(axis=0), np.angle(turn)])


def rotate(yaw: FloatArray | float, vector: FloatArray) -> FloatArray:
    """Vectors (..., 2) turned by `yaw` (...) [rad]."""
    cos, sin = np.cos(yaw), np.sin(yaw)
    x, y = vector[..., 0], vector[..., 1]
    return np.stack([cos * x - sin * y, sin * x + cos * y], axis=-1)


def overlap(pose: Sequence[float] | FloatArray, goal: Sequence[float] | FloatArray = GOAL) -> float:
    """Share of a T's area at `goal` that a T at `pose` covers, exactly, in [0, 1]."""
    here = [_placed(part, pose) for part in (BAR, STEM)]
    there = [_placed(part, goal) for part in (BAR, STEM)]
    return min(1.0, sum(_area(_clip(a, b)) for a in here for b in there) / AREA)


def tray_margin(pose: FloatArray) -> FloatArray:
    """How far within the rim the outermost corner of a T at `pose` (..., 3) is, shape (...) [m]."""
    at = (pose[..., 0] + 1j * pose[..., 1])[..., None]
    corners = at + np.exp(1j * pose[..., 2, None]) * np.array(OUTLINE)
    back, front = corners.real - TRAY_BACK, TRAY_RADIUS - abs(corners - TRAY_CENTRE)
    result: FloatArray = np.minimum(back, front).min(axis=-1)
    return result


def displacement(pose: FloatArray, goal: FloatArray = GOAL) -> FloatArray:
    """How far the T's points are from where they are at `goal`, shape (...) of (..., 3) [m].

    The root mean square over the footprint, with ways along arcs: what a person goes by. It counts
    shift and turn in one unit, and also where nothing overlaps.
    """
    off = pose - goal
    turn = (off[..., 2] + np.pi) % (2 * np.pi) - np.pi
    return np.sqrt(off[..., 0] ** 2 + off[..., 1] ** 2 + (GYRATION * turn) ** 2)


def _placed(polygon: Polygon, pose: Sequence[float] | FloatArray) -> Polygon:
    x, y, yaw = (float(value) for value in pose)
    turn, at = cmath.rect(1.0, yaw), complex(x, y)
    return [at + turn * corner for corner in polygon]


def _clip(subject: Polygon, window: Polygon) -> Polygon:
    """The part of one convex polygon inside another (Sutherland and Hodgman 1974)."""
    for start, end in zip(window, window[1:] + window[:1], strict=True):
        inside = [((end - start).conjugate() * (p - start)).imag for p in subject]
        kept: Polygon = []
        for i, p in enumerate(subject):
            if inside[i - 1] * inside[i] < 0:
                share = inside[i - 1] / (inside[i - 1] - inside[i])
                kept.append(subject[i - 1] + share * (p - subject[i - 1]))
            if inside[i] >= 0:
                kept.append(p)
        subject = kept
    return subject


def _area(polygon: Polygon) -> float:
    """By the shoelace formula [m^2]."""
    pairs = zip(polygon, polygon[1:] + polygon[:1], strict=True)
    return 0.5 * sum((p.conjugate() * q).imag for p, q in pairs)
