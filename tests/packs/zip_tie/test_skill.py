"""The skill script: it fastens zip ties, and draws nothing."""

from __future__ import annotations

import pytest

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


@pytest.fixture(scope="module")
def plain() -> Episode:
    (done,) = run(range(1))
    return done


def test_the_plain_script_fastens_and_a_slow_one_takes_longer(plain: Episode) -> None:
    (slow,) = run(range(1), pace=0.0012)
    assert plain.success
    assert slow.success
    assert len(slow) > len(plain)


def test_it_draws_nothing(plain: Episode) -> None:
    (again,) = run(range(1))
    assert plain.actions.tobytes() == again.actions.tobytes()
