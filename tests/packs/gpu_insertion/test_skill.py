"""The skill script: it seats cards, fetches one first, and draws nothing."""

from __future__ import annotations

import pytest

from enpire.environment import Stations, build_stations
from enpire.types import Episode
from tests.packs.scripts import run


@pytest.fixture(scope="module")
def stations() -> Stations:
    return build_stations("gpu_insertion", 4, 1)


@pytest.fixture(scope="module")
def plain(stations: Stations) -> list[Episode]:
    return run(stations, range(4))


def test_the_plain_script_seats_cards(plain: list[Episode]) -> None:
    assert all(e.success for e in plain), [e.verdict.reason for e in plain]


def test_it_draws_nothing(stations: Stations, plain: list[Episode]) -> None:
    again = run(stations, range(4))
    assert [e.actions.tobytes() for e in again] == [e.actions.tobytes() for e in plain]


@pytest.mark.parametrize(("name", "value"), [("pace", 0.0006), ("above", 0.006), ("down", 0.3)])
def test_one_that_goes_slowly_or_far_takes_longer(
    stations: Stations, plain: list[Episode], name: str, value: float
) -> None:
    (other,) = run(stations, range(1), **{name: value})
    assert other.success, other.verdict.reason
    assert len(other) > len(plain[0])


def test_one_that_wants_it_lined_up_better_than_can_be_seen_never_lowers_it(
    stations: Stations,
) -> None:
    assert not any(e.success for e in run(stations, range(2), care=0.0))


def test_from_the_cradle_it_fetches_the_card_first() -> None:
    (episode,) = run(build_stations("gpu_insertion@start", 1, 1), range(1))
    assert episode.success, episode.verdict.reason
