"""Sensors: as noisy as they say, tared, and repeatable by seed."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from enpire.environment import Readings, SensorNoise, Stations
from enpire.environment.control.kernels import small_rotation, turn_between
from enpire.environment.control.sensing import Sensors
from enpire.errors import PackError
from tests.environment.reach import START, reach_stations

ROW = np.array([0])
PERIODS = 400


def still(noise: SensorNoise) -> tuple[Stations, Sensors]:
    """An arm at rest, and sensors of its hand."""
    stations = reach_stations()
    twin, control = stations.twin, stations.control
    twin.qpos[0, control.arms[0].qpos] = START
    control.set(0, np.array([START]), np.zeros(1))
    twin.forward(0)
    twin.step(ROW, 200)
    return stations, Sensors(control, ("task_goal",), noise, PERIODS)


def read(stations: Stations, sensors: Sensors, seed: int = 0) -> list[Readings]:
    sensors.begin(0, np.random.default_rng(seed))
    return [sensors.read(ROW, [i])[0] for i in range(PERIODS)]


NONE = SensorNoise(*(0.0,) * 7)


def test_without_noise_readings_are_the_truth() -> None:
    stations, sensors = still(NONE)
    now = read(stations, sensors)[0]
    twin, arm = stations.twin, stations.control.arms[0]
    goal = twin.model.site("task_goal").id
    np.testing.assert_array_equal(now.position[0, 0], twin.site_xpos[0, goal])
    np.testing.assert_allclose(now.rotation[0, 0].ravel(), twin.site_xmat[0, goal])
    np.testing.assert_array_equal(now.joints[0, 0], twin.qpos[0, arm.qpos])
    np.testing.assert_array_equal(now.hand_position[0, 0], twin.site_xpos[0, arm.grasp])
    np.testing.assert_allclose(now.wrist_force, 0, atol=1e-12)


def test_the_wrist_is_zeroed_and_feels_the_rest() -> None:
    stations, sensors = still(NONE)
    sensors.begin(0, np.random.default_rng(0))
    twin = stations.twin
    applied = twin.bind("xfrc_applied")
    body = twin.model.site_bodyid[stations.control.arms[0].grasp]
    applied[0, body, :3] = (0.0, 0.0, -2.0)
    stations.control.set(0, stations.control.setpoints[0], np.zeros(1))
    twin.step(ROW, 400)
    felt = sensors.read(ROW, [0])[0].wrist_force[0, 0]
    assert abs(felt[2]) == pytest.approx(2.0, abs=0.3), "along the world's z, whatever the wrist's"
    assert np.abs(felt[:2]).max() < 0.4


def test_noise_has_the_size_it_says() -> None:
    noise = SensorNoise(0.002, 0.0, 0.01, 0.0, 0.003, 0.5)
    stations, sensors = still(noise)
    seen = read(stations, sensors)
    spread = {
        name: np.std([getattr(r, name) for r in seen], axis=0)
        for name in ("position", "joints", "wrist_force")
    }
    np.testing.assert_allclose(spread["position"], 0.002, rtol=0.2)
    np.testing.assert_allclose(spread["joints"], 0.003, rtol=0.2)
    np.testing.assert_allclose(spread["wrist_force"], 0.5, rtol=0.2)
    turned = Rotation.from_matrix([r.rotation[0, 0] for r in seen])
    np.testing.assert_allclose(turned.as_rotvec().std(axis=0), 0.01, rtol=0.25)


def test_a_bias_stays_for_the_episode_and_changes_with_the_next() -> None:
    stations, sensors = still(SensorNoise(0.0, 0.002, 0.0, 0.0, 0.0, 0.0))
    first = [r.position[0, 0] for r in read(stations, sensors, seed=1)]
    np.testing.assert_array_equal(first[0], first[-1])
    biases = np.array([read(stations, sensors, seed)[0].position[0, 0] for seed in range(60)])
    np.testing.assert_allclose(biases.std(axis=0), 0.002, rtol=0.35)


def test_the_tracker_is_late_by_a_share_of_a_period() -> None:
    stations = reach_stations()
    twin, control = stations.twin, stations.control
    site = twin.model.site("task_goal").id
    latency = 0.75 * control.period
    sensors = Sensors(control, ("task_goal",), SensorNoise(*(0.0,) * 6, latency), PERIODS)
    shares = []
    for seed in range(40):
        twin.reset(0)
        twin.forward(0)
        start = twin.site_xpos[0, site].copy()
        sensors.begin(0, np.random.default_rng(seed))
        first = sensors.read(ROW, [0])[0].position[0, 0]
        np.testing.assert_array_equal(first, start, "before it moves it is where it was")
        twin.site_xpos[0, site, 0] += 0.01
        moved = sensors.read(ROW, [1])[0].position[0, 0]
        again = sensors.read(ROW, [1])[0].position[0, 0]
        np.testing.assert_array_equal(again, moved, "a period may be read again")
        shares.append(1.0 - (moved - start)[0] / 0.01)
        arrived = sensors.read(ROW, [2])[0].position[0, 0]
        np.testing.assert_allclose(arrived - start, (0.01, 0, 0), atol=1e-12)
    assert 0.0 <= min(shares) < 0.15
    assert 0.6 < max(shares) <= 0.75


def test_sensors_that_no_episode_has_begun_on_see_what_is_there() -> None:
    stations = reach_stations()
    twin = stations.twin
    twin.reset(0)
    twin.forward(0)
    sensors = Sensors(stations.control, ("task_goal",), NONE, PERIODS)
    seen = sensors.read(ROW, [0])[0]
    goal = twin.model.site("task_goal").id
    np.testing.assert_array_equal(seen.position[0, 0], twin.site_xpos[0, goal])
    np.testing.assert_allclose(seen.rotation[0, 0].ravel(), twin.site_xmat[0, goal])


def test_a_late_turn_is_on_its_way() -> None:
    vector = np.empty(3)
    now = Rotation.from_rotvec([0.2, -0.1, 0.3])
    turn = np.array([0.02, 0.01, -0.03])
    before = Rotation.from_rotvec(turn) * now
    turn_between(now.as_matrix().ravel(), before.as_matrix().ravel(), vector)
    np.testing.assert_allclose(vector, turn, atol=1e-5)


def test_a_tracker_later_than_a_period_is_refused() -> None:
    control = reach_stations().control
    with pytest.raises(PackError, match=r"latency is 0\.05 s"):
        Sensors(control, ("task_goal",), SensorNoise(latency=0.05), PERIODS)


def test_noise_drawn_again_leaves_the_bias_and_what_was_before() -> None:
    stations, sensors = still(SensorNoise())
    before = read(stations, sensors)
    sensors.draw_again(0, np.random.default_rng(7), 3)
    after = [sensors.read(ROW, [i])[0] for i in range(PERIODS)]
    for i, (one, other) in enumerate(zip(before, after, strict=True)):
        for name in ("position", "rotation", "joints", "wrist_force"):
            same = getattr(one, name).tobytes() == getattr(other, name).tobytes()
            assert same == (i < 3), (name, i)
    stations, sensors = still(SensorNoise(0.0, 0.002, 0.0, 0.0, 0.0, 0.0))
    before = read(stations, sensors)
    sensors.draw_again(0, np.random.default_rng(7), 0)
    np.testing.assert_array_equal(sensors.read(ROW, [1])[0].position, before[1].position)


def test_readings_repeat_by_seed() -> None:
    stations, sensors = still(SensorNoise())
    one, same, other = (read(stations, sensors, seed)[3] for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.position, same.position)
    np.testing.assert_array_equal(one.wrist_force, same.wrist_force)
    assert (one.position != other.position).any()


def test_some_stations_readings_in_any_order() -> None:
    stations, sensors = still(SensorNoise())
    now = read(stations, sensors)[0]
    twice = now.at([0, 0])
    assert all(len(getattr(twice, name)) == 2 for name in Readings.__slots__)
    np.testing.assert_array_equal(twice.row(1).position, now.position)


def test_small_rotations_are_rotations_to_second_order() -> None:
    rng = np.random.default_rng(0)
    vectors = rng.normal(0, 0.05, (50, 3))
    exact = Rotation.from_rotvec(vectors).as_matrix()
    found = np.empty_like(exact)
    for vector, result in zip(vectors, found, strict=True):
        small_rotation(vector, result)
    error = abs(found - exact).max(axis=(1, 2))
    assert (error < 0.4 * np.linalg.norm(vectors, axis=1) ** 3).all()
    small_rotation(np.zeros(3), found[0])
    np.testing.assert_array_equal(found[0], np.eye(3))


def test_axes_are_joints_and_gripper_of_each_arm_and_none_of_no_station() -> None:
    shapes = ((2, 3), (2,), (2, 3), (2, 3, 3), (2, 3), (2, 3), (1, 3), (1, 3, 3))
    readings = Readings(*(np.arange(np.prod((4, *s)), dtype=float).reshape(4, *s) for s in shapes))
    assert readings.axes.shape == (4, 8)
    assert readings.axes[0].tolist() == [0, 1, 2, 0, 3, 4, 5, 1]
    assert readings.at([]).axes.shape == (0, 8)
