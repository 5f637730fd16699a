"""Where the cube is, seen from the hand, and how the arm stands at the start."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from enpire.environment import Readings
from enpire.types import FloatArray

CUBE = 0.025  # edge [m]
# A hand that points straight down; joint 4 makes up for whatever joints 2 and 3 turn.
START = (0.0, -0.21, 0.28, np.pi / 2 - 0.07, np.pi / 2)
OPENING = 0.45  # of the jaw at the start [rad]


def posture(off: Sequence[float] | FloatArray) -> tuple[FloatArray, FloatArray]:
    """Joints (1, 5) and jaw (1,) [rad] at the start, joints 1, 2, 3 and 5 `off` from `START`."""
    one, two, three, five = off
    joints = START + np.array([one, two, three, -(two + three), five])
    return joints[None], np.array([OPENING])


def cube_in_hand(readings: Readings) -> FloatArray:
    """From the grasp point to the cube along the world's axes, shape (m, 3) [m]."""
    result: FloatArray = readings.position[:, 0] - readings.hand_position[:, 0]
    return result


def quarter_turn(readings: Readings) -> FloatArray:
    """How far the cube is turned out of the fingers' grip: cos and sin of 4 yaw, shape (m, 2).

    A cube looks the same after a quarter turn, on whichever face it lies: the mean of its axes'
    fourth powers in the horizontal plane, as complex numbers, does not change.
    """
    axes = readings.rotation[:, 0, 0] + 1j * readings.rotation[:, 0, 1]
    opening = readings.hand_rotation[:, 0, 0, 0] + 1j * readings.hand_rotation[:, 0, 1, 0]
    turn = (axes**4).mean(axis=1) * np.conj(opening) ** 4
    turn /= np.maximum(abs(turn), 1e-6)
    return np.stack([turn.real, turn.imag], axis=1)


def cube_yaw(readings: Readings) -> FloatArray:
    """The cube's yaw as that of the nearest of its quarter turns, in (-pi/4, pi/4], (m,) [rad]."""
    axes = readings.rotation[:, 0, 0] + 1j * readings.rotation[:, 0, 1]
    result: FloatArray = np.angle((axes**4).mean(axis=1)) / 4
    return result


def quarter(angle: float) -> float:
    """An angle less the nearest number of quarter turns, within pi/4 of zero [rad]."""
    return float(angle - np.pi / 2 * np.round(angle / (np.pi / 2)))
