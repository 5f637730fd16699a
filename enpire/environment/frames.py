"""Poses as tasks need them every period, compiled like `kernels`."""

from __future__ import annotations

import numpy as np

from enpire.environment.kernels import compiled
from enpire.types import FloatArray


@compiled
def seen_from(
    eye: int, target: int, position: FloatArray, rotation: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Pose of one tracked object in the frame of another: (m, 3) [m] and (m, 3, 3).

    position, rotation: of all tracked objects, in the world frame, as in `Readings`.
    """
    at, turned = np.zeros((len(position), 3)), np.zeros((len(position), 3, 3))
    for i in range(len(position)):
        frame = rotation[i, eye]
        for a in range(3):
            for b in range(3):
                at[i, a] += frame[b, a] * (position[i, target, b] - position[i, eye, b])
                for c in range(3):
                    turned[i, a, c] += frame[b, a] * rotation[i, target, b, c]
    return at, turned


@compiled
def rotation_vector(left: FloatArray, rotation: FloatArray, right: FloatArray) -> FloatArray:
    """Rotation vectors (m, k, 3) of small rotations left[:k] @ rotation[:, :k] @ right[:k] [rad].

    To second order: half of the matrix's antisymmetric part.
    """
    m, k = len(rotation), len(left)
    result = np.empty((m, k, 3))
    half, product = np.empty((3, 3)), np.empty((3, 3))
    for i in range(m):
        for j in range(k):
            multiply(left[j], rotation[i, j], half)
            multiply(half, right[j], product)
            result[i, j, 0] = 0.5 * (product[2, 1] - product[1, 2])
            result[i, j, 1] = 0.5 * (product[0, 2] - product[2, 0])
            result[i, j, 2] = 0.5 * (product[1, 0] - product[0, 1])
    return result


@compiled
def multiply(a: FloatArray, b: FloatArray, product: FloatArray) -> None:
    """product = a @ b, of 3 × 3 matrices."""
    for i in range(3):
        for j in range(3):
            product[i, j] = a[i, 0] * b[0, j] + a[i, 1] * b[1, j] + a[i, 2] * b[2, j]
