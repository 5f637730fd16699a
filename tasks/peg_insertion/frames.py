"""Frames of the task, and the peg as seen from the hole.

Peg and block have z up at the start; the block's z is the hole's axis.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.spatial.transform import Rotation

from enpire.environment import Readings
from enpire.types import FloatArray

MOUTH_AT = np.array([0.45, 0.0, 0.050])  # middle of the hole's mouth, nominal, world frame [m]
DEPTH = 0.030  # of the hole [m]
GRASP = np.array([0.0, 0.0, 0.056])  # of the hand, peg frame, nominal [m]
HEAD = 0.024  # thickness of the peg's head between the fingers [m]
PEG_TAGS = np.array([0.0, 0.0, 0.072])  # the middle of the peg's tags, peg frame [m]
TAGS = 4  # of the peg, and then of the block, as `task.py` tracks them
# Grasp frame to peg frame of a hand that points down on a peg that stands.
HAND = np.array([[0.0, -1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, -1.0]])


def hand_on(
    at: FloatArray, frame: FloatArray, grasp: tuple[FloatArray, FloatArray]
) -> tuple[FloatArray, FloatArray]:
    """Return the position (3,) [m] and frame (3, 3) of a hand whose `grasp` is in a peg's frame.

    at (3,) [m] and frame (3, 3): of the peg, in the frame that is asked for.
    """
    return at + frame @ grasp[0], frame @ grasp[1]


def peg_pose(seen: Sequence[Readings]) -> tuple[FloatArray, FloatArray]:
    """Return tip (3,) [m] and frame (3, 3) of the peg in the world, means of one station's."""
    frame: FloatArray = Rotation.from_matrix([peg_frame(r)[0] for r in seen]).mean().as_matrix()
    tip: FloatArray = np.mean([r.position[0, :TAGS].mean(axis=0) for r in seen], axis=0)
    return tip - frame @ PEG_TAGS, frame


def peg_frame(readings: Readings) -> FloatArray:
    """Return the rotations from the peg's frame to the world, (m, 3, 3)."""
    return _mean(readings.rotation[:, :TAGS])


def block_frame(readings: Readings) -> FloatArray:
    """Return the rotations from the block's frame to the world, (m, 3, 3)."""
    return _mean(readings.rotation[:, TAGS:])


def mouth(readings: Readings) -> FloatArray:
    """Return the middle of the hole's mouth in the world, (m, 3) [m]."""
    middle: FloatArray = readings.position[:, TAGS:].mean(axis=1)
    return middle


def tip_in_hole(readings: Readings) -> FloatArray:
    """Return the peg's tip from the hole's mouth, block frame, (m, 3) [m].

    z is the height over the mouth: the tip of a seated peg is at -DEPTH.
    """
    tip = readings.position[:, :TAGS].mean(axis=1) - peg_frame(readings) @ PEG_TAGS
    return _along(tip - mouth(readings), block_frame(readings))


def axis_in_hole(readings: Readings) -> FloatArray:
    """Return the direction of the peg's axis, from tip to head, block frame, (m, 3)."""
    return _along(peg_frame(readings)[:, :, 2], block_frame(readings))


def between(here: FloatArray, there: FloatArray) -> FloatArray:
    """Return the rotation vector (3,) from one frame to another [rad]."""
    vector: FloatArray = Rotation.from_matrix(there @ here.T).as_rotvec()
    return vector


def _along(vectors: FloatArray, frames: FloatArray) -> FloatArray:
    """Return vectors (m, 3) along the axes of frames (m, 3, 3)."""
    turned: FloatArray = (vectors[:, None] @ frames)[:, 0]
    return turned


def _mean(rotations: FloatArray) -> FloatArray:
    """Return the frame (m, 3, 3) of a body whose tags are all turned as it is, (m, k, 3, 3)."""
    up = rotations[..., 2].mean(axis=1)
    up /= np.linalg.norm(up, axis=-1, keepdims=True)
    left = np.cross(up, rotations[..., 0].mean(axis=1))
    left /= np.linalg.norm(left, axis=-1, keepdims=True)
    return np.stack([np.cross(left, up), left, up], axis=-1)
