"""Constructed states that are no success: neither the verifier nor the truth calls them one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from enpire.certification.fakes import CAMERAS, SENSORS, FakeResult, show
from enpire.environment import Fake, Stations, build_stations
from tests.graphics import verifier_cameras_of

from .test_physics import module, task

NAMES = [fake.name for fake in task().fakes()]
SEED = 5


@pytest.fixture(scope="module")
def stations() -> Iterator[Stations]:
    made = build_stations("tool_use", 2, 1)
    yield made
    made.wait()


def by_name(results: Iterator[FakeResult], judge: str) -> dict[str, FakeResult]:
    return {result.fake: result for result in results if result.judge == judge}


@pytest.fixture(scope="module")
def felt(stations: Stations) -> dict[str, FakeResult]:
    return by_name(show(stations, [SEED], None), SENSORS)


@pytest.fixture(scope="module")
def seen(stations: Stations) -> Iterator[dict[str, FakeResult]]:
    verifier_cameras = verifier_cameras_of(stations)
    yield by_name(show(stations, [SEED], verifier_cameras), CAMERAS)
    verifier_cameras.close()


@pytest.mark.parametrize("name", NAMES)
def test_a_fake_deceives_neither_tracker_nor_truth(felt: dict[str, FakeResult], name: str) -> None:
    result = felt[name]
    assert result.shown, result.reason
    assert not result.said
    assert not result.was


@pytest.mark.medium
@pytest.mark.parametrize("name", NAMES)
def test_a_fake_does_not_deceive_cameras(seen: dict[str, FakeResult], name: str) -> None:
    result = seen[name]
    assert result.shown, result.reason
    assert not result.said
    assert not result.was


def test_there_are_enough_of_them_and_each_has_a_name_of_its_own() -> None:
    assert len(set(NAMES)) == len(NAMES) >= 8
    assert all(fake.why for fake in task().fakes())


@pytest.mark.medium
@pytest.mark.parametrize("judge", [SENSORS, CAMERAS])
def test_a_success_that_is_written_in_the_same_way_is_one(
    stations: Stations, monkeypatch: pytest.MonkeyPatch, judge: str
) -> None:
    genuine = Fake("a genuine success", "", module("fakes").write_genuine)
    monkeypatch.setattr(stations.task, "fakes", lambda: (genuine,))
    verifier_cameras = verifier_cameras_of(stations) if judge == CAMERAS else None
    (result,) = by_name(show(stations, [SEED], verifier_cameras), judge).values()
    if verifier_cameras is not None:
        verifier_cameras.close()
    assert result.said, result.reason
    assert result.was
