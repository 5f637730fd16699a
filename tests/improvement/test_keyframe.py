"""Keyframes: which failures are begun again, where, and how often."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from enpire.environment import Replay, ResetMode
from enpire.errors import UsageError
from enpire.improvement.collection import Collection
from enpire.improvement.recipe import ConfiguredRecipe
from enpire.improvement.recipes.keyframe import Keyframe, failures, wrong_step
from enpire.types import Episode, Outcome, Purpose, Verdict
from tests.environment.reach import Restored, Speed, reach_stations
from tests.store.samples import episode

LOST = Verdict(Outcome.FAILURE)


def asked(episodes: list[Episode], count: int = 20) -> Collection:
    controller = Speed()
    return Collection(
        stations=reach_stations(),
        base="p1",
        parent="p0",
        policy=lambda name: pytest.fail("not needed"),
        controller=lambda name: controller,
        round=2,
        count=count,
        seeds=itertools.count(1000),
        exploration=0.3,
        seed=4,
        episodes=episodes,
    )


def made(id: str, **changes: Any) -> Episode:
    given = {"verdict": LOST, "policy": "p1", "seed": len(id) * 100 + ord(id[-1]), "length": 40}
    return episode(id, **given | changes)


def test_only_what_the_policy_or_its_parent_failed_at_and_a_seed_repeats() -> None:
    episodes = [
        made("a", policy="p0"),
        made("b", round=0),
        made("c"),
        made("d", verdict=Verdict(Outcome.SUCCESS)),
        made("e", verdict=Verdict(Outcome.INVALID)),
        made("f", variant=1),
        made("g", policy="demonstrator"),
        made("h", length=0),
    ]
    assert [e.id for e in failures(asked(episodes))] == ["c", "b", "a"]


def test_the_wrong_step_is_before_the_estimate_falls() -> None:
    chance = np.array([0.1, 0.3, 0.5, 0.7, 0.7, 0.2, 0.1, 0.3, 0.1], np.float32)
    assert wrong_step(chance, 1) == 4
    assert wrong_step(chance, 3) == 3
    assert wrong_step(np.arange(4, dtype=np.float32), 2) in (2, 3), "it never fell: near the end"


def test_variants_begin_before_the_wrong_step() -> None:
    lost = [made(id) for id in "abcdefghij"]
    won = [made("w" + id, verdict=Verdict(Outcome.SUCCESS)) for id in "abc"]
    recipe = ConfiguredRecipe("keyframe", Keyframe(share=0.5, variants=4, keyframe_steps=3))
    jobs, again = ([job for job in recipe.collect(asked([*lost, *won])) if job] for _ in range(2))
    plain, begun = jobs[:12], jobs[12:]
    assert [job.seed for job in plain] == list(range(1000, 1012))
    assert {(job.variant, job.exploration) for job in plain} == {(0, 0.3)}
    assert [job.variant for job in begun] == [1, 2, 3, 4] * 2
    assert [job.seed for job in begun] == [lost[0].seed] * 4 + [lost[1].seed] * 4
    for job in begun:
        assert 1 <= job.forked < 40
        assert (job.purpose, job.policy, job.round) == (Purpose.COLLECTION, "p1", 2)
        assert isinstance(job.controller, Replay)
    assert [(j.id, j.forked) for j in jobs] == [(j.id, j.forked) for j in again]


def test_without_failures_all_are_plain() -> None:
    jobs = ConfiguredRecipe("keyframe", Keyframe()).collect(asked([made("d", policy="p7")]))
    assert len(list(jobs)) == 20


def test_only_where_a_start_can_be_repeated() -> None:
    recipe = ConfiguredRecipe("keyframe", Keyframe())
    recipe.require(reach_stations())
    with pytest.raises(UsageError, match="repeats the starts of episodes"):
        recipe.require(reach_stations(task=Restored(), reset=ResetMode.PHYSICAL))
