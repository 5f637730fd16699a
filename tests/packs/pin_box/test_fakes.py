"""States that are no success, although they may pass for one: nobody calls any of them one."""

from __future__ import annotations

import pytest

from enpire.certification.fakes import SENSORS, FakeResult, show
from enpire.environment import Fake, Stations, build_stations
from tests.graphics import verifier_cameras_of

from .samples import module


def shown(*fakes: Fake, cameras: bool = False) -> list[FakeResult]:
    """What is said of some fakes, one seed each."""
    stations: Stations = build_stations("pin_box", 1, 1)
    stations.task.fakes = lambda: fakes  # type: ignore[method-assign]
    verifier_cameras = verifier_cameras_of(stations) if cameras else None
    try:
        return list(show(stations, [0], verifier_cameras))
    finally:
        if verifier_cameras is not None:
            verifier_cameras.close()


def fake(name: str) -> Fake:
    """That of a name."""
    (found,) = [one for one in module("fakes").fakes() if one.name == name]
    return found


def test_there_are_eight_or_more() -> None:
    names = [one.name for one in module("fakes").fakes()]
    assert len(set(names)) == len(names) >= 8


@pytest.mark.parametrize("cameras", [False, True])
def test_no_fake_deceives_sensors_cameras_or_truth(cameras: bool) -> None:
    results = shown(*module("fakes").fakes(), cameras=cameras)
    assert all(r.shown for r in results), [(r.fake, r.reason) for r in results if not r.shown]
    assert not [r for r in results if r.said]
    assert not [r for r in results if r.was]


@pytest.mark.parametrize("cameras", [False, True])
def test_pins_that_are_written_into_their_holes_are_a_success(cameras: bool) -> None:
    """So what is said of the others is not for how they were written."""
    genuine = Fake("none", "a success", module("fakes").seated().write)
    for result in shown(genuine, cameras=cameras):
        assert result.said, result.reason
        assert result.was


@pytest.mark.parametrize(
    "name",
    ["a finger leans on a seated pin", "a finger jams a pin half-way", "the hand rests on a pin"],
)
def test_a_hand_that_is_at_a_pin_with_another_part_than_its_pads_has_not_let_go(name: str) -> None:
    """Measured from the grasp point alone it was 20 mm away, for verifier and truth alike."""
    (result,) = shown(fake(name))
    assert result.judge == SENSORS
    assert "let_go" in result.reason


def test_truth_finds_a_verifier_with_wrong_thresholds(monkeypatch: pytest.MonkeyPatch) -> None:
    verify, name = module("verify"), "standing beside its hole"
    loose = {"seated": -0.01, "in_line": 0.01}
    wrong = [(n, loose.get(n, needs), *rest) for n, needs, *rest in verify.CONDITIONS]
    monkeypatch.setattr(verify, "CONDITIONS", tuple(wrong))
    (result,) = shown(fake(name))
    assert (result.said, result.was) == (True, False)


def test_the_verifier_finds_a_truth_with_wrong_thresholds(monkeypatch: pytest.MonkeyPatch) -> None:
    truth = module("truth")
    monkeypatch.setattr(truth, "UNTOUCHED", -5.0)
    (result,) = shown(fake("the hand rests on a pin"))
    assert (result.said, result.was) == (False, True)
