"""Stations and plain environments see the same where they do the same."""

from __future__ import annotations

import numpy as np
import pytest
from gymnasium.vector import SyncVectorEnv

from benchmarks.plain_env import PlainEnv
from benchmarks.vector import ClosedLoop, beginnings, bench_vector, processor_time
from enpire.environment import build_stations
from enpire.gymnasium.environment import TaskVectorEnv

pytestmark = pytest.mark.medium

TASK, COUNT, PERIODS, SEED = "pick_cube", 2, 6, 3


def test_all_sides_see_the_same() -> None:
    stations = build_stations(TASK, COUNT, threads=1)
    rng = np.random.default_rng(0)
    drawn = 0.2 * rng.standard_normal((PERIODS + 2, COUNT, stations.task.actions.size))
    actions = drawn.clip(-1, 1).astype(np.float32)
    ours = TaskVectorEnv(TASK, COUNT, threads=1)
    first, _ = ours.reset(seed=SEED)
    begun = beginnings(ours, first)
    plain = SyncVectorEnv([lambda at=each: PlainEnv(TASK, at) for each in begun])  # type: ignore[misc]
    begins, _ = plain.reset()
    np.testing.assert_array_equal(begins, first)
    saw = [first]
    for step in range(PERIODS):
        seen = ours.step(actions[step])[0]
        np.testing.assert_allclose(plain.step(actions[step])[0], seen, rtol=1e-5, atol=1e-6)
        saw.append(seen)
    closed = ClosedLoop(stations, actions, SEED)
    while closed.at.min() <= PERIODS:
        stations.tick()
    for row in range(COUNT):
        for step in range(PERIODS + 1):
            np.testing.assert_array_equal(closed.seen[row][step], saw[step][row])
    stations.abort("seen")
    ours.close()


@pytest.mark.slow
def test_ours_is_held_against_both_of_gymnasium() -> None:
    measured = bench_vector(TASK, count=2, blocks=1)
    assert set(measured.compared.leaner) == {"TaskVectorEnv", "Sync", "Async"}
    assert measured.periods > 1


def test_the_processor_time_of_others_is_told() -> None:
    assert processor_time([1]) >= processor_time([]) > 0


@pytest.mark.slow
def test_with_pictures_ours_is_held_against_both_of_gymnasium() -> None:
    measured = bench_vector(TASK, count=2, blocks=1, images=64)
    assert set(measured.compared.leaner) == {"Sync", "Async"}


def test_a_plain_environment_with_pictures_shows_what_each_camera_sees() -> None:
    stations = TaskVectorEnv(TASK, 1, threads=1)
    begun = beginnings(stations, stations.reset(seed=SEED)[0])[0]
    env = PlainEnv(TASK, begun, images=32)
    seen, _ = env.reset()
    assert env.observation_space.contains(seen)
    np.testing.assert_array_equal(seen["state"], begun.observation)
    one, other = seen["pictures"]
    assert (one != other).any()
    env.close()
    stations.close()
