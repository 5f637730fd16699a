"""The skill script: it seats pins, and draws nothing."""

from __future__ import annotations

from enpire.environment import Job, Stations, build_stations
from enpire.policies.skill import SkillController
from enpire.types import Episode, Purpose


def run(stations: Stations, seeds: range, **changed: float) -> list[Episode]:
    values = {p.name: p.plain for p in stations.parameters} | changed
    controller = SkillController(stations.task, values)
    waiting, done = list(seeds), []
    while waiting or stations.busy:
        for row in stations.idle[: len(waiting)]:
            stations.begin(row, Job(waiting.pop(0), Purpose.COLLECTION, controller, "s"))
        done += stations.tick()
    return sorted(done, key=lambda e: e.seed)


def test_the_plain_script_seats_pins() -> None:
    done = run(build_stations("pin_box", 4, 1), range(8))
    assert sum(e.success for e in done) >= 6


def test_its_numbers_are_heard() -> None:
    """One that wants a pin straighter than can be seen never lowers it."""
    done = run(build_stations("pin_box", 2, 1), range(2), upright=0.0)
    assert not any(e.success for e in done)


def test_it_draws_nothing() -> None:
    stations = build_stations("pin_box", 2, 1)
    one, again = (run(stations, range(2))[0] for _ in range(2))
    assert one.actions.tobytes() == again.actions.tobytes()
