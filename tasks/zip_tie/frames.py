"""Frames of the zip tie task, and the tail as seen from the head."""

from __future__ import annotations

import math

import numpy as np

from enpire.environment import Readings
from enpire.environment.frames import seen_from
from enpire.types import FloatArray

from .strap import GRASP

LEFT, RIGHT = 0, 1  # the arm that holds the head, and the one that holds the tail
HEAD = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])  # head frame to world
HEAD_AT = np.array([0.42, 0.0, 0.20])  # nominal [m]
TAIL_AT = np.array([0.42, -0.006 - 0.022 - GRASP, 0.20])  # the right hand's, nominal [m]
SHOULDERS = np.array([[0.10, 0.34, 0.104], [0.10, -0.34, 0.104]])  # of the arms, nearly [m]
YAW = math.radians(35.0)  # hands turn outwards by this: palms apart, wrists off their limits


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
