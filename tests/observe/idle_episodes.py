"""Episodes of a policy that does nothing, which a twin carries out again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest

from enpire.environment import Job, build_stations
from enpire.environment.cameras.twin_cameras import NoGraphics
from enpire.observe.filming import HoldStill, TwinCamera
from enpire.observe.picture import Viewpoint
from enpire.types import Episode, Purpose


def idle_episodes(seeds: Iterable[int], purpose: Purpose, policy: str) -> list[Episode]:
    """Of `pick_cube`, which fails at its time limit; skips the test where nothing can be drawn."""
    stations = build_stations("pick_cube", 1, 1)
    try:
        with TwinCamera(stations, Viewpoint(width=32, height=32)):
            pass
    except NoGraphics as error:
        pytest.skip(str(error))
    still = HoldStill(stations.task.actions.size)
    episodes: list[Episode] = []
    for seed in seeds:
        stations.begin(0, Job(seed, purpose, still, policy))
        done: list[Episode] = []
        while not done:
            done = stations.tick()
        episodes.append(replace(done[0], packs=stations.packs))
    return episodes
