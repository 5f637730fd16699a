"""Blocks that do not lie on the outline deceive nobody, and one that does passes so written."""

from __future__ import annotations

import numpy as np
import pytest

from enpire.certification.fakes import CAMERAS, show
from enpire.environment import Fake, Stations, build_stations, load_task
from enpire.packs import find
from tests.graphics import verifier_cameras_of
from tests.packs.truths import made, shown

from .modules import module

NAMES = tuple(fake.name for fake in load_task(find("tasks", "push_t")).fakes())


@pytest.fixture(scope="module")
def stations() -> Stations:
    return build_stations("push_t", 1, 1)


def covers(**changed: object) -> Fake:
    return made(module("fakes"), "COVERS", **changed)


def test_there_are_ten() -> None:
    assert len(set(NAMES)) >= 10


@pytest.mark.parametrize("name", NAMES)
def test_a_fake_deceives_neither_verifier_nor_truth(stations: Stations, name: str) -> None:
    (fake,) = [f for f in stations.task.fakes() if f.name == name]
    result = shown(stations, fake)
    assert result.shown
    assert not result.said
    assert not result.was


@pytest.mark.medium
def test_no_fake_deceives_the_cameras(stations: Stations) -> None:
    found = list(show(stations, [0], verifier_cameras_of(stations)))
    assert {r.judge for r in found} == {CAMERAS}
    assert len(found) == len(NAMES)
    assert [r.fake for r in found if r.said or not r.shown] == []


def test_a_block_on_its_outline_passes_by_the_same_route(stations: Stations) -> None:
    result = shown(stations, covers())
    assert (result.said, result.was) == (True, True), result.reason


def test_a_block_just_near_enough_passes(stations: Stations) -> None:
    result = shown(stations, covers(shift=(0.0, -0.0036)))
    assert (result.said, result.was) == (True, True), result.reason


def test_truth_finds_a_wrong_threshold_of_the_verifier(
    stations: Stations, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module("verify"), "SEEN_COVERED", 0.80)
    result = shown(stations, covers(shift=(0.0056, 0.0)))
    assert (result.said, result.was) == (True, False)


@pytest.mark.parametrize(("threshold", "value"), [("OPENED", 0.2), ("BORNE", 2.0)])
def test_the_verifier_finds_a_wrong_threshold_of_the_truth(
    stations: Stations, monkeypatch: pytest.MonkeyPatch, threshold: str, value: float
) -> None:
    monkeypatch.setattr(module("truth"), threshold, value)
    result = shown(stations, covers(shift=(0.001, 0.0)))
    assert (result.said, result.was) == (True, False)


def test_truth_s_share_is_the_polygons(stations: Stations) -> None:
    """Two routes to one number: points in boxes, and clipped polygons."""
    twin, at = stations.twin, stations.twin.model.joint("task_block").qposadr[0]
    rng = np.random.default_rng(0)
    goal = module("geometry").GOAL
    for off in rng.normal(0.0, (0.004, 0.004, 0.08), (12, 3)):
        x, y, yaw = goal + off
        turn = (np.cos(yaw / 2), 0.0, 0.0, np.sin(yaw / 2))
        twin.qpos[0, at : at + 7] = (x, y, 0.010, *turn)
        share = module("truth").covered(*twin.simulation(0))
        assert share == pytest.approx(module("geometry").overlap(goal + off), abs=0.0015)


def test_a_block_in_the_air_covers_nothing_truly(stations: Stations) -> None:
    twin, at = stations.twin, stations.twin.model.joint("task_block").qposadr[0]
    yaw = module("geometry").GOAL[2]
    for high, expected in ((0.010, 1.0), (0.014, 0.0)):
        turn = (np.cos(yaw / 2), 0.0, 0.0, np.sin(yaw / 2))
        twin.qpos[0, at : at + 7] = (*module("geometry").GOAL[:2], high, *turn)
        assert module("truth").covered(*twin.simulation(0)) == pytest.approx(expected, abs=0.001)
