"""Physical resets of peg_insertion: the peg seated, taken anew, held over the hole."""

from __future__ import annotations

import numpy as np
import pytest

from enpire.environment import Readings, Stations, build_stations
from enpire.errors import ResetFailed


@pytest.fixture(scope="module")
def stations() -> Stations:
    return build_stations("peg_insertion", 1, 1)


def placed(stations: Stations, drawn: np.ndarray, lean: float = 0.0) -> Readings:
    """What is seen of a start whose peg is then leant over by an angle [rad]."""
    task, twin = stations.task, stations.twin
    twin.reset(0)
    task.vary(twin, 0, drawn)
    task.place(twin, stations.control, 0, drawn)
    at = twin.model.joint("task_peg").qposadr[0]
    if lean:
        twin.qpos[0, at + 3 : at + 7] = np.cos(lean / 2), 0.0, np.sin(lean / 2), 0.0
    twin.forward(0)
    stations.sensors.begin(0, np.random.default_rng(2))
    return stations.sensors.read(np.array([0]), [0])[0]


@pytest.mark.parametrize(("name", "shift"), [("peg_x", 0.004), ("peg_rx", 0.08), ("peg_z", 0.004)])
def test_the_look_allows_millimetres(stations: Stations, name: str, shift: float) -> None:
    task = stations.task
    drawn = task.sample(np.random.default_rng(1))
    seen = placed(stations, drawn)
    targets = len(task.target_names)
    here = task.restorer(np.random.default_rng(0), drawn[:targets]).in_place([seen])
    assert all(p.holds for p in here)
    wanted = drawn.copy()
    wanted[task.variation_names.index(name)] += shift
    there = task.restorer(np.random.default_rng(0), wanted[:targets]).in_place([seen])
    assert not all(p.holds for p in there)


def test_a_peg_that_lies_is_left_to_a_person(stations: Stations) -> None:
    task = stations.task
    drawn = task.sample(np.random.default_rng(1))
    seen = placed(stations, drawn, lean=1.5)
    skills = task.restorer(np.random.default_rng(0), drawn[: len(task.target_names)])
    with pytest.raises(ResetFailed, match="by hand"):
        skills.clear(seen)


def test_the_block_stays_while_the_peg_may_be_in_it(stations: Stations) -> None:
    task, twin = stations.task, stations.twin
    rng = np.random.default_rng(3)
    here, there = task.sample(rng), task.sample(rng)
    placed(stations, here)
    block = twin.model.site("task_block").id
    before = twin.site_xpos[0, block].copy()
    task.settle(twin, stations.control, 0, 0.3)  # the weld of a fast reset lets go
    task.vary(twin, 0, there)
    twin.forward(0)
    np.testing.assert_array_equal(twin.site_xpos[0, block], before)
    task.settle(twin, stations.control, 0, 0.0)
    twin.forward(0)
    moved = twin.site_xpos[0, block] - before
    np.testing.assert_allclose(moved, [*(there[:2] - here[:2]), 0.0], atol=1e-12)
