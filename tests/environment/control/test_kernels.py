"""What is compiled: the same as NumPy says, and row by row."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from enpire.environment import Stations, build_stations
from enpire.environment.control import kernels
from enpire.environment.frames import rotation_vector, seen_from
from enpire.types import FloatArray

N = 5


def moving_stations() -> Stations:
    """Two arms on each, every station somewhere else and pushed another way."""
    stations = build_stations("zip_tie", N, 1)
    twin, control = stations.twin, stations.control
    home = np.array([arm.home for arm in twin.scene.robot.arms])
    for row in range(N):
        twin.reset(row)
        rng = np.random.default_rng(row)
        for arm, joints in zip(control.arms, home, strict=True):
            twin.qpos[row, arm.qpos] = joints + rng.normal(0, 0.05, len(joints))
        control.set(row, home, np.zeros(2))
        twin.forward(row)
        stations.sensors.begin(row, rng)
    return stations


def moved(stations: Stations, rows: list[int]) -> tuple[list[FloatArray], FloatArray]:
    """Readings of `rows` and the setpoints after one action, both from where all stand."""
    control, chosen = stations.control, np.array(rows)
    before = control.setpoints.copy(), control.gripper.copy()
    readings, jacobian = stations.sensors.read(chosen, [7 + row for row in rows])
    np.testing.assert_array_equal(jacobian, control.jacobian(chosen))
    actions = np.array([np.random.default_rng(row).uniform(-1.5, 1.5, 14) for row in rows])
    force = np.array([np.random.default_rng(row).normal(0, 4, (2, 3)) for row in rows])
    control.apply(chosen, actions.astype(np.float32), jacobian, force)
    after = stations.twin.ctrl[rows].copy()
    control.setpoints[...], control.gripper[...] = before
    return [jacobian, *(getattr(readings, name) for name in readings.__slots__)], after


def test_a_row_does_not_depend_on_how_many_others_are_computed_with_it() -> None:
    stations = moving_stations()
    together, setpoints = moved(stations, list(range(N)))
    assert len(np.unique(setpoints, axis=0)) == N
    for row in range(N):
        alone, setpoint = moved(stations, [row])
        assert [a[0].tobytes() for a in alone] == [t[row].tobytes() for t in together]
        assert setpoint[0].tobytes() == setpoints[row].tobytes()


@pytest.mark.parametrize("dof", [5, 6, 7])
def test_least_squares_are_damped_and_weighted(dof: int) -> None:
    rng = np.random.default_rng(dof)
    J, twist = rng.normal(0, 0.3, (6, dof)), rng.normal(0, 0.01, 6)
    J[:, -1] = J[:, 0]  # close to singular, as an arm that is stretched out
    W = np.diag([1.0] * 3 + [kernels.ROTATION_LENGTH] * 3)
    A = W @ J
    damped = A @ A.T + kernels.DAMPING**2 * np.eye(6)
    expected = A.T @ np.linalg.solve(damped, W @ twist)
    np.testing.assert_allclose(kernels.least_squares(J, twist), expected, rtol=1e-9, atol=1e-12)


def test_one_object_seen_from_another() -> None:
    rng = np.random.default_rng(0)
    rotation = Rotation.random(6, rng).as_matrix().reshape(2, 3, 3, 3)
    position = rng.normal(0, 1, (2, 3, 3))
    at, turned = seen_from(2, 1, position, rotation)
    for i in range(2):
        eye = rotation[i, 2]
        np.testing.assert_allclose(at[i], eye.T @ (position[i, 1] - position[i, 2]), atol=1e-12)
        np.testing.assert_allclose(turned[i], eye.T @ rotation[i, 1], atol=1e-12)


def test_rotation_vectors_of_small_turns_from_a_reference() -> None:
    rng = np.random.default_rng(0)
    vectors = rng.normal(0, 0.05, (4, 2, 3))
    reference = Rotation.random(2, rng).as_matrix()
    small = Rotation.from_rotvec(vectors.reshape(-1, 3)).as_matrix().reshape(4, 2, 3, 3)
    same = np.array([np.eye(3)] * 2)
    back = reference.swapaxes(-1, -2)
    np.testing.assert_allclose(rotation_vector(back, reference @ small, same), vectors, atol=1e-3)
    np.testing.assert_allclose(rotation_vector(same, small @ reference, back), vectors, atol=1e-3)
