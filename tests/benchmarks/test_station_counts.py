"""Fleets of several sizes run the same episodes, and are held against the smallest."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.station_counts import StationCounts, bench_station_counts, table
from benchmarks.turns import Turns
from enpire.store import Run


@pytest.mark.medium
def test_fleets_of_all_sizes_record_the_same_episodes(tmp_path: Path) -> None:
    counts = bench_station_counts("pick_cube", tmp_path, sizes=(1, 3), episodes=3, blocks=1)
    recorded = []
    for folder in ("1-0", "3-0"):
        with Run.open(tmp_path / folder) as run:
            recorded.append(sorted(run.episodes(), key=lambda episode: episode.seed))
    for one, other in zip(*recorded, strict=True):
        assert one.id == other.id
        np.testing.assert_array_equal(one.observations, other.observations)
        np.testing.assert_array_equal(one.actions, other.actions)
    assert len(recorded[0]) == counts.episodes == 3
    assert counts.rate(1) > 0


def test_a_fleet_is_held_against_the_smallest_turn_by_turn() -> None:
    turns = {4: Turns((1.0, 1.0), (2.0, 4.0)), 1: Turns((3.0, 5.0), (3.0, 5.0))}
    counts = StationCounts("pick_cube", 12, turns)
    assert counts.rate(4) == 4.0
    assert (counts.ratio(4).least, counts.ratio(4).largest) == (1.25, 1.5)
    assert counts.ratio(1).median == 1.0
    assert "| 4 | 4.0 | 1.38 [1.25, 1.50] times | 1.0 s |" in table(counts)
