"""Pushes that free a pin which cannot be taken hold of: one that lies between others on the box.

The shut fingers come down beside the pin and push it sideways, as far as there is room.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from enpire.types import FloatArray

from .frames import hand_rotation
from .grasping import clearance, obstacles
from .parts import PIN_LENGTH, PIN_RADIUS
from .reach import reached

PITCH = math.radians(70.0)  # of the hand: steeper, it does not reach over the box
YAWS = (0.0, 0.4, -0.4)  # of the hand [rad]
TIP = 0.0105  # of the fingers' ends from the grasp point [m]
HALF = np.array([0.0070, 0.0100])  # of their footprint, along the hand and across [m]
ABOVE = 0.0032  # of the ends' middle over the box's face: an edge is 2 mm lower [m]
UNDER = 0.0012  # of the ends under the pin's axis [m]
ALONG = np.array([0.002, 0.006, 0.010, 0.016, 0.022, 0.026, 0.030])  # the pin, touched [m]
DIRECTIONS = np.radians(np.arange(0, 360, 15))
FACE = np.array([0.034, 0.024])  # over the box, or a part of the fingers is, box frame [m]
BESIDE = 0.0015  # of the fingers from the pin, when they come down [m]
STEPS = 0.004 * np.arange(1, 8)  # of a push [m]
TIGHT = 0.0004  # of the hand from what is in the way [m]
LEAST = 0.008  # that a push is long [m]
COMES_DOWN = np.array([(0.0, 0.0, z) for z in (0.0, 0.010, 0.020, 0.040)])  # from above [m]
BEST = 4  # of which one is chosen by chance: what did not help is not done again


@dataclass(frozen=True, slots=True)
class Nudge:
    """Where the shut hand begins, and ends, to push: positions (3,) [m]; its frame (3, 3)."""

    begin: FloatArray
    end: FloatArray
    rotation: FloatArray


def plan(
    rng: np.random.Generator,
    pin: tuple[FloatArray, FloatArray],
    others: Sequence[tuple[FloatArray, FloatArray]],
    box: FloatArray,
    box_frame: FloatArray,
) -> Nudge | None:
    """A push of a pin, its end (3,) [m] and axis (3,), world frame; None if there is no room.

    others: ends and axes of the other pins. box, box_frame: where the pin box is.
    """
    found = [
        nudge
        for yaw in YAWS
        for nudge in _from_one_side(hand_rotation(PITCH, yaw), pin, others, box, box_frame)
    ]
    found.sort(key=lambda worth_and_nudge: -worth_and_nudge[0])
    return found[int(rng.integers(min(BEST, len(found))))][1] if found else None


def _from_one_side(
    rotation: FloatArray,
    pin: tuple[FloatArray, FloatArray],
    others: Sequence[tuple[FloatArray, FloatArray]],
    box: FloatArray,
    box_frame: FloatArray,
) -> list[tuple[float, Nudge]]:
    """Pushes by a hand with this frame (3, 3), and what they are worth: the best few."""
    end, axis = pin
    along, angle = (g.ravel() for g in np.meshgrid(ALONG, DIRECTIONS, indexing="ij"))
    direction = np.stack([np.cos(angle), np.sin(angle), np.zeros_like(angle)], axis=-1)
    touched = end + along[:, None] * axis
    level = np.array([rotation[1, 0], -rotation[0, 0]])  # where the hand points, from above
    sides = np.stack([direction[:, :2] @ level, direction[:, :2] @ rotation[:2, 0]], axis=-1)
    tips = touched - (abs(sides) @ HALF + PIN_RADIUS + BESIDE)[:, None] * direction
    local = (tips - box) @ box_frame
    over_face = (abs(local[:, :2]) < FACE).all(axis=1)
    tips[:, 2] = np.maximum(touched[:, 2] - UNDER, np.where(over_face, box[2] + ABOVE, -1.0))
    begin = tips - TIP * rotation[:, 2]
    without = obstacles(others, box, box_frame)
    own = obstacles([pin, *others], box, box_frame)
    frames = np.broadcast_to(rotation, (len(begin), 3, 3))
    free = reached(begin, frames)
    for height in COMES_DOWN:
        free[free] = clearance(begin[free] + height, frames[free], 0.0, *own) > TIGHT
    length = np.zeros(len(begin))
    going = free.copy()
    for step in STEPS:
        there = begin[going] + step * direction[going]
        going[going] = clearance(there, frames[going], 0.0, *without) > TIGHT
        length[going] = step
    lever = abs(np.cross(axis, direction)[:, 2]) * (0.5 + abs(along / PIN_LENGTH - 0.5))
    worth = np.where(length >= LEAST, length * (0.2 + lever), 0.0)
    best = np.argsort(-worth, kind="stable")[:BEST]
    ends = begin + (length + BESIDE)[:, None] * direction
    return [(float(worth[i]), Nudge(begin[i], ends[i], rotation)) for i in best if worth[i] > 0.0]
