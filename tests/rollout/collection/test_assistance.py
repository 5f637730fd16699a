"""Help in a loop: who is helped, by whom, and what is said of it; evaluations are the policy's."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from enpire.environment import Demonstrations, InterventionWrapper, Job, Operator
from enpire.improvement.configured_recipe import ConfiguredRecipe
from enpire.improvement.recipe import Recipe
from enpire.people import OneHelper
from enpire.rollout.collection import assistance
from enpire.rollout.collection.assistance import OVERTIME, RoundHelp, attended, helped
from enpire.rollout.collection.failure_detector import Detection
from enpire.rollout.fleet.fleet import Fleet
from enpire.rollout.loop.budget import Budget
from enpire.rollout.loop.loop import Loop
from enpire.rollout.loop.sealed_evaluations import SealedEvaluations
from enpire.rollout.loop.state import LoopState
from enpire.store import EpisodeWriter, Run
from enpire.types import Episode, Float32Array, Outcome, Purpose, Verdict
from tests.environment.reach import Reach, Speed, reach_stations
from tests.improvement.here import Here
from tests.rollout.loop.test_loop import SLOW, TINY, Moves
from tests.store.samples import episode


class Foresees:
    """A detector that calls every execution a failure in its third period."""

    detection = Detection(3, 1, 0, 4)

    def watch(self) -> Foresees:
        return self

    def begin(self, row: int, rng: np.random.Generator) -> None:
        self.asked = {**getattr(self, "asked", {}), row: 0}

    def trouble(self, row: int, observation: Float32Array) -> int | None:
        self.asked[row] += 1
        return 0 if self.asked[row] > 2 else None


@pytest.fixture
def learned(monkeypatch: pytest.MonkeyPatch) -> list[Sequence[Episode]]:
    """What a detector was learned from."""
    told: list[Sequence[Episode]] = []

    def learn(episodes: Sequence[Episode], periods: int, seed: int) -> Any:
        told.append(episodes)
        return Foresees()

    monkeypatch.setattr(assistance, "learn_detector", learn)
    return told


def helper(desk: OneHelper | None = None) -> Operator:
    return Operator("script", Demonstrations(Reach()), desk or OneHelper())


def asked(count: int) -> list[Job]:
    acts = Speed(SLOW)
    return [Job(s, Purpose.COLLECTION, acts, "p0", 1, exploration=0.3) for s in range(count)]


def test_the_policys_own_episodes_are_helped_and_a_recipes_ways_are_left_to_it(
    learned: list[Sequence[Episode]],
) -> None:
    stations = reach_stations(1)
    past = [episode("a")]
    mine = Job(8, Purpose.COLLECTION, Speed(1.0), "skill-1.0", 1)
    twice = Job(9, Purpose.COLLECTION, Speed(1.0), "p0", 1, attempts=2)
    help = RoundHelp(helper(), stations, "p0", past, seed=1)
    jobs = [job for job in help.jobs(iter([None, *asked(5), mine, twice])) if job]
    assert jobs[5:] == [mine, twice]
    assert [job.policy for job in jobs[:5]] == ["p0+script"] * 5
    assert all(job.overtime == OVERTIME * Reach.time_limit for job in jobs[:5])
    assert all(job.exploration == 0.3 for job in jobs[:5])
    made = [job.controller for job in jobs[:5]]
    assert all(isinstance(each, InterventionWrapper) for each in made)
    assert len({id(each) for each in made}) == 2, "before the detector had learned, and after"
    assert learned == [past]
    help = RoundHelp(helper(), stations, "p0", past, 1)
    again = [job for job in help.jobs(iter([*asked(5), mine, twice])) if job]
    assert [job.id for job in again] == [job.id for job in jobs]


def go(folder: Path, recipe: Recipe, by: Operator) -> LoopState:
    exists = folder.exists()
    run = Run.open(folder, writable=True) if exists else Run.create(folder, {"task": "reach"})
    with run, EpisodeWriter(run) as writer:
        limit = Budget(rounds=1)
        fleet = Fleet(reach_stations(TINY.environment.robots), writer, limit.spent, ahead=lambda: 0)
        schedule, first = [ConfiguredRecipe("r", recipe)], ConfiguredRecipe("first", Moves(SLOW))
        return Loop(TINY, run, writer, fleet, first, schedule, Here(), limit, LoopState(), by).run()


@pytest.mark.medium
def test_a_loop_is_helped_while_it_collects_and_only_then(
    tmp_path: Path, learned: list[Sequence[Episode]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SealedEvaluations, "_looks_good", lambda self, *_: False)
    monkeypatch.setattr(assistance, "first", lambda jobs, count: iter(()))  # it has learned at once
    recipe = Moves(SLOW)
    go(tmp_path / "run", recipe, helper())
    with Run.open(tmp_path / "run") as run:
        made = list(run.episodes())
        notes = {n.kind: n for n in run.ledger.decisions() if n.kind in ("detector", "helped")}
    collected = [e for e in made if e.purpose is Purpose.COLLECTION]
    assert len(collected) == TINY.rounds.collect
    assert {e.policy for e in collected} == {"policy-0+script"}
    assert all(e.success and e.helped for e in collected)
    assert not any(e.helped for e in made if e.purpose is Purpose.EVALUATION)
    assert sum(e.helped for e in recipe.given[0]) == TINY.rounds.collect, "recipes are told"
    assert notes["helped"].round == notes["detector"].round == 1
    assert notes["helped"].numbers["interventions"] == 1.0
    assert 0.0 < notes["helped"].numbers["helped"] < 1.0
    assert notes["detector"].numbers == {"caught": 3.0, "missed": 1.0, "false": 0.0, "quiet": 4.0}
    assert all(not e.helped for e in learned[0])
    go(tmp_path / "run", recipe, helper())
    with Run.open(tmp_path / "run") as run:
        assert {e.id for e in run.episodes()} == {e.id for e in made}, "nothing is done again"


class Needy(Moves):
    """A recipe that has the helper itself."""

    needs_helper = True

    def require(self, stations: object) -> None: ...

    def collect(self, asked: Any) -> Any:
        assert asked.helper.name == "script"
        yield from asked.plain()


def test_a_recipe_that_has_the_helper_itself_says_when(
    tmp_path: Path, learned: list[Sequence[Episode]]
) -> None:
    go(tmp_path / "run", Needy(SLOW), helper())
    with Run.open(tmp_path / "run") as run:
        collected = [e for e in run.episodes() if e.purpose is Purpose.COLLECTION]
    assert {e.policy for e in collected} == {"policy-0"}
    assert not learned


def test_what_help_came_to_is_counted() -> None:
    flags = np.array([False, True, True, False, True])
    lost = Verdict(Outcome.FAILURE)
    named = {"policy": "p+me", "round": 2, "purpose": Purpose.COLLECTION}
    some = [episode("a", 5, intervened=flags, **named), episode("b", 5, verdict=lost, **named)]
    other = episode("c", 5, **{**named, "round": 1})
    assert attended([*some, other], Operator("me", Speed(1.0)), 2) == some
    said = helped(some, "p+me", 2)
    assert said.numbers == {"episodes": 2.0, "interventions": 1.0, "helped": 0.3}
    assert "1.00 interventions an episode, 30% of the periods" in said.text
