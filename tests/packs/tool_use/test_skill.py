"""The skill script: it cuts and puts the cutter back, from either start, and draws nothing."""

from __future__ import annotations

import pytest

from enpire.environment import Stations, build_stations
from enpire.types import Episode
from tests.packs.scripts import run


@pytest.fixture(scope="module")
def stations() -> Stations:
    return build_stations("tool_use", 2, 1)


@pytest.fixture(scope="module")
def plain(stations: Stations) -> list[Episode]:
    return run(stations, range(2))


def test_the_plain_script_cuts_and_puts_the_cutter_back(plain: list[Episode]) -> None:
    assert all(e.success for e in plain), [e.verdict.reason for e in plain]


def test_it_draws_nothing(stations: Stations, plain: list[Episode]) -> None:
    again = run(stations, range(2))
    assert [e.actions.tobytes() for e in again] == [e.actions.tobytes() for e in plain]


@pytest.mark.parametrize(("name", "value"), [("pace", 0.5), ("squeeze", 25.0), ("clear", 0.045)])
def test_one_that_goes_slowly_or_far_takes_longer(
    stations: Stations, plain: list[Episode], name: str, value: float
) -> None:
    (other,) = run(stations, range(1), **{name: value})
    assert other.success, other.verdict.reason
    assert len(other) > len(plain[0])


def test_one_that_squeezes_too_short_does_not_part_the_strap(stations: Stations) -> None:
    (episode,) = run(stations, range(1), squeeze=1.0)
    assert "parted" in episode.verdict.failed


def test_from_the_stand_it_takes_the_cutter_first() -> None:
    (episode,) = run(build_stations("tool_use@start", 1, 1), range(1))
    assert episode.success, episode.verdict.reason
