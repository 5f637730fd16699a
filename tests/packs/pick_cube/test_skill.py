"""The skill script: it picks the cube up, and each of its numbers is one that can be set."""

from __future__ import annotations

from enpire.environment import build_stations
from tests.packs.scripts import run


def test_the_plain_script_picks_cubes_up_and_one_that_comes_down_on_them_does_not() -> None:
    """Measured were 12 and 2 of 12. The bounds are wide, as rounding differs by machine."""
    stations = build_stations("pick_cube", 4, 1)
    plain = run(stations, range(12))
    beside = run(stations, range(12), beside=-0.004)
    assert sum(e.success for e in plain) >= 8
    assert sum(e.success for e in beside) <= 4


def test_it_draws_nothing() -> None:
    stations = build_stations("pick_cube", 2, 1)
    one, again = (run(stations, range(2))[0] for _ in range(2))
    assert one.actions.tobytes() == again.actions.tobytes()
