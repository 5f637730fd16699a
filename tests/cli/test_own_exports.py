"""Right datasets come in without a word of doubt: a task's own demonstrations, out and in again."""

from __future__ import annotations

from pathlib import Path

import pytest

from enpire.cli import main

SLOW = ("pin_box", "place_block", "peg_insertion", "zip_tie", "gpu_insertion", "tool_use")


@pytest.mark.medium
@pytest.mark.parametrize(
    "task", ["pick_cube", *(pytest.param(task, marks=pytest.mark.slow) for task in SLOW)]
)
@pytest.mark.parametrize("seed", [5, 6])
def test_ten_demonstrations_of_its_own_are_told_nothing_of(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], task: str, seed: int
) -> None:
    run, dataset, back = (str(tmp_path / name) for name in ("run", "set", "back"))
    asked = ["collect", "--task", task, "--teleop", "script", "--episodes", "10"]
    assert main([*asked, "--seed", str(seed), "--run", run]) == 0
    assert main(["export", "lerobot", run, dataset, "--successes"]) == 0
    capsys.readouterr()
    assert main(["import", "lerobot", dataset, back, "--task", task]) == 0
    assert capsys.readouterr().out.splitlines()[-1].endswith("of them successes (by success)")
