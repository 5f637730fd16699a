"""The skill script: it puts pegs in, and draws nothing."""

from __future__ import annotations

import pytest

from enpire.environment import Stations, build_stations
from tests.packs.scripts import run


@pytest.fixture(scope="module")
def stations() -> Stations:
    return build_stations("peg_insertion", 2, 1)


def test_the_plain_script_puts_pegs_in_the_same_way_each_time(stations: Stations) -> None:
    plain = run(stations, range(2))
    assert all(e.success for e in plain), [e.verdict.reason for e in plain]
    again = run(stations, range(2))
    assert [e.actions.tobytes() for e in again] == [e.actions.tobytes() for e in plain]


def test_one_that_wants_it_lined_up_better_than_can_be_seen_never_lowers_it(
    stations: Stations,
) -> None:
    assert not any(e.success for e in run(stations, range(1), care=0.0))
