"""Plans that are carried out without Python: what comes back of one that ends at once."""

from __future__ import annotations

import numpy as np

from enpire.environment import Job
from enpire.environment.control.chunk_executor import ChunkExecutor
from enpire.environment.stations.episode_state import StationPhase
from enpire.types import Purpose
from tests.environment.reach import reach_stations


def test_a_plan_that_is_cut_off_at_its_start_was_not_begun() -> None:
    """A wrist feels more than the limit in the period before: nothing was read, nothing sent."""
    stations = reach_stations()
    stations.begin(0, Job(0, Purpose.DEMONSTRATION, stations.starter[1], "d"))
    while stations.phase(0) is not StationPhase.EXECUTE:
        stations.tick()
    stations.wait()
    plan = np.zeros((3, 7), np.float32)
    axes = stations.control.command[0].size
    touchy = ChunkExecutor(stations.sensors, stations.substeps, force_limit=-1.0)
    readings, sent = touchy.advance(0, plan, 1)
    assert readings.axes.shape == (0, axes)
    assert sent.shape == (0, axes)
    readings, sent = ChunkExecutor(stations.sensors, stations.substeps, 1e9).advance(0, plan, 1)
    assert readings.axes.shape == (3, axes)
    assert sent.shape == (3, axes)
