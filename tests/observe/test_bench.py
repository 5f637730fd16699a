"""The bench measures what it says; the figure itself is no test's business."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from enpire.environment import Demonstrations, Job, build_stations
from enpire.observe import bench
from enpire.observe.bench import _Launches, bench_twin
from enpire.store import Run
from enpire.types import Purpose


def test_bench_counts_both_sides_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "STARTS", 10)
    stations = build_stations("pick_cube", 2)
    measured = bench_twin(stations, tmp_path / "run", blocks=1, block_s=0.05)
    assert 0 < measured.fraction_of_c < 1.5
    assert measured.fraction_range == (measured.fraction_of_c, measured.fraction_of_c)
    assert 0 < measured.policy_share < 1
    assert 0 < measured.steps < stations.twin.substeps_done  # the first block is not counted
    with Run.open(tmp_path / "run") as run:
        assert len(run.episodes()) >= measured.episodes  # recorded, as in a run


def test_the_raw_side_repeats_control_periods_bit_by_bit() -> None:
    stations = build_stations("pick_cube", 2)
    launches = _Launches(stations)
    stations.begin(1, Job(3, Purpose.DEMONSTRATION, Demonstrations(stations.task), "d"))
    while not launches.starts:
        stations.tick()
        stations.wait()
    batch = launches.batch()
    assert batch.nsim == 1  # the idle station is left out
    assert not np.array_equal(batch.state[0], stations.twin.state[1])
    batch.step(nstep=stations.substeps)
    assert np.array_equal(batch.state[0], stations.twin.state[1])
