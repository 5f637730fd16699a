"""Where to take hold of a pin, however it lies, so that the arm reaches and has room.

A grasp has the pin between the pads: the opening is across the pin, the approach any direction that
leaves the fingers room. Obstacles are points with a radius, the hand five boxes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from enpire.types import FloatArray

from .frames import AHEAD, GRIP
from .parts import DEPTH, FLOOR, HALF_WIDTH, PIN_LENGTH, PIN_RADIUS, PINS, PITCH
from .reach import eased, reached

# What is tried: where along the pin [m], how far it is ahead of the grasp point, as at the start or
# not as deep [m], and from where the hand comes [rad].
ALONG = GRIP + np.array([0.0, 0.0025, 0.004, -0.004, -0.008, -0.012, -0.016, -0.020])
BEYOND = np.array([AHEAD, 0.0087])
PITCHES = np.radians([0, 15, 30, 45, 55, 65, 70, 75, 80, 85, 90])
YAWS = np.radians(np.arange(-75, 76, 15))
ALIGNED = 0.20  # off the direction in which a hand seats a pin, at most [rad]
# Along a pin that a hand can seat: clear of the face, more so pitched up [/rad]; on the pin [m].
OVER_FACE, PITCHED, TOP = 0.0225, 0.020, 0.029
RETREAT = np.array([0.0, 0.008, 0.020, 0.040])  # on the way to a grasp [m]
GAP = 0.007  # of an open finger from the pin's middle [m]
CLEAR = 0.0015  # of the hand from what is in the way [m]
# Least heights, box frame: of the fingers' ends, between the bristles; of the rest, over them [m].
BELOW, ABOVE = -0.061, -0.047
CHUNK = 40  # grasps that are looked at together
# The hand's parts, grasp frame, without what the fingers open: low and high corners [m].
FINGER = np.array([[(0.0, -0.006, -0.030), (0.0095, 0.006, 0.0105)]])
SHANK = np.array([[(0.003, -0.006, -0.066), (0.017, 0.006, -0.030)]])
KNUCKLE = np.array([[(0.002, -0.014, -0.067), (0.024, 0.014, -0.055)]])
PALM = np.array([[(-0.058, -0.030, -0.117), (0.058, 0.030, -0.069)]])


@dataclass(frozen=True, slots=True)
class Grasp:
    """A pose of the open hand about a pin: position (3,) [m] and frame (3, 3), world.

    along: of the pin, from the end that goes in first, where it is gripped [m]. seats: whether the
    hand can seat the pin as it then holds it.
    """

    position: FloatArray
    rotation: FloatArray
    along: float
    seats: bool


def plan(
    end: FloatArray,
    axis: FloatArray,
    others: Sequence[tuple[FloatArray, FloatArray]],
    box: FloatArray,
    box_frame: FloatArray,
) -> list[Grasp]:
    """Grasps of a pin, the best first: its end (3,) [m] and axis (3,), in the world frame.

    others: ends and axes of the other pins. box, box_frame: where the pin box is.
    """
    grasps, cost = _candidates(end, axis)
    order = np.argsort(cost, kind="stable")
    points, radii = obstacles(others, box, box_frame)
    found: list[Grasp] = []
    for first in range(0, len(order), CHUNK):
        chosen = [grasps[i] for i in order[first : first + CHUNK]]
        free = _free(chosen, points, radii, box[2])
        found += [grasp for grasp, clear in zip(chosen, free, strict=True) if clear]
        if found:
            break
    return found


def _candidates(end: FloatArray, axis: FloatArray) -> tuple[list[Grasp], FloatArray]:
    """Grasps that the arm reaches, and what speaks against each (k,)."""
    pitch, yaw = (g.ravel() for g in np.meshgrid(PITCHES, YAWS, indexing="ij"))
    level = np.cos(pitch)
    approach = np.stack([level * np.cos(yaw), level * np.sin(yaw), -np.sin(pitch)], axis=-1)
    across = np.cross(axis, approach)
    size = np.linalg.norm(across, axis=-1)
    usable = size > 0.4
    approach, across = approach[usable], across[usable] / size[usable, None]
    grasps: list[Grasp] = []
    cost: list[float] = []
    for side in (1.0, -1.0):
        frames = np.stack([side * across, np.cross(approach, side * across), approach], axis=-1)
        off = np.arctan2(approach @ axis, frames[:, :, 1] @ axis)  # from how the hand seats it
        for along in ALONG:
            for beyond in BEYOND:
                at = end + along * axis - beyond * approach
                far = at - RETREAT[-1] * approach
                can = reached(at, frames) & reached(far, eased(far, frames))
                upper = (along > OVER_FACE + PITCHED * np.maximum(off, 0.0)) & (along < TOP)
                for i in np.flatnonzero(can):
                    seats = bool(abs(off[i]) < ALIGNED and upper[i])
                    grasps.append(Grasp(at[i], frames[i], float(along), seats))
                    steep = abs(frames[i, 2, 0])  # one finger lower than the other
                    cost.append(
                        3.0 * (not seats)
                        + min(abs(off[i]), math.pi - abs(off[i]))
                        + 2.0 * steep
                        + 20.0 * abs(along - GRIP)
                        + 50.0 * (beyond - AHEAD)
                    )
    return grasps, np.array(cost)


def obstacles(
    others: Sequence[tuple[FloatArray, FloatArray]], box: FloatArray, box_frame: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Points (k, 3) in the world frame and radii (k,) [m]."""
    half, thick = PITCH * PINS / 2, DEPTH + FLOOR
    x, y = np.linspace(-half, half, 13), np.linspace(-HALF_WIDTH, HALF_WIDTH, 7)
    z = -thick / 4 * np.arange(5)
    top = _grid(x, y, z[:1])
    sides = np.concatenate([_grid(x, y[[0, -1]], z[1:]), _grid(x[[0, -1]], y, z[1:])])
    block = np.concatenate([top, sides]) @ box_frame.T + box
    length = np.linspace(PIN_RADIUS, PIN_LENGTH - PIN_RADIUS, 9)
    pins = [end + length[:, None] * axis for end, axis in others]
    points = np.concatenate([block, *pins])
    radii = np.zeros(len(points))
    radii[len(block) :] = PIN_RADIUS
    return points, radii


def _grid(*axes: FloatArray) -> FloatArray:
    result: FloatArray = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    return result


def _free(
    grasps: Sequence[Grasp], points: FloatArray, radii: FloatArray, box_height: float
) -> NDArray[np.bool_]:
    """Whether the hand is clear of obstacles on its way to each grasp, and there."""
    frames = np.array([g.rotation for g in grasps])
    at = np.array([g.position for g in grasps])
    free = np.ones(len(grasps), dtype=np.bool_)
    for gap in (GAP, PIN_RADIUS):
        for retreat in RETREAT if gap == GAP else RETREAT[:1]:
            left = np.flatnonzero(free)
            hands = at[left] - retreat * frames[left, :, 2]
            free[left] = clearance(hands, frames[left], gap, points, radii) > CLEAR
    low, high = boxes(GAP)
    lowest = [
        (at[:, None] + _grid(*zip(*pair, strict=True)) @ frames.transpose(0, 2, 1))[..., 2].min(
            axis=1
        )
        for pair in zip(low, high, strict=True)
    ]
    least = box_height + np.array([BELOW, ABOVE, ABOVE, BELOW, ABOVE, ABOVE, ABOVE])
    result: NDArray[np.bool_] = free & (np.stack(lowest, axis=1) > least).all(axis=1)
    return result


def clearance(
    at: FloatArray, frames: FloatArray, gap: float, points: FloatArray, radii: FloatArray
) -> FloatArray:
    """Of hands at positions (k, 3) in frames (k, 3, 3) from the nearest obstacle (k,) [m].

    gap: of the pads from the middle [m].
    """
    low, high = boxes(gap)
    local = (points - at[:, None]) @ frames
    least = np.full(local.shape[:2], np.inf)
    for corner, other in zip(low, high, strict=True):
        outside = np.maximum(np.maximum(corner - local, local - other), 0.0)
        np.minimum(least, np.einsum("gpi,gpi->gp", outside, outside), out=least)
    result: FloatArray = (np.sqrt(least) - radii).min(axis=1)
    return result


def palm_height(at: FloatArray, frame: FloatArray) -> float:
    """Of the lowest part of the palm of a hand at a position (3,) in a frame (3, 3) [m]."""
    return float(at[2] + (_grid(*PALM[0].T) @ frame[2]).min())


def boxes(gap: float) -> tuple[FloatArray, FloatArray]:
    """Low and high corners (boxes, 3) of a hand whose pads are `gap` from the middle [m]."""
    right = np.concatenate([FINGER, SHANK, KNUCKLE])
    right[..., 0] += gap
    left = right[:, ::-1] * (-1.0, 1.0, 1.0)
    left[..., 1:] = right[..., 1:]
    boxes = np.concatenate([right, left, PALM])
    return boxes[:, 0], boxes[:, 1]
