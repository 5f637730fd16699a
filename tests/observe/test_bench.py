"""The bench measures what it says; the figure itself is no test's business."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from enpire.environment import Demonstrations, Job, build_stations
from enpire.observe.bench import SNAPSHOT_PERIODS, _Snapshots, bench_twin
from enpire.store import Run
from enpire.types import Purpose


def test_bench_counts_both_sides_alike(tmp_path: Path) -> None:
    stations = build_stations("pick_cube", 2)
    measured = bench_twin(stations, tmp_path / "run", blocks=1, block_s=0.05)
    assert 0 < measured.fraction_of_c < 1.5
    assert measured.fraction_range == (measured.fraction_of_c, measured.fraction_of_c)
    assert 0 < measured.policy_share < 1
    assert 0 < measured.steps < stations.twin.substeps_done  # the first block is not counted
    with Run.open(tmp_path / "run") as run:
        assert len(run.episodes()) >= measured.episodes  # recorded, as in a run


def test_raw_steps_go_on_where_the_station_was() -> None:
    stations = build_stations("pick_cube", 2)
    snapshots = _Snapshots(stations)
    demonstrations = Demonstrations(stations.task)
    stations.begin(1, Job(3, Purpose.DEMONSTRATION, demonstrations, "d"))
    for _ in range(SNAPSHOT_PERIODS):
        stations.tick()
        stations.wait()
        snapshots.look(0.0)
    batch = snapshots.batch()
    assert batch.nsim == 1  # the idle station is left out
    twin = stations.twin
    assert np.array_equal(batch.state[0], twin.state[1])
    batch.step(nstep=stations.substeps)
    twin.step([1], stations.substeps)
    assert np.array_equal(batch.state[0], twin.state[1])
