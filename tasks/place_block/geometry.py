"""Where block and pad are, seen from the hand, for policy, person, verifier and reset."""

from __future__ import annotations

import numpy as np

from enpire.environment import Readings
from enpire.types import FloatArray

BLOCK = 0.040  # edge [m]
PAD = 0.042  # radius [m]
CORNERS = BLOCK * (np.stack(np.meshgrid(*[(0, 1)] * 3), axis=-1).reshape(-1, 3) - 0.5)


def down(yaw: float) -> FloatArray:
    """Return the frame (3, 3) of a hand that points straight down: opening, across, approach.

    yaw: of the opening from the world's -y, about the vertical [rad].
    """
    cos, sin = np.cos(yaw), np.sin(yaw)
    return np.array([[sin, -cos, 0.0], [-cos, -sin, 0.0], [0.0, 0.0, -1.0]])


def block_from_hand(readings: Readings) -> FloatArray:
    """From the grasp point to the block along the world's axes, shape (m, 3) [m]."""
    result: FloatArray = readings.position[:, 0] - readings.hand_position[:, 0]
    return result


def pad_from_block(readings: Readings) -> FloatArray:
    """From the block's middle to the pad's along the world's axes, shape (m, 3) [m]."""
    result: FloatArray = readings.position[:, 1] - readings.position[:, 0]
    return result


def height(readings: Readings) -> FloatArray:
    """Return the block's height above where it lies on the bench, shape (m,) [m]."""
    result: FloatArray = readings.position[:, 0, 2] - BLOCK / 2
    return result


def level(vectors: FloatArray, readings: Readings) -> FloatArray:
    """Horizontal parts of `vectors` (m, 3) along the hand's opening and across it, (m, 2)."""
    opening = readings.hand_rotation[:, 0, :2, 0]
    opening = opening / np.linalg.norm(opening, axis=1, keepdims=True)
    across = np.stack([opening[:, 1], -opening[:, 0]], axis=1)
    return np.stack(
        [(vectors[:, :2] * opening).sum(axis=1), (vectors[:, :2] * across).sum(axis=1)], axis=1
    )


def quarter_turn(readings: Readings) -> FloatArray:
    """How far the block is turned out of the fingers' grip: cos and sin of 4 yaw, shape (m, 2).

    A cube looks the same after a quarter turn, on whichever face it lies: the mean of its axes'
    fourth powers in the horizontal plane, as complex numbers, does not change.
    """
    axes = readings.rotation[:, 0, 0] + 1j * readings.rotation[:, 0, 1]
    opening = readings.hand_rotation[:, 0, 0, 0] + 1j * readings.hand_rotation[:, 0, 1, 0]
    turn = (axes**4).mean(axis=1) * np.conj(opening) ** 4
    turn /= np.maximum(abs(turn), 1e-6)
    return np.stack([turn.real, turn.imag], axis=1)


def block_yaw(readings: Readings) -> FloatArray:
    """The block's yaw as that of the nearest of its quarter turns, in (-pi/4, pi/4], (m,) [rad]."""
    axes = readings.rotation[:, 0, 0] + 1j * readings.rotation[:, 0, 1]
    result: FloatArray = np.angle((axes**4).mean(axis=1)) / 4
    return result


def margin(readings: Readings) -> FloatArray:
    """Return how far inside the pad's rim the block's outermost lower corner is, (m,) [m]."""
    corners = CORNERS @ readings.rotation[:, 0].transpose(0, 2, 1)
    lower = np.argsort(corners[:, :, 2], axis=1)[:, :4, None]
    off = np.take_along_axis(corners, lower, axis=1) - pad_from_block(readings)[:, None]
    result: FloatArray = PAD - np.linalg.norm(off[:, :, :2], axis=2).max(axis=1)
    return result
