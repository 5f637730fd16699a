"""Where a camera's rays fall in its picture: x goes right, y down and z ahead, from the lens."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from enpire.types import Flags, FloatArray

DIRECTIONS, STEPS, WIDEST = 64, 800, 11.0  # of rays that are followed; tangent of 85 degrees


def in_picture(places: FloatArray, low: FloatArray, high: FloatArray) -> Flags:
    """Whether places (n, 3) before a lens are between a picture's edges, (n,).

    low, high: tangents of the angles to its left and upper, and its right and lower edge.
    """
    ahead = places[:, 2] > 0.0
    ways = places[:, :2] / np.where(ahead, places[:, 2], 1.0)[:, None]
    inside: Flags = ahead & ((ways >= low) & (ways < high)).all(axis=1)
    return inside


def folds(distortion: Sequence[float], low: FloatArray, high: FloatArray) -> bool:
    """Whether two rays fall on one place between a picture's edges, by OpenCV's model of a lens.

    Rays are followed from the middle outwards, until the picture ends.

    Args:
        distortion: k1, k2, p1, p2, k3.
        low: Tangents as in `in_picture`.
        high: Likewise.
    """
    k1, k2, p1, p2, k3 = distortion
    angles = np.linspace(0.0, 2.0 * np.pi, DIRECTIONS, endpoint=False)
    x, y = np.stack([np.cos(angles), np.sin(angles)])[:, :, None] * np.linspace(0, WIDEST, STEPS)
    square = x * x + y * y
    grown = 1.0 + square * (k1 + square * (k2 + square * k3))
    steeper = k1 + square * (2.0 * k2 + square * 3.0 * k3)
    at_x = x * grown + 2.0 * p1 * x * y + p2 * (square + 2.0 * x * x)
    at_y = y * grown + p1 * (square + 2.0 * y * y) + 2.0 * p2 * x * y
    across = 2.0 * (x * y * steeper + p1 * x + p2 * y)
    along_x = grown + 2.0 * x * x * steeper + 2.0 * p1 * y + 6.0 * p2 * x
    along_y = grown + 2.0 * y * y * steeper + 6.0 * p1 * y + 2.0 * p2 * x
    turned = along_x * along_y - across * across <= 0.0
    inside = (at_x >= low[0]) & (at_x < high[0]) & (at_y >= low[1]) & (at_y < high[1])
    followed = np.logical_and.accumulate(inside, axis=1)
    return bool((turned & followed).any())
