"""Cubes that are none in the hand deceive nobody, and one that is passes by the same route."""

from __future__ import annotations

import numpy as np
import pytest

from enpire.certification.fakes import CAMERAS, show
from enpire.environment import Fake, Stations, build_stations, load_task
from enpire.packs import find
from enpire.types import Predicate
from tests.graphics import verifier_cameras_of
from tests.packs.modules import module
from tests.packs.truths import made, shown

NAMES = tuple(fake.name for fake in load_task(find("tasks", "pick_cube")).fakes())


@pytest.fixture(scope="module")
def stations() -> Stations:
    return build_stations("pick_cube", 1, 1)


def held(stations: Stations, **changed: object) -> Fake:
    return made(module(stations.task, "fakes"), "HELD", **changed)


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


def test_a_cube_that_is_held_passes_by_the_same_route(stations: Stations) -> None:
    result = shown(stations, held(stations))
    assert (result.said, result.was) == (True, True), result.reason


def test_the_cube_lies_where_a_fake_says_until_the_verifier_comes(stations: Stations) -> None:
    """Those that fall at once would show nothing of a cube on the fingers."""
    (fake,) = [f for f in stations.task.fakes() if f.name == "on the jaw's back"]
    seen: list[tuple[Predicate, ...]] = []
    truth = stations.task.ground_truth
    stations.task.ground_truth = lambda twin, row: seen.append(truth(twin, row)) or seen[-1]  # type: ignore[func-returns-value,method-assign]
    try:
        shown(stations, fake, seed=1)
    finally:
        stations.task.ground_truth = truth  # type: ignore[method-assign]
    by_name = {p.name: p for p in seen[-1]}
    assert by_name["rise"].holds
    assert by_name["stays"].holds
    assert not by_name["squeeze"].holds


@pytest.mark.parametrize(("threshold", "value"), [("LIFTED", 30.0), ("GRIPPED", -90.0)])
def test_truth_finds_a_wrong_threshold_of_the_verifier(
    stations: Stations, monkeypatch: pytest.MonkeyPatch, threshold: str, value: float
) -> None:
    verify = module(stations.task, "verify")
    monkeypatch.setattr(verify, threshold, value)
    if threshold == "GRIPPED":  # then it goes by places alone
        monkeypatch.setattr(verify, "COVERED", -90.0)
        monkeypatch.setattr(verify, "CENTRED", 90.0)
    name = {"LIFTED": "gripped, not lifted far enough", "GRIPPED": "across shut fingers"}[threshold]
    (fake,) = [f for f in stations.task.fakes() if f.name == name]
    result = shown(stations, fake, seed=1)
    assert (result.said, result.was) == (True, False)


@pytest.mark.parametrize(("threshold", "value"), [("SQUEEZE", 30.0), ("RISE", 120.0)])
def test_the_verifier_finds_a_wrong_threshold_of_the_truth(
    stations: Stations, monkeypatch: pytest.MonkeyPatch, threshold: str, value: float
) -> None:
    monkeypatch.setattr(module(stations.task, "truth"), threshold, value)
    result = shown(stations, held(stations))
    assert (result.said, result.was) == (True, False)


def test_a_cube_is_written_in_the_hand(stations: Stations) -> None:
    shown(stations, held(stations))
    twin, model = stations.twin, stations.twin.model
    at = model.joint("task_cube").qposadr[0]
    off = twin.qpos[0, at : at + 3] - twin.site_xpos[0, twin.scene.arms[0].grasp]
    assert np.linalg.norm(off) < 0.006
