"""Episodes of a pack's skill script."""

from __future__ import annotations

from enpire.environment import Job, Stations
from enpire.policies.skill import SkillController
from enpire.types import Episode, Purpose


def run(stations: Stations, seeds: range, **changed: float) -> list[Episode]:
    """An episode a seed with the plain values, but for those that are changed, in their order."""
    values = {p.name: p.plain for p in stations.parameters} | changed
    controller = SkillController(stations.task, values)
    waiting, done = list(seeds), list[Episode]()
    while waiting or stations.busy:
        for row in stations.idle[: len(waiting)]:
            stations.begin(row, Job(waiting.pop(0), Purpose.COLLECTION, controller, "s"))
        done += stations.tick()
    return sorted(done, key=lambda e: e.seed)
