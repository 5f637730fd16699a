"""The skill script: it fastens zip ties, and draws nothing."""

from __future__ import annotations

import pytest

from enpire.environment import Stations, build_stations
from enpire.types import Episode
from tests.packs.scripts import run


@pytest.fixture(scope="module")
def stations() -> Stations:
    return build_stations("zip_tie", 1, 1)


@pytest.fixture(scope="module")
def plain(stations: Stations) -> Episode:
    (done,) = run(stations, range(1))
    return done


def test_the_plain_script_fastens_and_a_slow_one_takes_longer(
    stations: Stations, plain: Episode
) -> None:
    (slow,) = run(stations, range(1), pace=0.0009)
    assert plain.success
    assert slow.success
    assert len(slow) > len(plain)


def test_it_draws_nothing(stations: Stations, plain: Episode) -> None:
    (again,) = run(stations, range(1))
    assert plain.actions.tobytes() == again.actions.tobytes()
