"""The skill script: it seats pins, and draws nothing."""

from __future__ import annotations

from enpire.environment import build_stations
from tests.packs.scripts import run


def test_the_plain_script_seats_pins() -> None:
    done = run(build_stations("pin_box", 4, 1), range(8))
    assert sum(e.success for e in done) >= 6


def test_its_numbers_are_heard() -> None:
    """One that does not steer never comes to its hole."""
    done = run(build_stations("pin_box", 2, 1), range(2), steer=0.0)
    assert not any(e.success for e in done)


def test_it_draws_nothing() -> None:
    stations = build_stations("pin_box", 2, 1)
    one, again = (run(stations, range(2))[0] for _ in range(2))
    assert one.actions.tobytes() == again.actions.tobytes()
