"""Blocks that are none on the pad deceive nobody, and one that is passes by the same route."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from enpire.certification.fakes import FakeResult, show
from enpire.environment import Fake, Stations
from tests.packs.modules import module
from tests.packs.truths import shown


def placed(stations: Stations, x: float = 0.0) -> Fake:
    """A block on the pad, off its middle by x [m], and a hand that is raised."""
    fakes = module(stations.task, "fakes")
    state = replace(fakes.PLACED, block=(x, 0.0, fakes.ON))
    solver = module(stations.task, "task").Kinematics(
        stations.twin.scene.world, stations.twin.scene.robot
    )
    write = partial(fakes.write, solver, state)
    return Fake("placed", "", write, partial(fakes.stay, state), 12)


def test_no_fake_deceives_verifier_or_truth(stations: Stations) -> None:
    names = {fake.name for fake in stations.task.fakes()}
    results: list[FakeResult] = list(show(stations, [0], None))
    assert len(names) == len(results) >= 10
    for result in results:
        assert result.shown, f"{result.fake} never came to the verifier: {result.reason}"
        assert not result.said, f"{result.fake} deceives the verifier"
        assert not result.was, f"{result.fake} deceives the truth"


@pytest.mark.parametrize("x", [0.0, 0.010])
def test_a_block_on_the_pad_passes_by_the_same_route(stations: Stations, x: float) -> None:
    result = shown(stations, placed(stations, x))
    assert (result.said, result.was) == (True, True), result.reason


def test_truth_finds_a_wrong_threshold_of_the_verifier(
    stations: Stations, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module(stations.task, "verify"), "INSIDE", -9.0)
    result = shown(stations, placed(stations, 0.022))
    assert (result.said, result.was) == (True, False)


@pytest.mark.parametrize(("threshold", "value"), [("INSIDE", 20.0), ("FLAT", -1.0)])
def test_the_verifier_finds_a_wrong_threshold_of_the_truth(
    stations: Stations, monkeypatch: pytest.MonkeyPatch, threshold: str, value: float
) -> None:
    monkeypatch.setattr(module(stations.task, "truth"), threshold, value)
    result = shown(stations, placed(stations))
    assert (result.said, result.was) == (True, False)
