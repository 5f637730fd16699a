"""Where the cube is, seen from the hand."""

from __future__ import annotations

import numpy as np

from enpire.environment import Readings
from enpire.types import FloatArray

CUBE = 0.025  # edge [m]


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
