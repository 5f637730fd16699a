"""Joint positions of another zero, rate or moment than they say."""

from __future__ import annotations

import numpy as np
import pytest

from enpire.datasets.joint_signs import Followed, behind, moved_about, odd_joints
from enpire.types import FloatArray
from tests.environment.reach import reach_stations

HZ, NAMES = 30.0, ("pan", "lift", "roll")


def followed(
    hz: float = HZ, episodes: int = 8, seed: int = 0
) -> list[tuple[FloatArray, FloatArray]]:
    """An arm that comes after its leader by a time constant of 0.09 s, from about one posture."""
    rng, found = np.random.default_rng(seed), []
    for _ in range(episodes):
        times = np.arange(0, 4, 0.002)
        phase, start = rng.uniform(0, 6, 3), rng.normal(0, 0.05, 3)
        sent = start + 0.3 * np.sin(2 * times[:, None] + phase) - 0.3 * np.sin(phase)
        where = sent.copy()
        for row in range(1, len(sent)):
            where[row] = where[row - 1] + (sent[row - 1] - where[row - 1]) * 0.002 / 0.09
        rows = np.round(np.arange(0, 4, 1 / hz) / 0.002).astype(int)
        rows = rows[rows < len(times)]
        found.append((where[rows], sent[rows]))
    return found


def told(recorded: Followed, hz: float = HZ) -> str:
    return odd_joints(recorded, hz, followed(25.0, seed=1), 25.0, NAMES)


@pytest.mark.parametrize("hz", [15.0, 24.0, 30.0, 50.0, 60.0])
def test_an_arm_as_in_the_twin_is_not_told(hz: float) -> None:
    assert told(followed(hz), hz) == ""
    assert behind(followed(hz), hz) == pytest.approx(0.09, abs=0.02)


@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_another_rate_is_told(factor: float) -> None:
    assert "another rate" in told(followed(), HZ * factor)


def test_actions_that_were_written_late_are_told() -> None:
    late = [(m, np.concatenate([w[:1].repeat(2, axis=0), w[:-2]])) for m, w in followed()]
    assert "written late or early" in told(late)


def test_a_zero_that_is_turned_is_told_and_another_posture_is_not() -> None:
    roll, all_axes = np.array([0, 0, 0.35]), np.full(3, 0.35)
    assert "roll begins +2" in told([(m + roll, w + roll) for m, w in followed()])
    assert told([(m + all_axes, w + all_axes) for m, w in followed()]) == ""


def test_an_episode_that_runs_backwards_is_told() -> None:
    arm = followed()
    arm[3] = tuple(each[::-1] for each in arm[3])  # type: ignore[assignment]
    assert "(the first in its order: 3) in which the arm moves before its leader" in told(arm)


def test_an_arm_that_stands_says_nothing() -> None:
    assert told([(m * 0, w * 0) for m, w in followed()]) == ""


def test_the_twin_is_moved_about() -> None:
    stations = reach_stations(1)
    own = moved_about(stations)
    assert len(own) >= 8
    assert all(measured.shape == wanted.shape for measured, wanted in own)
    assert not stations.busy
