"""The truth goes by the simulator's own state, and finds what a wrong verifier would let pass."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from enpire.certification.fakes import FakeResult, show
from enpire.environment import Stations, build_stations

from .test_physics import module, task


@pytest.fixture(scope="module")
def stations() -> Iterator[Stations]:
    made = build_stations("tool_use", 1, 1)
    yield made
    made.wait()


def result_of(stations: Stations, monkeypatch: pytest.MonkeyPatch, name: str) -> FakeResult:
    """What is said of one fake by sensors."""
    (fake,) = [fake for fake in task().fakes() if fake.name == name]
    monkeypatch.setattr(stations.task, "fakes", lambda: (fake,))
    (result,) = show(stations, [2], None)
    assert result.shown, result.reason
    return result


@pytest.mark.parametrize(
    ("name", "threshold", "wrong"),
    [
        ("nothing cut", "PARTED", -1.0),
        ("bundle moved", "SHIFT", 50.0),
        ("cutter turned by a quarter", "TURNED", 91.0),
        ("cutter astride its stand's wall", "TURNED", 91.0),
        ("palm on the cutter", "AWAY", -50.0),
    ],
)
def test_the_truth_finds_a_wrong_threshold_of_the_verifier(
    stations: Stations, monkeypatch: pytest.MonkeyPatch, name: str, threshold: str, wrong: float
) -> None:
    monkeypatch.setattr(module("verify"), threshold, wrong)
    if hasattr(module("task"), threshold):
        monkeypatch.setattr(module("task"), threshold, wrong)
    result = result_of(stations, monkeypatch, name)
    assert result.said, result.reason
    assert not result.was


@pytest.mark.parametrize(
    ("name", "threshold", "wrong"),
    [
        ("bundle moved", "MOVED", 50.0),
        ("cutter turned by a quarter", "ALONG", -1.0),
        ("palm on the cutter", "NEAR", -50.0),
        ("bundle held", "NEAR", -50.0),
    ],
)
def test_the_verifier_finds_a_wrong_threshold_of_the_truth(
    stations: Stations, monkeypatch: pytest.MonkeyPatch, name: str, threshold: str, wrong: float
) -> None:
    monkeypatch.setattr(module("truth"), threshold, wrong)
    result = result_of(stations, monkeypatch, name)
    assert not result.said
    assert result.was
