"""The task from its beginning: the card in its cradle, both hands open above it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from enpire.certification.controllers import Nothing
from enpire.environment import Stations, build_stations
from enpire.environment.stations.stations import StationPhase
from enpire.types import FloatArray, Outcome
from tests.packs.starting import Watching, begin, finish, wait


@pytest.fixture(scope="module")
def stations() -> Iterator[Stations]:
    made = build_stations("gpu_insertion@start", 1, 1)
    yield made
    made.wait()


def card(stations: Stations) -> FloatArray:
    """Its position [m]."""
    at = stations.twin.model.joint("task_card").qposadr[0]
    return stations.twin.qpos[0, at : at + 3].copy()


def test_both_hands_fetch_the_card_and_seat_it(stations: Stations) -> None:
    watching = Watching(stations)
    begin(stations, 0, watching)
    mouth = stations.twin.site_xpos[0, stations.twin.model.site("task_slot").id].copy()
    assert card(stations)[0] < mouth[0] - 0.10, "it is behind the motherboard"
    episode = finish(stations)
    assert episode.verdict.outcome is Outcome.SUCCESS, episode.verdict.reason
    assert 1e3 * (mouth - card(stations))[2] == pytest.approx(7.4, abs=0.4)
    assert not any(watching.welded)
    assert max(watching.felt) < 15.0


def test_a_card_that_nobody_fetches_stands_in_its_cradle(stations: Stations) -> None:
    begin(stations, 1, Nothing(stations.control))
    before = card(stations)
    wait(stations, 25)
    assert stations.phase(0) is StationPhase.EXECUTE
    np.testing.assert_allclose(card(stations), before, atol=1e-5)
    stations.abort("enough")


def test_the_hands_begin_open_above_the_card_each_time_elsewhere(stations: Stations) -> None:
    places = []
    for seed in (2, 3):
        begin(stations, seed, Nothing(stations.control))
        twin = stations.twin
        hands = twin.site_xpos[0, [arm.grasp for arm in stations.control.arms]]
        opening = twin.actuator_length[0, [arm.gripper for arm in stations.control.arms]]
        assert (opening > 0.035).all()
        above = hands[:, 2] - card(stations)[2]
        assert ((above > 0.076 + 0.015) & (above < 0.076 + 0.045)).all()
        places.append(np.concatenate([card(stations), hands.ravel()]))
        stations.abort("enough")
    assert abs(places[0] - places[1]).max() > 0.003


def test_its_hands_open_and_shut(stations: Stations) -> None:
    """Where the harness keeps jaws shut, nothing could be fetched."""
    assert stations.task.fixed_action_dims == {}
    assert stations.task.target_names == (), "it is reset fast only"
