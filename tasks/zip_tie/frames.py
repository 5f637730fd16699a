"""Frames of the zip tie task, and the tail as seen from the head."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
from scipy.spatial.transform import Rotation

from enpire.environment import Readings
from enpire.environment.frames import seen_from
from enpire.types import FloatArray

from .strap import GRASP

LEFT, RIGHT = 0, 1  # the arm that holds the head, and the one that holds the tail
HEAD = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])  # head frame to world
HEAD_AT = np.array([0.42, 0.0, 0.20])  # nominal [m]
TAIL_AT = np.array([0.42, -0.006 - 0.022 - GRASP, 0.20])  # the right hand's, nominal [m]
SHOULDERS = np.array([[0.10, 0.34, 0.104], [0.10, -0.34, 0.104]])  # of the arms, nearly [m]
BUNDLE_HALF = 0.035  # of the bundle, along its axis [m]
# A loop that leans further, on average over half a second, may tip over: 1 of 3 that leaned by 0.9
# to 1.0 did, and none of 9 that leaned by 0.7 to 0.9 (poses twice as far out).
MOST_LEANING = 0.9  # of a loop's plane, from across the bundle [rad]
YAW = math.radians(35.0)  # hands turn outwards by this: palms apart, wrists off their limits

Poses = tuple[Sequence[FloatArray], Sequence[FloatArray]]
"""Of both hands: positions (3,) [m] and rotations (3, 3)."""


def hand_rotation(arm: int) -> FloatArray:
    """Grasp frame to world of a hand that reaches forward and opens upwards; 0 left, 1 right."""
    yaw = -YAW if arm == 0 else YAW
    approach = np.array([math.cos(yaw), math.sin(yaw), 0.0])
    opening = np.array([0.0, 0.0, 1.0])
    return np.stack([opening, np.cross(approach, opening), approach], axis=1)


def in_head(readings: Readings) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The tail's tip [m], direction and width axis (unit) in the head's frame, each (m, 3)."""
    tip, frame = seen_from(0, 1, readings.position, readings.rotation)
    return tip, frame[..., 0], frame[..., 1]


def both_ends(glance: Iterable[Readings]) -> list[tuple[FloatArray, FloatArray]]:
    """Poses of the head and of the place on the tail that is held, over some readings."""
    seen = list(glance)
    head, tip = np.mean([r.position[0, :2] for r in seen], axis=0)
    frames = [
        Rotation.from_matrix([r.rotation[0, i] for r in seen]).mean().as_matrix() for i in (0, 1)
    ]
    return [(head, frames[0]), (tip - GRASP * frames[1][:, 0], frames[1])]


def away(readings: Readings, poses: Poses) -> tuple[FloatArray, FloatArray]:
    """How far hands are from their poses, each (arms, 3) [m], [rad]."""
    hands, frames = readings.hand_position[0], readings.hand_rotation[0]
    turns = [
        Rotation.from_matrix(wanted @ now.T).as_rotvec()
        for wanted, now in zip(poses[1], frames, strict=True)
    ]
    return np.array(poses[0]) - hands, np.array(turns)


def within(off: FloatArray, turn: FloatArray, allowed: tuple[float, float]) -> bool:
    """Whether hands are no farther away than that [m], [rad]."""
    return bool(np.linalg.norm(off, axis=1).max() < allowed[0] and abs(turn).max() < allowed[1])


def plane(loop: FloatArray) -> FloatArray:
    """Where a loop's plane crosses the bundle's axis, from its middle [m], and its slopes, (3,).

    loop: points of it from there, (points, 3) [m]; the plane is their least squares. A slope is how
    much farther along the bundle it is for each metre along y, or z.
    """
    over = np.column_stack([np.ones(len(loop)), loop[:, 1:]])
    result: FloatArray = np.linalg.lstsq(over, loop[:, 0])[0]
    return result


def leans(plane: FloatArray) -> float:
    """How far a plane is turned from one across the bundle [rad]."""
    return math.atan(math.hypot(plane[1], plane[2]))
