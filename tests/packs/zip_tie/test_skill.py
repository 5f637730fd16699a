"""The skill script: it fastens zip ties, and draws nothing."""

from __future__ import annotations

from enpire.environment import Job, build_stations
from enpire.policies.skill import SkillController
from enpire.types import Episode, Purpose


def run(seeds: range, **changed: float) -> list[Episode]:
    stations = build_stations("zip_tie", len(seeds), 1)
    values = {p.name: p.plain for p in stations.parameters} | changed
    controller = SkillController(stations.task, values)
    for row, seed in enumerate(seeds):
        stations.begin(row, Job(seed, Purpose.COLLECTION, controller, "s"))
    done: list[Episode] = []
    while stations.busy:
        done += stations.tick()
    return sorted(done, key=lambda e: e.seed)


def test_the_plain_script_fastens_and_a_slow_one_takes_longer() -> None:
    plain, slow = run(range(1)), run(range(1), pace=0.0012)
    assert [e.success for e in (*plain, *slow)] == [True, True]
    assert len(slow[0]) > len(plain[0])


def test_it_draws_nothing() -> None:
    one, again = run(range(1)), run(range(1))
    assert one[0].actions.tobytes() == again[0].actions.tobytes()
