"""States that pass for a seated card deceive nobody; a seated one, written so, is a success."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from enpire.certification.fakes import CAMERAS, FakeResult, show
from enpire.environment import Fake, Stations, build_stations
from tests.graphics import verifier_cameras_of
from tests.packs.modules import module

SEED = 300


@pytest.fixture(scope="module")
def stations() -> Iterator[Stations]:
    made = build_stations("gpu_insertion", 1, 1)
    yield made
    made.wait()


def shown(
    stations: Stations, monkeypatch: pytest.MonkeyPatch, *names: str, genuine: bool = False
) -> list[FakeResult]:
    """What sensors and truth say of some fakes, or of the genuine state."""
    task = stations.task
    chosen: tuple[Fake, ...] = tuple(f for f in task.fakes() if f.name in names)
    if genuine:
        chosen = (module(stations.task, "fakes").genuine(task._kinematics),)
    monkeypatch.setattr(task, "fakes", lambda: chosen)
    return list(show(stations, [SEED], None))


def require_undeceived(results: list[FakeResult], states: int) -> None:
    assert len(results) == states
    for result in results:
        assert result.shown, f"{result.fake} never came to the verifier: {result.reason}"
        assert not result.said, f"{result.fake} deceives {result.judge}"
        assert not result.was, f"{result.fake} deceives the truth"


def test_no_fake_deceives_sensors_or_truth(stations: Stations) -> None:
    names = {fake.name for fake in stations.task.fakes()}
    assert len(names) == len(stations.task.fakes()) >= 10
    require_undeceived(list(show(stations, [SEED], None)), len(names))


def test_no_fake_deceives_cameras(stations: Stations) -> None:
    verifier_cameras = verifier_cameras_of(stations)
    try:
        results = list(show(stations, [SEED], verifier_cameras))
    finally:
        verifier_cameras.close()
    require_undeceived(results, len(stations.task.fakes()))
    assert {result.judge for result in results} == {CAMERAS}


def test_a_seated_card_that_is_written_so_is_a_success(
    stations: Stations, monkeypatch: pytest.MonkeyPatch
) -> None:
    (result,) = shown(stations, monkeypatch, genuine=True)
    assert result.said, result.reason
    assert result.was


def test_a_hand_that_leans_on_a_seated_card_is_what_is_wrong(
    stations: Stations, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All else holds: before fingers had to be clear of it, this was called a success."""
    (result,) = shown(stations, monkeypatch, "leant on")
    assert result.reason.startswith("clear ")
    assert ";" not in result.reason


def test_the_truth_finds_a_verifier_that_asks_for_no_clearance(
    stations: Stations, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module(stations.task, "verify"), "CLEAR", -100.0)
    (result,) = shown(stations, monkeypatch, "leant on")
    assert result.said
    assert not result.was


def test_the_verifier_finds_a_wrong_threshold_in_the_truth(
    stations: Stations, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module(stations.task, "truth"), "TOUCH", 1e3)
    (result,) = shown(stations, monkeypatch, "leant on")
    assert result.was
    assert not result.said
