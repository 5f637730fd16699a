"""The learner of `best_of_n`: blocks of episodes in, versions out, and on from where it was."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any

import numpy as np
import pytest
import torch

from enpire.errors import RecipeError, UsageError
from enpire.improvement.critic_learning import CriticSettings
from enpire.improvement.online import OnlineLearner, OnlineRecipe
from enpire.improvement.recipe import RecipeInputs
from enpire.improvement.recipes.best_of_n import BestOfLearner, BestOfN
from enpire.improvement.settings import configured, described
from enpire.policies import (
    BestOfPolicy,
    ChunkSpec,
    FlowPolicy,
    FlowSpec,
    SkillPolicy,
    SkillSpec,
    load,
    metadata,
)
from enpire.types import Episode, Outcome, Purpose, Verdict
from tests.store.samples import episode

SPEC = ChunkSpec("t", observation=6, action=3, history=2, stride=1, chunk=4, execute=2, hidden=(8,))
QUICK = BestOfN(
    critic=CriticSettings(batch=8),
    samples=2,
    critics=2,
    width=8,
    warm_steps=4,
    steps=0.5,
    base_steps=0.25,
    early=6,
)


def made(id: str, *, wins: bool = True, shown: bool = False, length: int = 7) -> Episode:
    verdict = Verdict(Outcome.SUCCESS if wins else Outcome.FAILURE, ())
    purpose = Purpose.DEMONSTRATION if shown else Purpose.COLLECTION
    return episode(id, length, verdict=verdict, purpose=purpose, seed=len(id))


def given(episodes: Sequence[Episode] = (), **changed: object) -> RecipeInputs:
    torch.manual_seed(0)
    known = [made("d1", shown=True), made("d2", shown=True), made("e1", wins=False)]
    base = FlowPolicy(FlowSpec.of(SPEC)).eval()
    return replace(RecipeInputs(SPEC, [*known, *episodes], base, seed=3, grippers=(2,)), **changed)


def tensors_of(learner: OnlineLearner) -> dict[str, np.ndarray]:
    return learner.policy().tensors()


def same(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> bool:
    return one.keys() == other.keys() and all(np.array_equal(one[n], other[n]) for n in one)


def block(number: int) -> list[Episode]:
    return [made(f"c{number}{at}", wins=at > 0, length=6 + at) for at in range(3)]


def test_it_is_an_online_recipe() -> None:
    assert isinstance(BestOfN(), OnlineRecipe)


def test_before_any_block_it_learns_from_the_episodes_there_are() -> None:
    learner = BestOfLearner(QUICK, given())
    before = tensors_of(learner)
    numbers = learner.add(())
    assert numbers["steps"] == QUICK.warm_steps
    after = tensors_of(learner)
    base = [name for name in before if name.startswith("base/")]
    assert same({n: before[n] for n in base}, {n: after[n] for n in base}), "it knows these"
    assert not same(before, after)


def test_a_block_brings_steps_for_each_of_its_periods_and_another_version() -> None:
    learner = BestOfLearner(QUICK, given())
    learner.add(())
    first = learner.policy()
    numbers = learner.add(block(1))
    assert numbers["steps"] == QUICK.warm_steps + int(QUICK.steps * (6 + 7 + 8))
    assert numbers["success"] == pytest.approx(2 / 3)
    assert not same(first.tensors(), tensors_of(learner)), "what was published stays as it was"
    owed = learner.add([made("c9", length=6)])["steps"] - numbers["steps"]
    assert owed == 3, "what was left over counts"


def test_what_it_proposes_chooses_among_the_incumbents_chunks_and_varies_no_gripper() -> None:
    start = given()
    candidate = BestOfN.improve(QUICK, start)
    assert isinstance(candidate.policy, BestOfPolicy)
    assert isinstance(candidate.policy.base, FlowPolicy)
    assert candidate.policy.head.spec.varied == (0, 1)
    assert candidate.policy.head.spec.observation == SPEC.observation
    assert candidate.numbers["steps"] == QUICK.warm_steps


@pytest.mark.parametrize("at", [0, 1, 2])
def test_it_goes_on_from_where_it_was_to_the_same_weights(at: int) -> None:
    blocks = [block(number) for number in range(3)]
    whole = BestOfLearner(QUICK, given())
    whole.add(())
    state = whole.state()
    for number, each in enumerate(blocks):
        whole.add(each)
        if number + 1 == at:
            state = whole.state()
    again = BestOfLearner(QUICK, given())
    again.restore([e for each in blocks[:at] for e in each], state)
    for each in blocks[at:]:
        again.add(each)
    assert same(tensors_of(whole), tensors_of(again))


def test_what_tells_nothing_is_not_learned_from() -> None:
    invalid = replace(made("x"), verdict=Verdict(Outcome.INVALID, ()))
    learner = BestOfLearner(QUICK, given())
    before = learner.add(())["steps"]
    assert learner.add([invalid, made("short", length=1)])["steps"] == before


def test_what_collects_goes_on_now_and_then_and_what_is_proposed_gives_up() -> None:
    learner = BestOfLearner(replace(QUICK, back=3, waits=0.2), given())
    collects, proposed = learner.policy(), learner.candidate().policy
    assert isinstance(collects, BestOfPolicy)
    assert isinstance(proposed, BestOfPolicy)
    assert (collects.head.spec.waits, proposed.head.spec.waits) == (0.2, 0.0)
    assert collects.head.spec.back == 2, "three periods are two chunks"
    assert same(collects.tensors(), proposed.tensors())


@pytest.mark.parametrize("never", [{"margin": 0.0}, {"back": 0}])
def test_one_that_never_gives_up_can_be_read_again(never: dict[str, Any]) -> None:
    policy = BestOfLearner(replace(QUICK, **never), given()).candidate().policy
    again = load(metadata(policy), policy.tensors())
    assert isinstance(again, BestOfPolicy)
    assert (again.head.spec.back, again.head.spec.margin) == (0, 0.0)


def test_it_goes_on_from_an_incumbent_of_its_own() -> None:
    first = BestOfN.improve(QUICK, given()).policy
    learner = BestOfLearner(QUICK, given(incumbent=first))
    assert same(tensors_of(learner), first.tensors())


def test_without_something_to_stand_on_it_refuses() -> None:
    skill = SkillPolicy(SkillSpec("t", 6, 3, ("a",)), np.zeros(1))
    for incumbent in (None, skill):
        with pytest.raises(RecipeError, match="best_of_n stands on a policy of kind"):
            BestOfLearner(QUICK, given(incumbent=incumbent))
    lost = [made("e", wins=False)]
    with pytest.raises(RecipeError, match="no demonstration and no success"):
        BestOfLearner(QUICK, replace(given(), episodes=lost))


@pytest.mark.parametrize(
    ("end", "name"),
    [
        ("discount", "critic.discount"),
        ("decay", "base.decay"),
        ("average", "base.average"),
        ("noise", "noise"),
    ],
)
def test_a_setting_that_runs_call_by_its_end_means_what_it_did(end: str, name: str) -> None:
    made, taken = configured(BestOfN(), {end: "0.5"})
    assert taken == {end}
    assert attrgetter(name)(made) == 0.5


@pytest.mark.parametrize("text", ["8, 4, 0", "8 4 0", "(8, 4, 0)", "[8,4,0]"])
def test_a_list_is_given_with_commas_or_spaces_and_as_it_is_shown(text: str) -> None:
    made, _ = configured(BestOfN(), {"attempt_lags": text, "noise": "0.1"})
    assert made.attempt_lags == (8, 4, 0)
    assert made.noise == 0.1


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "empty list"),
        ("4, -2, 0", "-2 is below nought"),
        ("4, x", "lags"),
        ("1e3", "lags"),
        ("4 --recipe.noise 0.5", "--recipe.noise is no entry of a list"),
        ("-h", "-h is no entry of a list"),
    ],
)
def test_a_list_that_makes_no_sense_is_refused(text: str, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        configured(BestOfN(), {"lags": text})


def test_every_setting_of_its_own_says_what_it_is() -> None:
    text = " ".join(described(BestOfN()).split())
    assert "chance lost at which an attempt is given up" in text
