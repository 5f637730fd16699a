"""What begins is a process of its own, whose time and memory are told."""

from __future__ import annotations

import pytest

from benchmarks.start import bench_start
from enpire.errors import EnpireError


@pytest.mark.medium
def test_all_that_begins_is_told() -> None:
    python, usage, step, many = bench_start("pick_cube", times=1, many=2)
    assert python.memory == usage.memory == 0
    assert 0 < step.memory < many.memory + 10e6
    assert many.work == "first step of 2 stations"
    for each in (python, usage, step, many):
        assert each.processor_s[0] > 0
        assert each.wall_s[1] <= each.wall_s[0] <= each.wall_s[2]
    assert (usage.bar_s, step.bar_s) == (0.1, 4.0)


def test_what_fails_is_told(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(EnpireError, match="ended with 1"):
        bench_start("no_such_task", times=1)
    assert "no_such_task" in capfd.readouterr().err
