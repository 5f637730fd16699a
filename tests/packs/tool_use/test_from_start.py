"""The task from its beginning: the cutter in its stand, the hand before it and open."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from enpire.certification.controllers import Nothing
from enpire.environment import Stations, build_stations
from enpire.environment.stations.stations import StationPhase
from enpire.types import FloatArray, Outcome
from tests.packs.starting import Watching, begin, finish, wait

STANDING = (0.0, 0.0, 0.0255)  # of the pivot from the stand's floor [m]
BEFORE = (-0.080, 0.0, 0.065)  # of the hand from the pivot, nominal [m]


@pytest.fixture(scope="module")
def stations() -> Iterator[Stations]:
    made = build_stations("tool_use@start", 1, 1)
    yield made
    made.wait()


def site(stations: Stations, name: str) -> FloatArray:
    """Its position [m]."""
    twin = stations.twin
    return twin.site_xpos[0, twin.model.site(f"task_{name}").id].copy()


def hand(stations: Stations) -> FloatArray:
    """Of the right arm, its grasp point [m]."""
    return stations.twin.site_xpos[0, stations.control.arms[1].grasp].copy()


def test_the_hand_takes_the_cutter_cuts_and_brings_it_back(stations: Stations) -> None:
    watching = Watching(stations)
    begin(stations, 3, watching)
    strap = stations.twin.model.equality("task_strap").id
    assert stations.twin.eq_active[0, strap]
    episode = finish(stations)
    assert episode.verdict.outcome is Outcome.SUCCESS, episode.verdict.reason
    assert not stations.twin.eq_active[0, strap]
    back = site(stations, "cutter") - site(stations, "stand") - STANDING
    assert np.linalg.norm(back) < 0.008
    assert not any(watching.welded)
    assert max(watching.felt) < 25.0


def test_a_cutter_that_nobody_takes_stands_in_its_stand(stations: Stations) -> None:
    begin(stations, 1, Nothing(stations.control))
    before = site(stations, "cutter")
    wait(stations, 25)
    assert stations.phase(0) is StationPhase.EXECUTE
    np.testing.assert_allclose(site(stations, "cutter"), before, atol=2e-5)
    stations.abort("enough")


def test_the_hand_begins_open_before_the_cutter_each_time_elsewhere(stations: Stations) -> None:
    places = []
    for seed in (2, 3):
        begin(stations, seed, Nothing(stations.control))
        back = site(stations, "cutter") - site(stations, "stand") - STANDING
        assert np.linalg.norm(back) < 0.004
        assert stations.twin.actuator_length[0, stations.control.arms[1].gripper] > 0.055
        away = hand(stations) - site(stations, "cutter")
        np.testing.assert_allclose(away, BEFORE, atol=0.024)
        places.append(np.concatenate([site(stations, "stand")[:2], hand(stations)]))
        stations.abort("enough")
    assert abs(places[0] - places[1]).max() > 0.003


def test_it_is_reset_fast_only(stations: Stations) -> None:
    assert stations.task.target_names == ()
