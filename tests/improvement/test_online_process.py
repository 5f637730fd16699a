"""A learner in a process of its own: versions, a candidate, and what becomes of it when it dies."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import numpy as np
import pytest

from enpire.errors import RecipeError, TrainerKilledError
from enpire.improvement import online_process
from enpire.improvement import recipe_finding as recipes
from enpire.improvement.checkpoint import Checkpoint
from enpire.improvement.configured_recipe import ConfiguredRecipe
from enpire.improvement.online_process import FOLDER, OnlineProcess
from enpire.improvement.online_worker import in_turn, learned
from enpire.improvement.recipe import Candidate
from enpire.improvement.training_process import TrainingRequest, as_json
from enpire.improvement.versions import KEPT, read_version
from enpire.policies import ChunkSpec, FlowPolicy, FlowSpec, metadata
from enpire.store import Run
from enpire.store.curves import CurveReader
from enpire.types import Purpose
from tests.store.samples import episode

pytestmark = pytest.mark.medium

SPEC = ChunkSpec("t", observation=6, action=3, history=1, stride=1, chunk=4, execute=2, hidden=(8,))
LONG = 60.0  # seconds, on a busy machine
SMALL = {
    "critic.batch": "8",
    "samples": "2",
    "critics": "2",
    "width": "8",
    "warm_steps": "3",
    "steps": "0.5",
    "base_steps": "0.25",
}
FAILS = """
from __future__ import annotations
from dataclasses import dataclass
from enpire.errors import RecipeError, TrainerKilledError
from enpire.improvement.recipes.best_of_n import BestOfLearner, BestOfN

class Failing(BestOfLearner):
    def add(self, episodes):
        if episodes:
            raise RecipeError("the loss is nan")
        return super().add(episodes)

@dataclass(frozen=True)
class Fails(BestOfN):
    def learner(self, given):
        return Failing(self, given)

RECIPE = Fails
"""


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    with Run.create(tmp_path / "run", {}) as made:
        shown = {"policy": "expert", "round": 0, "purpose": Purpose.DEMONSTRATION}
        made.add_episodes([episode(f"d{i}", 8, **shown) for i in range(2)])
        collected = [episode(f"c{i}", 6 + i % 3, round=1, policy="policy-1.0") for i in range(40)]
        made.add_episodes(collected)
        base = FlowPolicy(FlowSpec.of(SPEC))
        made.save_policy("policy-0", base.tensors(), metadata(base))
        yield made


def request(recipe: ConfiguredRecipe | None = None) -> TrainingRequest:
    named = recipe or recipes.schedule("best_of_n", SMALL)[0]
    return TrainingRequest(named, SPEC, 1, "policy-0", seed=5)


def begun(run: Run, recipe: ConfiguredRecipe | None = None) -> OnlineProcess:
    return OnlineProcess(run.folder, request(recipe), first=1)


def learned_here(run: Run, blocks: int) -> tuple[list[int], dict[str, np.ndarray]]:
    """The versions that a learner in this process makes of the first blocks, and the last one."""
    folder = run.folder / FOLDER / "1"
    folder.mkdir(parents=True, exist_ok=True)
    asked = iter([{"block": block(number)} for number in range(blocks)])
    said = list(learned(run, folder, as_json(run.folder, request()) | {"first": 1}, asked))
    last = read_version(folder, said[-1]["version"], said[-1]["sha256"])
    return [each["version"] for each in said], last.tensors()


def block(number: int) -> list[str]:
    return [f"c{2 * number + at}" for at in range(2)]


def wait_for(process: OnlineProcess, version: int) -> dict[str, np.ndarray]:
    until = time.monotonic() + LONG
    while not process.has(version):
        assert time.monotonic() < until, "no such version came"
        time.sleep(0.01)
    return process.policy(version).tensors()


def candidate_of(process: OnlineProcess) -> Candidate:
    process.ask_candidate(now=False)
    until = time.monotonic() + LONG
    while (found := process.candidate()) is None:
        assert time.monotonic() < until, "no candidate came"
        time.sleep(0.01)
    return found


def same(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> bool:
    return one.keys() == other.keys() and all(np.array_equal(one[n], other[n]) for n in one)


def test_versions_follow_blocks_and_a_candidate_is_the_last(run: Run) -> None:
    process = begun(run)
    try:
        assert process.newest() == 0, "the policy to improve is there at once"
        process.hand_over(block(0))
        first = wait_for(process, 1)
        for number in range(1, 3):
            process.hand_over(block(number))
        last = wait_for(process, 3)
        assert not same(first, last)
        assert process.numbers["steps"] == 3 + (6 + 7 + 8 + 6 + 7 + 8) // 2
        candidate = candidate_of(process)
        assert same(candidate.policy.tensors(), last)
        assert candidate.numbers["episodes"] == 6
        for number in range(3, 4 + KEPT):
            process.hand_over(block(number))
        wait_for(process, 4 + KEPT)
        curve = [p for p in CurveReader(run.folder).read() if p.name == "online/steps"]
        assert {point.training for point in curve} == {"learner-1"}
        assert [point.step for point in curve] == list(range(1, 5 + KEPT))
        assert curve[2].value == 3 + (6 + 7 + 8 + 6 + 7 + 8) // 2
        names = {path.name for path in process.folder.glob("version-*")}
        assert "version-4.safetensors" not in names, "old ones are removed"
        assert len(names) == KEPT
    finally:
        process.close()


def test_one_that_is_killed_comes_to_the_same_weights(run: Run) -> None:
    _, expected = learned_here(run, 4)
    for path in (run.folder / FOLDER / "1").iterdir():
        path.unlink()

    for kill_at in (1, 3):  # it begins anew, or from what it kept
        process = begun(run)
        for number in range(kill_at):
            process.hand_over(block(number))
        wait_for(process, kill_at)
        os.kill(process._process.pid, signal.SIGKILL)
        with pytest.raises(TrainerKilledError, match="exit code -9"):
            wait_for(process, kill_at + 1)
        process.close()
    process = begun(run)
    for number in range(4):
        process.hand_over(block(number))
    assert same(wait_for(process, 4), expected)
    process.close()


def test_why_it_could_not_start_is_said(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(online_process, "WORKER", "enpire.nowhere")
    process = begun(run)
    with pytest.raises(RecipeError, match=r"exit code 1; .*No module named .enpire\.nowhere"):
        wait_for(process, 1)
    process.close()


def test_what_it_kept_is_not_learned_again(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = run.folder / FOLDER / "1"
    _, expected = learned_here(run, 4)
    for path in folder.iterdir():
        path.unlink()
    monkeypatch.setattr(Checkpoint, "due", True)
    learned_here(run, 3)
    for path in folder.glob("version-*"):
        path.unlink()
    versions, again = learned_here(run, 4)
    assert versions == [3, 4], "it went on from the third block"
    assert same(again, expected)
    asked: list[dict[str, Any]] = [{"candidate": True}, *({"block": block(n)} for n in range(4))]
    begun_with = as_json(run.folder, request()) | {"first": 1}
    said = list(learned(run, folder, begun_with, iter(asked)))
    assert ["candidate" in each for each in said] == [False, True], "it waits for what was kept"


def test_a_candidate_that_is_wanted_now_goes_before_blocks_that_wait() -> None:
    blocks: list[dict[str, Any]] = [{"block": [f"c{n}"]} for n in range(2)]
    now, late = {"candidate": True, "now": True}, {"candidate": True, "now": False}
    asked: SimpleQueue[dict[str, Any]] = SimpleQueue()
    for each in (late, *blocks, now):
        asked.put(each)
    turn = in_turn(asked)
    assert [next(turn) for _ in range(4)] == [now, late, *blocks]
    asked.put(blocks[0])
    assert next(turn) == blocks[0], "what comes later is heard"


def test_one_that_fails_says_why(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "fails.py"
    path.write_text(FAILS)
    process = begun(run, recipes.schedule(str(path), SMALL)[0])
    process.hand_over(block(0))
    with pytest.raises(RecipeError, match="the loss is nan"):
        wait_for(process, 1)
    process.close()


def test_one_that_hangs_is_ended_and_says_so(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    process = begun(run)
    try:
        os.kill(process._process.pid, signal.SIGSTOP)
        monkeypatch.setattr(online_process, "SILENT_S", 0.05)
        time.sleep(0.1)
        assert not process.has(1), "it owes nothing"
        process.hand_over(block(0))
        time.sleep(0.1)
        with pytest.raises(RecipeError, match="has said nothing for"):
            process.has(1)
        assert process._process.returncode == -signal.SIGKILL
    finally:
        process.close()
