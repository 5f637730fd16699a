"""The skill script: it picks the cube up, and each of its numbers is one that can be set."""

from __future__ import annotations

from enpire.environment import build_stations
from tests.packs.scripts import run


def test_the_plain_script_picks_cubes_up_and_a_careful_one_more() -> None:
    stations = build_stations("pick_cube", 4, 1)
    plain = run(stations, range(12))
    careful = run(
        stations, range(12), aligned=0.004, beside=0.003, low=0.0165, opened=-0.5, down=0.6
    )
    assert sum(e.success for e in plain) >= 4
    assert sum(e.success for e in careful) >= max(10, sum(e.success for e in plain))


def test_it_draws_nothing() -> None:
    stations = build_stations("pick_cube", 2, 1)
    one, again = (run(stations, range(2))[0] for _ in range(2))
    assert one.actions.tobytes() == again.actions.tobytes()
