"""Poses as tasks need them; those of every period are compiled like `kernels`."""

from __future__ import annotations

import mujoco
import numpy as np

from enpire.twin.native import compiled
from enpire.types import FloatArray


def seen_from(
    eye: int, target: int, position: FloatArray, rotation: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Pose of one tracked object in the frame of another: (m, 3) [m] and (m, 3, 3).

    position, rotation: of all tracked objects, in the world frame, as in `Readings`.
    """
    result = np.empty((len(position), 3)), np.empty((len(position), 3, 3))
    _seen_from(eye, target, position, rotation, *result)
    return result


def rotation_vector(left: FloatArray, rotation: FloatArray, right: FloatArray) -> FloatArray:
    """Rotation vectors (m, k, 3) of small rotations left[:k] @ rotation[:, :k] @ right[:k] [rad].

    To second order: half of the matrix's antisymmetric part.
    """
    result = np.empty((len(rotation), len(left), 3))
    _rotation_vector(left, rotation, right, result)
    return result


def pose_in_hand(
    model: mujoco.MjModel,
    site: int,
    hand: FloatArray,
    hand_frame: FloatArray,
    position: FloatArray,
    frame: FloatArray,
) -> FloatArray:
    """Pose (position [m], quaternion), (7,), of an object in the body that carries a grasp site.

    site: of the grasp. hand, hand_frame: its pose in the world, (3,) and (3, 3); position, frame:
    the object's. It is what a weld that holds the object in a reset needs.
    """
    mount = np.zeros(9)
    mujoco.mju_quat2Mat(mount, model.site_quat[site])
    body_rotation = hand_frame @ mount.reshape(3, 3).T
    body_position = hand - body_rotation @ model.site_pos[site]
    quaternion = np.zeros(4)
    mujoco.mju_mat2Quat(quaternion, (body_rotation.T @ frame).ravel())
    return np.concatenate([body_rotation.T @ (position - body_position), quaternion])


@compiled
def _seen_from(
    eye: int,
    target: int,
    position: FloatArray,
    rotation: FloatArray,
    at: FloatArray,
    turned: FloatArray,
) -> None:
    at[...] = 0.0
    turned[...] = 0.0
    for i in range(len(position)):
        for a in range(3):
            for b in range(3):
                turn = rotation[i, eye, b, a]
                at[i, a] += turn * (position[i, target, b] - position[i, eye, b])
                for c in range(3):
                    turned[i, a, c] += turn * rotation[i, target, b, c]


@compiled
def _rotation_vector(
    left: FloatArray, rotation: FloatArray, right: FloatArray, result: FloatArray
) -> None:
    half, product = np.empty((3, 3)), np.empty((3, 3))
    for i in range(len(rotation)):
        for k in range(len(left)):
            _multiply(left[k], rotation[i, k], half)
            _multiply(half, right[k], product)
            result[i, k, 0] = 0.5 * (product[2, 1] - product[1, 2])
            result[i, k, 1] = 0.5 * (product[0, 2] - product[2, 0])
            result[i, k, 2] = 0.5 * (product[1, 0] - product[0, 1])


@compiled
def _multiply(a: FloatArray, b: FloatArray, product: FloatArray) -> None:
    for i in range(3):
        for j in range(3):
            product[i, j] = a[i, 0] * b[0, j] + a[i, 1] * b[1, j] + a[i, 2] * b[2, j]
