"""States that pass for a seated peg deceive nobody; a seated one, written so, is a success."""

from __future__ import annotations

import pytest

from enpire.certification.fakes import show
from enpire.environment import Stations, build_stations
from tests.packs.modules import module

SEED = 300


@pytest.fixture(scope="module")
def stations() -> Stations:
    return build_stations("peg_insertion", 1, 1)


def test_no_fake_deceives_sensors_or_truth(stations: Stations) -> None:
    results = list(show(stations, [SEED], None))
    assert len({r.fake for r in results}) == len(results) == len(stations.task.fakes()) >= 10
    for result in results:
        assert result.shown, f"{result.fake} never came to the verifier: {result.reason}"
        assert not result.said, f"{result.fake} deceives {result.judge}"
        assert not result.was, f"{result.fake} deceives the truth"
    (leant,) = [r for r in results if r.fake == "leant on"]
    assert "clear " in leant.reason


def test_a_seated_peg_that_is_written_so_is_a_success(
    stations: Stations, monkeypatch: pytest.MonkeyPatch
) -> None:
    kinematics = stations.task._kinematics  # type: ignore[attr-defined]
    genuine = module(stations.task, "fakes").genuine(kinematics)
    monkeypatch.setattr(stations.task, "fakes", lambda: (genuine,))
    (result,) = show(stations, [SEED], None)
    assert result.said, result.reason
    assert result.was
