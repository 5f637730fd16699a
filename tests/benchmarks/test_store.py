"""What is written and read back in the comparison is the same on every side."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch

from benchmarks.store import (
    PERIODS,
    bench_store,
    copy_run,
    made_up,
    read_dataset,
    read_run,
    write_dataset,
    write_run,
)
from enpire.store import Run
from tests.store.samples import same

pytestmark = pytest.mark.medium


def test_both_give_the_same_periods_in_the_same_order(tmp_path: Path) -> None:
    episodes = made_up(3)
    write_run(tmp_path / "run", episodes)
    write_dataset(tmp_path / "set", episodes)
    order = torch.randperm(3 * PERIODS, generator=torch.Generator().manual_seed(0))
    ours = list(read_run(tmp_path / "run", order))
    theirs = list(read_dataset(tmp_path / "set", order))
    for one, other in zip(ours, theirs, strict=True):
        for mine, their in zip(one, other, strict=True):
            torch.testing.assert_close(mine, their, rtol=0, atol=0)


def test_a_copy_is_a_run_with_the_same_episodes(tmp_path: Path) -> None:
    episodes = made_up(9, size=8)
    write_run(tmp_path / "run", episodes)
    copy_run(tmp_path / "run", tmp_path / "copy")
    for name in ("config.toml", "policies"):
        (tmp_path / "run" / name).rename(tmp_path / "copy" / name)
    with Run.open(tmp_path / "copy") as run:
        for one, other in zip(run.episodes(), episodes, strict=True):
            assert same(one.observations, other.observations)
            assert same(one.pictures, other.pictures)


@pytest.mark.parametrize(("size", "others"), [(0, {"copy", "LeRobot"}), (8, {"copy"})])
def test_ours_is_held_against_the_others(size: int, others: set[str], tmp_path: Path) -> None:
    measured = bench_store(tmp_path, episodes=2, blocks=1, size=size)
    write, read = measured.compared
    assert set(write.faster) == others
    assert set(read.leaner) == (others - {"copy"}) | {"files"}
    assert measured.periods == 2 * PERIODS
    for ratio in (*write.faster.values(), *read.leaner.values()):
        assert 0 < ratio.least <= ratio.median <= ratio.largest < math.inf
