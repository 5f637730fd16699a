"""Recovery and correction: who is helped, and what of it is cloned."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from enpire.environment import InterventionWrapper, Operator
from enpire.errors import RecipeError, UsageError
from enpire.improvement.behaviour_cloning import LEAST_STEPS, Training
from enpire.improvement.collection import Collection
from enpire.improvement.configured_recipe import ConfiguredRecipe
from enpire.improvement.data import examples, instructive
from enpire.improvement.recipe import RecipeInputs
from enpire.improvement.recipes.recover import Recover
from enpire.improvement.recipes.replay_bc import ReplayCloning
from enpire.improvement.value import returns
from enpire.people import OneHelper
from enpire.policies import ChunkPolicy, ChunkSpec, FlowPolicy, FlowSpec
from enpire.types import Episode, Outcome, Purpose, Verdict
from tests.environment.reach import Speed, reach_stations
from tests.store.samples import episode

LOST = Verdict(Outcome.FAILURE)
HELPED = np.arange(6) > 3


def known() -> list[Episode]:
    rng = np.random.default_rng(0)
    shown = {"observations": rng.standard_normal((5, 2)).astype(np.float32)}
    return [episode("won", 5, **shown), episode("lost", 5, verdict=LOST, **shown)]


def asked() -> Collection:
    controller = Speed(-0.5)
    return Collection(
        stations=reach_stations(2),
        base="p1",
        parent="p0",
        policy=lambda name: pytest.fail("not needed"),
        controller=lambda name: controller if name == "p1" else Speed(1.0),
        round=1,
        count=6,
        seeds=itertools.count(1000),
        exploration=0.3,
        seed=4,
        episodes=known(),
    )


def outcomes(collection: Collection | None = None, **settings: Any) -> dict[str, Episode]:
    collection = collection or asked()
    recipe = Recover(estimate_steps=3, share=0.5, **settings)
    jobs = [job for job in ConfiguredRecipe("recover", recipe).collect(collection) if job]
    stations, waiting, done = collection.stations, jobs, []
    while waiting or stations.busy:
        for row in stations.idle[: len(waiting)]:
            stations.begin(row, waiting.pop(0))
        done += stations.tick()
    return {e.id: e for e in done}


@pytest.mark.parametrize(("corrector", "who"), [("demonstrator", "demonstrator"), ("p0", "p0")])
def test_some_are_helped_to_success_and_are_not_the_policys(corrector: str, who: str) -> None:
    done = outcomes(corrector=corrector, patience=0.12, overtime=3.0).values()
    alone, helped = ([e for e in done if e.policy == name] for name in ("p1", f"p1+{who}"))
    assert (len(alone), len(helped)) == (3, 3)
    assert not any(e.success or e.helped for e in alone)
    assert all(e.success and e.helped and not e.intervened[0] for e in helped)
    assert [e.exploration for e in alone + helped] == [0.3] * 3 + [0.0] * 3


def test_help_comes_by_what_is_tracked_alone() -> None:
    """Pictures of a data set have no tracker beside them: a value learns nothing of them."""
    untracked = replace(known()[0], observations=np.full((5, 2), np.nan, np.float32))
    collection = replace(asked(), episodes=[untracked, *known()])
    settings: dict[str, Any] = {"patience": 0.12, "overtime": 3.0}
    assert outcomes(collection, **settings).keys() == outcomes(**settings).keys()
    alone = outcomes(replace(asked(), episodes=[untracked]), **settings)
    assert {e.policy for e in alone.values()} == {"p1"}, "nothing to tell trouble by"
    assert len(alone) == 6


def test_the_same_is_asked_for_again_and_comes_out_the_same() -> None:
    one, other = (outcomes(patience=0.12, overtime=3.0) for _ in range(2))
    assert one.keys() == other.keys()
    for id, first in one.items():
        assert first.actions.tobytes() == other[id].actions.tobytes()


def test_hands_go_back_first() -> None:
    for rewind in ("start", "best"):
        done = outcomes(patience=0.12, overtime=3.0, rewind=rewind).values()
        helped = [e for e in done if e.helped]
        assert len(helped) == 3
        for e in helped:
            first, last = np.flatnonzero(e.rewound)[[0, -1]]
            assert first == np.argmax(e.intervened)
            assert last < len(e) - 1, "and then it is helped"


def test_what_the_helper_did_is_cloned_and_what_the_policy_did_before_is_not() -> None:
    plain = episode("a", 4, purpose=Purpose.DEMONSTRATION)
    helped = episode("b", 6, intervened=HELPED)
    forked = episode("c", 5, variant=1, forked=2)
    assert instructive(plain).all()
    assert instructive(helped).tolist() == HELPED.tolist()
    first = np.flatnonzero(HELPED)[0]
    back = np.arange(6) == first
    gone = episode("d", 6, intervened=HELPED, rewound=back)
    assert instructive(gone).tolist() == (HELPED & ~back).tolist(), "nor the way back"
    assert instructive(forked).tolist() == [False, False, True, True, True]
    spec = ChunkSpec("t", observation=6, action=3, chunk=2, execute=2, hidden=(8,))
    whole = examples([plain, helped], spec)
    chosen = whole.only(np.concatenate([instructive(plain), instructive(helped)]))
    assert len(chosen) == 4 + 2
    assert chosen.window[-1].tolist() == whole.window[-1].tolist()
    assert chosen.weight.mean() == pytest.approx(1.0)

    def cloned(*episodes: Episode) -> dict[str, Any]:
        recipe = ReplayCloning("chunk", Training(steps=20, batch=8))
        return recipe.improve(RecipeInputs(spec, episodes, None, seed=1)).policy.tensors()

    other = replace(helped, intervened=np.zeros(6, bool), purpose=Purpose.DEMONSTRATION)
    one, all_of_it = cloned(plain, helped), cloned(plain, other)
    assert any((one[name] != all_of_it[name]).any() for name in one)


def test_a_policy_learns_from_those_who_know() -> None:
    shown = episode("shown", 4, purpose=Purpose.DEMONSTRATION)
    own, helped = episode("own", 4), episode("helped", 6, intervened=HELPED)
    lost = episode("lost", 6, intervened=HELPED, verdict=LOST)

    def chosen(recipe: Recover, *episodes: Episode) -> list[str]:
        return [e.id for e in recipe.chosen(learning(FlowPolicy, *episodes))]

    assert chosen(Recover(), shown, own, helped, lost) == ["shown", "helped"]
    assert chosen(Recover(), own, lost) == ["own"], "nobody has shown anything"
    assert chosen(Recover(cloned="all"), shown, own, helped, lost) == ["shown", "own", "helped"]


def learning(kind: type, *episodes: Episode) -> RecipeInputs:
    """What there is to learn from, where p0, of that kind, is the incumbent."""
    spec = ChunkSpec("t", observation=6, action=3, chunk=2, execute=2, hidden=(8,))
    incumbent = kind(FlowSpec.of(spec) if kind is FlowPolicy else spec)
    return RecipeInputs(spec, list(episodes), incumbent, seed=1, name="p0")


def test_successes_that_took_long_are_not_replayed() -> None:
    shown = [episode(f"shown-{n}", n, purpose=Purpose.DEMONSTRATION) for n in (4, 6, 8)]
    own = [episode(f"own-{n}", n) for n in (3, 6, 7)]
    helped = episode("helped", 9, intervened=np.arange(9) > 3)
    lost = episode("lost", 3, verdict=LOST)

    def chosen(recipe: ReplayCloning, *episodes: Episode) -> list[str]:
        return [e.id for e in recipe.chosen(learning(FlowPolicy, *episodes))]

    names = [e.id for e in shown]
    known = (*shown, *own, helped, lost)
    assert chosen(ReplayCloning(), *known) == [*names, "own-3", "own-6", "helped"]
    assert chosen(ReplayCloning(quick=0.5), *known) == [*names, "own-3", "helped"]
    assert chosen(ReplayCloning(), *own, lost) == ["own-3", "own-6", "own-7"], "none is usual"


def test_a_policy_replays_what_its_kind_did() -> None:
    shown = episode("shown", 8, purpose=Purpose.DEMONSTRATION)
    own, before = episode("own", 6), episode("before", 6, policy="p")
    beside = episode("beside", 6, policy="p0+demonstrator")

    def chosen(recipe: ReplayCloning, kind: type) -> list[str]:
        return [e.id for e in recipe.chosen(learning(kind, shown, own, before, beside))]

    assert chosen(ReplayCloning(), FlowPolicy) == ["shown", "own", "beside"]
    assert chosen(ReplayCloning(), ChunkPolicy) == ["shown"]
    assert chosen(ReplayCloning("chunk"), ChunkPolicy) == ["shown", "own", "beside"]


def test_a_success_is_not_the_policys_before_somebody_helped() -> None:
    worth = returns([episode("b", 6, intervened=HELPED), episode("a", 3)], 0.5)
    assert worth.tolist() == [0, 0, 0, 0, 0.5, 1, 0.25, 0.5, 1]
    lost = episode("b", 6, intervened=HELPED, verdict=LOST)
    assert not returns([lost], 0.5).any()


def test_only_where_there_are_hands() -> None:
    recipe = ConfiguredRecipe("recover", Recover())
    recipe.require(reach_stations())
    with pytest.raises(UsageError, match="needs a task with hands"):
        recipe.require(object())  # type: ignore[arg-type]


def test_the_loops_helper_corrects_where_it_is_asked_to() -> None:
    recipe = ConfiguredRecipe("recover", Recover(estimate_steps=3, share=0.5, corrector="helper"))
    assert recipe.needs_helper
    assert not ConfiguredRecipe("recover", Recover()).needs_helper
    desk = OneHelper()
    helper = Operator("person", Speed(1.0), desk)
    jobs = [job for job in recipe.collect(replace(asked(), helper=helper)) if job]
    assert [job.policy for job in jobs] == ["p1"] * 3 + ["p1+person"] * 3
    controller = jobs[-1].controller
    assert isinstance(controller, InterventionWrapper)
    desk.ask(0)
    controller.begin(0, np.random.default_rng(0), 0.0)
    controller.ended(0)
    assert desk.served is None, "it is the helper's own desk"
    with pytest.raises(RecipeError, match="--helper"):
        list(recipe.collect(asked()))


def test_a_corrector_of_ones_own() -> None:
    class Mine(Recover):
        def helper(self, asked: Collection) -> Operator:
            return Operator("me", Speed(1.0))

    recipe = ConfiguredRecipe("mine", Mine(estimate_steps=3, share=0.5))
    jobs = [job for job in recipe.collect(asked()) if job]
    assert [job.policy for job in jobs[3:]] == ["p1+me"] * 3
    assert all(isinstance(job.controller, InterventionWrapper) for job in jobs[3:])


@pytest.mark.parametrize(
    ("kind", "asked", "steps"), [("chunk", 20, 20), ("flow", 20, 20), ("flow", 0, LEAST_STEPS)]
)
def test_it_says_how_many_steps_were_learned(kind: Any, asked: int, steps: int) -> None:
    spec = ChunkSpec("t", observation=6, action=3, chunk=2, execute=2, hidden=(8,))
    recipe = ReplayCloning(kind, Training(steps=asked, batch=8))
    made = recipe.improve(RecipeInputs(spec, [episode("won", 4)], None, seed=1))
    assert made.numbers["steps"] == steps
