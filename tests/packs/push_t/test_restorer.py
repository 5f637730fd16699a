"""Physical resets of push_t: the block pushed to where it is asked for."""

from __future__ import annotations

import numpy as np
import pytest

from enpire.certification.examination import Counts, TaskExamination
from enpire.environment import Stations, build_stations

from .modules import module

pytestmark = pytest.mark.medium

geometry = module("geometry")


@pytest.mark.slow  # few of the same in every lane: `physical` in tests/packs/test_every_pack.py
def test_what_policies_leave_is_put_back() -> None:
    def build(count: int, threads: int) -> Stations:
        stations = build_stations("push_t", count, threads)
        stations.execute_periods = 100
        return stations

    rows = {row.check: row for row in TaskExamination(build, Counts.all(12)).rows(["physical"])}
    assert rows["physical reset"].passed is True, rows["physical reset"].detail
    assert rows["physical reset"].trials == 12
    assert rows["same starts"].passed is True, rows["same starts"].detail


@pytest.mark.parametrize(("shift", "turn", "holds"), [(0.0, 0.0, True), (0.006, 0.1, False)])
def test_the_look_allows_millimetres(shift: float, turn: float, holds: bool) -> None:
    stations = build_stations("push_t", 1, 1)
    task = stations.task
    wanted = task.sample(np.random.default_rng(1))
    found = wanted.copy()
    found[0] += shift
    found[2] += turn
    stations.set_initial_state(0, found)
    stations.sensors.begin(0, np.random.default_rng(2))
    row = np.array([0])
    readings, _ = stations.sensors.read(row, [0])
    skills = task.restorer(np.random.default_rng(0), wanted[:7])
    covers, flat = skills.in_place([readings])
    assert covers.holds == holds
    assert flat.holds
