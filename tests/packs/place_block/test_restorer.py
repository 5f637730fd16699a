"""Physical resets of place_block: from wherever the block is, to where it is asked for."""

from __future__ import annotations

import numpy as np
import pytest

from enpire.environment import Job, ResetMode, Stations, build_stations
from enpire.environment.resets.physical_reset import TRIES
from enpire.types import Episode, Float32Array, FloatArray, Outcome, Purpose

pytestmark = pytest.mark.medium


class Leaves:
    """Makes the mess of a test in the first period, by writing it; then does nothing."""

    def __init__(self, stations: Stations, block: tuple[float, ...] | None) -> None:
        self.stations, self.block = stations, block

    def begin(self, row: int, rng: np.random.Generator, exploration: float) -> None:
        self._done = False

    def act(self, rows: object, observations: object, readings: object) -> Float32Array:
        if self.block is not None and not self._done:
            self.stations.twin.qpos[0, at(self.stations)] = self.block
            self._done = True
        return np.array([[0, 0, 0, 0, 0, 0, 0.65]], dtype=np.float32)


def at(stations: Stations) -> slice:
    """Where the block's position and quaternion stand in `qpos`."""
    first = stations.twin.model.joint("task_block").qposadr[0]
    return slice(first, first + 7)


def put_back(block: tuple[float, ...]) -> tuple[Stations, Episode]:
    """Stations at the end of an episode that began with a reset from `block`."""
    stations = build_stations("place_block", 1, 1, ResetMode.PHYSICAL)
    stations.execute_periods = 10
    done: list[Episode] = []
    for seed, made in ((5, block), (6, None)):
        stations.begin(0, Job(seed, Purpose.COLLECTION, Leaves(stations, made), "mess"))
        while stations.busy:
            done += stations.tick()
        stations.wait()
    return stations, done[-1]


def yaw_between(quaternion: FloatArray, wanted: float) -> float:
    """How far a cube is turned from where it is wanted, up to quarter turns [rad]."""
    w, x, y, z = quaternion
    one = complex(1 - 2 * (y * y + z * z), 2 * (x * y + w * z))
    other = complex(2 * (x * y - w * z), 1 - 2 * (x * x + z * z))
    flat = max(one, other, key=abs)
    return float(np.angle(flat**4 * np.exp(-4j * wanted))) / 4


@pytest.mark.parametrize(
    "mess",
    [
        (0.36, -0.17, 0.02, np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0),  # far out, on a side
        (0.50, 0.02, 0.09, 0.9, 0.3, 0.2, 0.1),  # thrown
    ],
)
def test_the_block_is_brought_to_where_it_is_asked_for(mess: tuple[float, ...]) -> None:
    stations, episode = put_back(mess)
    assert episode.verdict.outcome is Outcome.FAILURE, episode.verdict.reason
    assert episode.times.execute > 0
    (rng, *_) = np.random.default_rng(6).spawn(4)
    wanted = stations.task.sample(rng)
    block = stations.twin.qpos[0, at(stations)]
    np.testing.assert_allclose(block[:3], [*wanted[:2], 0.02], atol=0.007)
    assert abs(yaw_between(block[3:], wanted[2])) < 0.15


def test_a_block_out_of_reach_is_given_up_soon() -> None:
    stations, episode = put_back((0.75, 0.0, 0.02, 1.0, 0.0, 0.0, 0.0))
    assert episode.verdict.outcome is Outcome.INVALID
    assert f"reset failed {TRIES} times: block_off" in episode.verdict.reason
    assert episode.times.reset < 15.0
    assert stations.aside
