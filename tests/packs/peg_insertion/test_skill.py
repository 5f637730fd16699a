"""The skill script: it puts a peg in, and draws nothing."""

from __future__ import annotations

from enpire.environment import build_stations
from tests.packs.scripts import run


def test_the_plain_script_puts_a_peg_in_the_same_way_each_time() -> None:
    stations = build_stations("peg_insertion", 1, 1)
    (plain,), (again,) = (run(stations, range(1)) for _ in range(2))
    assert plain.success, plain.verdict.reason
    assert again.actions.tobytes() == plain.actions.tobytes()
