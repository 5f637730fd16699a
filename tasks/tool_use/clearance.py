"""How far both hands keep from cutter and tie, by what tracker or cameras and the joints say.

A hand is two boxes, its palm and its fingers with all that is between them. Cutter and tie are
points with a radius, near enough to each other that a hand of boxes meets none between them.
"""

from __future__ import annotations

import numpy as np

from enpire.environment import Readings
from enpire.types import FloatArray

from . import layout
from .layout import CUTTER, JAW

# Of a hand, in its grasp frame: half breadths along the opening and upwards, from and to [m].
PALM, PALM_FROM, PALM_TO = (0.062, 0.030), -0.117, -0.055
FINGERS_UP, FINGERS_FROM, FINGERS_TO = 0.006, -0.067, 0.010
FINGER = 0.013  # breadth of a finger, outside of its pad [m]

# Half of the cutter in its jaw's frame, y outwards: handle, flared end, shank, blade [m].
_HANDLE = [(0.0161, 0.0435), (0.0138, 0.054), (0.0115, 0.065), (0.0092, 0.076), (0.0069, 0.0865)]
_OUTLINE = np.array(
    [
        *_HANDLE,
        *((y - 0.008, z) for y, z in _HANDLE),
        *((0.0117, 0.0812), (0.0134, 0.042), (0.0060, 0.015), (0.0040, -0.026)),
    ]
)
HALF = np.array([(x, *point) for x in (-0.005, 0.005) for point in _OUTLINE])
# Bundle and strap in the clamp's frame, from the bundle's foot, with radii [m].
_BUNDLE = [(0.0, 0.0, z, 0.0122) for z in np.linspace(0.09, 0.142, 6)]
_STRAP = [(x, -0.025, 0.117, 0.004) for x in np.linspace(-0.012, 0.012, 5)]
TIE = np.array([*_BUNDLE, *_STRAP, (0.0, 0.0145, 0.117, 0.005)])


def clearance(readings: Readings) -> FloatArray:
    """From the nearest of both hands to cutter and tie, as the tracker sees them, (m,) [m]."""
    cutter = cutter_points(layout.pivot(readings), readings.rotation[:, [CUTTER, JAW]])
    tie = tie_points(layout.bundle(readings), layout.clamp_frame(readings))
    return clearance_of(readings, cutter, tie)


def clearance_of(readings: Readings, cutter: FloatArray, tie: FloatArray) -> FloatArray:
    """The same, (m,) [m], for points of a cutter and a tie, (m, k, 3) and (m, l, 3) [m]."""
    points = np.concatenate([cutter, tie], axis=1)
    radii = np.concatenate([np.zeros(cutter.shape[1]), TIE[:, 3]])
    from_hand = points[:, None] - readings.hand_position[:, :, None]
    inside = from_hand @ readings.hand_rotation  # (m, arms, k + l, 3), in the grasp frames
    wide = readings.gripper[:, :, None] / 2 + FINGER
    palm = _outside(inside, np.full_like(wide, PALM[0]), PALM[1], PALM_FROM, PALM_TO)
    fingers = _outside(inside, wide, FINGERS_UP, FINGERS_FROM, FINGERS_TO)
    result: FloatArray = (np.minimum(palm, fingers) - radii).min(axis=(1, 2))
    return result


def cutter_points(pivot: FloatArray, halves: FloatArray) -> FloatArray:
    """Of a cutter with its pivot (m, 3) [m] and its jaws' rotations (m, 2, 3, 3), (m, k, 3)."""
    both = [HALF @ halves[:, 0].mT, (HALF * (1.0, -1.0, 1.0)) @ halves[:, 1].mT]
    result: FloatArray = pivot[:, None] + np.concatenate(both, axis=1)
    return result


def tie_points(foot: FloatArray, frame: FloatArray) -> FloatArray:
    """Of a bundle and its tie, (m, l, 3): by its foot (m, 3) [m], its clamp (m, 3, 3)."""
    result: FloatArray = foot[:, None] + TIE[:, :3] @ frame.mT
    return result


def _outside(
    points: FloatArray, wide: FloatArray, up: float, low: float, high: float
) -> FloatArray:
    """How far points (..., k, 3) are from a box of a hand; 0 inside [m]."""
    x, y, z = np.moveaxis(points, -1, 0)
    middle, half = (low + high) / 2, (high - low) / 2
    beyond = np.stack([abs(x) - wide, abs(y) - up, abs(z - middle) - half])
    result: FloatArray = np.linalg.norm(np.maximum(beyond, 0.0), axis=0)
    return result
