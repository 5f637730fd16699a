"""Physical resets of pick_cube: from wherever the cube is, to where it is asked for."""

from __future__ import annotations

import numpy as np
import pytest

from enpire.certification.examination import Counts, TaskExamination
from enpire.environment import Job, ResetMode, Stations, build_stations
from enpire.environment.resets.physical_reset import TRIES
from enpire.types import Episode, Float32Array, FloatArray, Outcome, Purpose

pytestmark = pytest.mark.medium


class Leaves:
    """Makes the mess of a test in the first period, by writing it; then does nothing."""

    def __init__(self, stations: Stations, cube: tuple[float, ...] | None = None) -> None:
        self.stations, self.cube = stations, cube

    def begin(self, row: int, rng: np.random.Generator, exploration: float) -> None:
        self._done = False

    def act(self, rows: object, observations: object, readings: object) -> Float32Array:
        if self.cube is not None and not self._done:
            twin = self.stations.twin
            at = twin.model.joint("task_cube").qposadr[0]
            twin.qpos[0, at : at + 7] = self.cube
            self._done = True
        return np.array([[0, 0, 0, 0, 0, 0, -0.4]], dtype=np.float32)


def put_back(cube: tuple[float, ...], seed: int = 5) -> tuple[Stations, Episode]:
    """Stations at the end of an episode that began with a reset from `cube`."""
    stations = build_stations("pick_cube", 1, 1, ResetMode.PHYSICAL)
    stations.execute_periods = 10
    done: list[Episode] = []
    for i, made in enumerate((cube, None)):
        job = Job(seed + i, Purpose.COLLECTION, Leaves(stations, made), "mess")
        stations.begin(0, job)
        while stations.busy:
            done += stations.tick()
        stations.wait()
    return stations, done[-1]


def cube(stations: Stations) -> FloatArray:
    at = stations.twin.model.joint("task_cube").qposadr[0]
    return stations.twin.qpos[0, at : at + 7].copy()


FLAT = (1.0, 0.0, 0.0, 0.0)
ON_A_SIDE = (np.cos(np.pi / 4), np.sin(np.pi / 4), 0.0, 0.0)


@pytest.mark.parametrize(
    "mess",
    [
        (0.21, 0.04, 0.0125, *FLAT),
        (0.14, -0.09, 0.0125, *ON_A_SIDE),
        (0.28, 0.09, 0.0125, 0.92, 0.0, 0.0, 0.39),
        (0.20, 0.0, 0.05, 0.9, 0.3, 0.2, 0.1),  # thrown
    ],
)
def test_the_cube_is_brought_to_where_it_is_asked_for(mess: tuple[float, ...]) -> None:
    stations, episode = put_back(mess)
    assert episode.verdict.outcome is Outcome.FAILURE, episode.verdict.reason
    assert episode.times.execute > 0
    (rng, *_) = np.random.default_rng(6).spawn(4)
    wanted = stations.task.sample(rng)
    found = cube(stations)
    np.testing.assert_allclose(found[:2], wanted[:2], atol=0.008)
    assert found[2] == pytest.approx(0.0125, abs=0.001)
    w, x, y, z = found[3:]
    axis = complex(1 - 2 * (y * y + z * z), 2 * (x * y + w * z))
    other = complex(2 * (x * y - w * z), 1 - 2 * (x * x + z * z))
    flat = max(axis, other, key=abs)
    turn = np.angle(flat**4 * np.exp(-4j * wanted[2])) / 4
    assert abs(turn) < 0.15


def test_a_cube_out_of_reach_is_given_up_soon() -> None:
    stations, episode = put_back((0.45, 0.0, 0.0125, *FLAT))
    assert episode.verdict.outcome is Outcome.INVALID
    assert f"reset failed {TRIES} times: cube_off" in episode.verdict.reason
    assert episode.times.reset < 15.0
    assert stations.aside


@pytest.mark.slow  # few of the same in every lane: `physical` in tests/packs/test_every_pack.py
def test_what_policies_leave_is_put_back_and_starts_are_those_of_a_fast_reset() -> None:
    def build(count: int, threads: int) -> Stations:
        return build_stations("pick_cube", count, threads)

    rows = {row.check: row for row in TaskExamination(build, Counts.all(30)).rows(["physical"])}
    assert rows["physical reset"].passed is True, rows["physical reset"].detail
    assert rows["physical reset"].trials == 30
    assert rows["same starts"].passed is True, rows["same starts"].detail
