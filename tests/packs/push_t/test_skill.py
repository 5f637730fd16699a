"""The skill script: it brings the block to the outline."""

from __future__ import annotations

from enpire.environment import Job, build_stations
from enpire.policies.skill import SkillController
from enpire.types import Purpose


def test_the_plain_script_covers_the_outline() -> None:
    stations = build_stations("push_t", 2, 1)
    values = {p.name: p.plain for p in stations.parameters}
    controller = SkillController(stations.task, values)
    for row in range(2):
        stations.begin(row, Job(row, Purpose.COLLECTION, controller, "s"))
    done = []
    while stations.busy:
        done += stations.tick()
    assert [e.success for e in done] == [True, True]
