"""Code as a policy: generations are rounds, and a run that was cut short goes on with the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from enpire.errors import RecipeError, UsageError
from enpire.improvement.configured_recipe import ConfiguredRecipe
from enpire.improvement.recipe import RecipeInputs
from enpire.improvement.recipes.heuristic import Heuristic
from enpire.policies import ChunkSpec, SkillPolicy
from enpire.rollout.fleet.fleet import Fleet, Stopped
from enpire.rollout.loop.budget import Budget
from enpire.rollout.loop.loop import Loop
from enpire.rollout.loop.sealed_evaluations import SealedEvaluations
from enpire.rollout.loop.settings import LoopSettings
from enpire.rollout.loop.state import LoopState
from enpire.store import EpisodeWriter, Run
from enpire.types import Purpose
from tests.environment.reach import reach_stations
from tests.environment.tuned import Tuned
from tests.improvement.here import Here

SETTINGS = LoopSettings.of(
    task="reach",
    robots=3,
    seed=1,
    target=1.0,
    demonstrations=1,
    start_episodes=12,
    collect=25,
    max_pairs=20,
    sealed_episodes=3,
)
SMALL = ConfiguredRecipe("heuristic", Heuristic(candidates=6, spread=0.25))


def go(folder: Path, rounds: int, until: int = 10**9) -> LoopState | None:
    """Start or continue a run; it is stopped after so many episodes."""
    exists = folder.exists()
    run = Run.open(folder, writable=True) if exists else Run.create(folder, {"task": "reach"})
    seen: list[object] = []
    with run, EpisodeWriter(run) as writer:
        stations = reach_stations(SETTINGS.environment.robots, task=Tuned())
        budget = Budget(rounds=rounds)
        fleet = Fleet(
            stations, writer, lambda robot_s: "enough" if len(seen) >= until else None, seen.append
        )
        loop = Loop(SETTINGS, run, writer, fleet, SMALL, [SMALL], Here(), budget, LoopState())
        try:
            return loop.run()
        except Stopped:
            return None


def values(folder: Path, name: str) -> list[float]:
    with Run.open(folder) as run:
        return [float(v) for v in run.load_policy(name)[0]["values"]]


def collected(folder: Path) -> dict[str, bytes]:
    with Run.open(folder) as run:
        return {
            e.id: e.actions.tobytes()
            for e in run.episodes()
            if e.purpose is Purpose.COLLECTION and "aborted" not in e.id
        }


@pytest.mark.medium
def test_rounds_are_generations_that_a_run_cut_short_repeats(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SealedEvaluations, "_looks_good", lambda self, *_: False)
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    state = go(whole, 2)
    assert state is not None
    assert values(whole, "policy-0") == [0.3, 0.5]
    assert values(whole, "policy-1")[0] > 0.3, "faster is better"
    with Run.open(whole) as run:
        episodes = [e for e in run.episodes() if e.purpose is Purpose.COLLECTION]
        assert run.ledger.policy("policy-1").recipe == "heuristic"
    for number in (1, 2):
        tried = {(e.policy, e.seed) for e in episodes if e.round == number}
        assert len(tried) == 6 * 4, "every candidate on the same seeds"
        assert {policy for policy, _ in tried} == {f"skill-{number}.{k}" for k in range(6)}
        assert len({seed for _, seed in tried}) == 4
    assert not any(e.exploration for e in episodes)
    assert go(cut, 2, until=13 + 10) is None
    assert 0 < len(collected(cut)) < 24
    assert go(cut, 2) is not None
    assert collected(cut) == collected(whole)
    for name in ("policy-1", "policy-2"):
        assert values(cut, name) == values(whole, name)


def test_it_begins_with_the_plain_values() -> None:
    spec = ChunkSpec("reach", 2, 7)
    candidate = Heuristic().improve(RecipeInputs(spec, [], None, 1, parameters=Tuned.parameters))
    assert isinstance(candidate.policy, SkillPolicy)
    np.testing.assert_array_equal(candidate.policy.values, [0.3, 0.5])
    assert candidate.numbers == {"generations": 0, "speed": 0.3, "stop": 0.5}


def test_a_task_without_a_script() -> None:
    with pytest.raises(UsageError, match="reach has none: give its Task `parameters`"):
        SMALL.require(reach_stations())
    with pytest.raises(RecipeError, match="t has no skill script"):
        Heuristic().improve(RecipeInputs(ChunkSpec("t", 2, 7), [], None, 1))
    SMALL.require(reach_stations(task=Tuned()))


def test_too_few_episodes_for_a_generation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "SETTINGS", SETTINGS.but(collect=5))
    go(tmp_path / "run", 1)
    with Run.open(tmp_path / "run") as run:
        (note,) = [n for n in run.ledger.decisions() if n.kind == "rejected"]
    assert "5 episodes are too few for a generation of 6" in note.text
