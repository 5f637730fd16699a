"""The skill script: it picks the cube up, and each of its numbers is one that can be set."""

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
