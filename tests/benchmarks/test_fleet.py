"""Fleets of different sizes side by side, from ledgers written by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import fleet as bench
from enpire.store import Interval, Phase, Run, SealedRow
from enpire.types import Purpose
from tests.store.samples import episode


def fleet(folder: Path, stations: int, work_s: float) -> bench.FleetResult:
    """Half of the time before the sealed evaluation resetting, a tenth idle."""
    settings = {"task": "t", "robots": stations, "target": 0.9, "sealed_episodes": 10}
    part = work_s / 10
    intervals = [
        Interval(0, Phase.RESET, 0.0, 5 * part, "a"),
        Interval(0, Phase.EXECUTE, 5 * part, 8 * part, "a"),
        Interval(0, Phase.VERIFY, 8 * part, 9 * part, "a"),
        Interval(0, Phase.IDLE, 9 * part, work_s),
        Interval(0, Phase.EXECUTE, work_s, work_s + 100.0, "s"),
    ]
    episodes = [episode("a"), episode("s", purpose=Purpose.SEALED)]
    with Run.create(folder, {"loop": settings}) as run:
        run.add_episodes(episodes, intervals)
        run.ledger.add_sealed(SealedRow(1, "policy-1", 5, 10, 10, 0.7, 1.0))
    return bench.read(folder)


def test_hours_end_where_the_sealed_evaluation_begins(tmp_path: Path) -> None:
    found = fleet(tmp_path / "run", 1, 3600.0)
    assert found.hours == pytest.approx(1.0)
    assert found.sealed_hours == pytest.approx(100 / 3600)
    assert found.mru == pytest.approx(0.3)


def test_more_stations_are_so_many_times_as_fast(tmp_path: Path) -> None:
    fleets = [fleet(tmp_path / "one", 1, 7200.0), fleet(tmp_path / "eight", 8, 1080.0)]
    *_, one, eight = bench.markdown(fleets).splitlines()
    assert "| 1 | 2.00 | 1.0 |" in one
    assert "| 8 | 0.30 | 6.7 |" in eight
    assert "80.0% | 50% | 0% | 10%" in eight, "at work, resetting, aside, idle"


def test_a_loop_without_its_target_has_no_hours(tmp_path: Path) -> None:
    settings = {"task": "t", "robots": 2, "target": 0.9, "sealed_episodes": 10}
    with Run.create(tmp_path / "run", {"loop": settings}) as run:
        run.add_episodes([episode("a")], [Interval(0, Phase.EXECUTE, 0.0, 9.0, "a")])
    found = bench.read(tmp_path / "run")
    assert found.hours is None
    assert "| 2 | - | - |" in bench.markdown([found])
