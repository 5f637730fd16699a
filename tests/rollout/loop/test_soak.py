"""A loop that runs for long, continued again and again, leaves nothing behind in its process."""

from __future__ import annotations

import gc
import os
import threading
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from enpire.improvement.recipe import Candidate
from enpire.improvement.training_process import TrainingHandle, TrainingRequest, recipe_inputs
from enpire.store import Run
from enpire.store.fsck import check
from tests.improvement.here import Done, Here
from tests.rollout.loop.test_loop import SLOW, TINY, Moves, go

LOOSE = TINY.but(robots=8, collect=24, target=0.99)
SAME = Moves(SLOW)
GROWTH = 1.05  # of memory after the warm-up


class Elsewhere(Here):
    """Trains as a process of its own does: what a recipe reads of the run is not kept here."""

    def begin(self, run: Run, asked: TrainingRequest) -> TrainingHandle:
        return WithoutEpisodes(run, asked)


class WithoutEpisodes(Done):
    """A training by a recipe that learns from nothing."""

    def candidate(self, within: float) -> Candidate:
        return self.asked.recipe.improve(recipe_inputs(self.run, self.asked, []))


@dataclass(frozen=True)
class Held:
    """What this process holds."""

    memory: int
    threads: int
    files: int
    shared: int
    children: int


def _held() -> Held:
    gc.collect()
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    files = [os.readlink(path) for path in Path("/proc/self/fd").iterdir() if path.is_symlink()]
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    return Held(
        int(status["VmRSS"].split()[0]) << 10,
        threading.active_count(),
        len(files),
        sum("/dev/shm/" in name for name in files),
        len(children),
    )


def _soak(folder: Path, parts: int, rounds: int) -> None:
    """Continue a loop so many times, for so many rounds more each; the first is the warm-up."""
    warm = None
    for part in range(1, parts + 1):
        go(folder, SAME, SAME, rounds=part * rounds, settings=LOOSE, trainer=Elsewhere())
        held = _held()
        warm = warm or held
        said = f"after {part * rounds} rounds: {held}, and {warm} after the first"
        print(said)
        assert held.memory <= warm.memory * GROWTH, said
        assert replace(held, memory=0) == replace(warm, memory=0), said
    assert not check(folder).damage


@pytest.mark.medium
def test_a_loop_that_is_continued_leaves_nothing_in_its_process(tmp_path: Path) -> None:
    _soak(tmp_path / "run", 3, 3)


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_so_does_one_of_hundreds_of_rounds(tmp_path: Path) -> None:
    _soak(tmp_path / "run", 20, 25)
