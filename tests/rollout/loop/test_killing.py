"""A loop is killed at points of its store, with SIGKILL, and comes to the end it would have had."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


def _kill(folder: Path, kills: int) -> list[str]:
    """The points that it was killed at."""
    program = [sys.executable, "-m", "tests.rollout.loop.killing", str(folder), str(kills)]
    ended = subprocess.run(program, cwd=ROOT, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.split()


@pytest.mark.medium
def test_killed_at_ten_points_a_loop_comes_to_the_same(tmp_path: Path) -> None:
    assert len(_kill(tmp_path, 10)) == 10


@pytest.mark.slow  # the ten above are a part of them
@pytest.mark.timeout(3600)
def test_killed_at_any_point_and_again_a_loop_comes_to_the_same(tmp_path: Path) -> None:
    assert len(_kill(tmp_path, 0)) > 100
