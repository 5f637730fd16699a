"""Experiments: what may follow what, and that they can be written and read."""

from __future__ import annotations

from dataclasses import replace

import pytest

from enpire.errors import CampaignError
from enpire.evolution.experiments.effect import Effect
from enpire.evolution.experiments.experiment import (
    SAID,
    SOURCE,
    Experiment,
    ExperimentState,
    from_json,
)
from enpire.rollout.evaluation.comparison import PairedRecord

PROPOSED = Experiment(
    id="e7",
    agent="tuner-0",
    hypothesis="A lower rate helps “much”.",
    recipe="best_of_n",
    base="round-2",
    settings=(("training.lr", "3e-4"), ("caution", "0.7")),
    builds_on=("f3",),
)
EFFECT = Effect(PairedRecord(9, 2, 30))


def in_trials() -> Experiment:
    return PROPOSED.to(ExperimentState.TRAINING).to(ExperimentState.TRIALS)


def test_an_experiment_goes_through_training_and_trials_to_a_decision() -> None:
    kept = in_trials().to(ExperimentState.KEPT, effect=EFFECT, reason="9 won, 2 lost")
    assert kept.decided
    assert kept.effect == EFFECT
    assert not in_trials().decided
    assert in_trials().to(ExperimentState.DROPPED, effect=EFFECT).decided
    assert PROPOSED.to(ExperimentState.DROPPED, reason="one like it is running").decided
    assert (
        PROPOSED.to(ExperimentState.TRAINING).to(ExperimentState.FAILED, reason="diverged").effect
        is None
    )


@pytest.mark.parametrize(
    "state", [ExperimentState.TRIALS, ExperimentState.KEPT, ExperimentState.PROPOSED]
)
def test_no_state_is_left_out(state: ExperimentState) -> None:
    with pytest.raises(CampaignError, match=f"e7 is proposed and cannot be {state}"):
        PROPOSED.to(state, effect=EFFECT)


@pytest.mark.parametrize("state", list(ExperimentState))
def test_a_decision_is_final(state: ExperimentState) -> None:
    for final in (ExperimentState.KEPT, ExperimentState.DROPPED, ExperimentState.FAILED):
        with pytest.raises(CampaignError, match="that is final"):
            in_trials().to(final, effect=EFFECT).to(state, effect=EFFECT)


def test_nothing_is_kept_that_was_not_measured() -> None:
    with pytest.raises(CampaignError, match="nothing was measured"):
        in_trials().to(ExperimentState.KEPT)


def test_settings_have_one_order() -> None:
    assert PROPOSED.settings == (("caution", "0.7"), ("training.lr", "3e-4"))


def test_a_hypothesis_is_asked_for() -> None:
    with pytest.raises(CampaignError, match="no hypothesis"):
        replace(PROPOSED, hypothesis=" \n")


@pytest.mark.parametrize("name", ["", "../x", "a b", "-x", "x" * 65, "a\nb"])
def test_names_are_plain(name: str) -> None:
    with pytest.raises(CampaignError, match="is no id"):
        replace(PROPOSED, id=name)
    with pytest.raises(CampaignError, match="is no agent"):
        replace(PROPOSED, agent=name)


@pytest.mark.parametrize("recipe", ["", "mine.py", "./mine", "../bc", "a,b", "a b", "__init__" * 9])
def test_a_recipe_is_a_name_and_never_a_file(recipe: str) -> None:
    """A file's name would be imported, in the harness's own process."""
    with pytest.raises(CampaignError, match="no recipe's name"):
        replace(PROPOSED, recipe=recipe)


def test_what_agents_say_is_cleaned_and_bounded() -> None:
    made = replace(PROPOSED, hypothesis="two\nlines\x1b[2J" + "x" * 9999, base="b\u202e")
    assert made.hypothesis.startswith("two lines[2Jxxx")
    assert len(made.hypothesis) <= SAID
    assert made.base == "b"
    assert from_json(made.as_json()) == made
    with pytest.raises(CampaignError, match="code is longer"):
        replace(PROPOSED, source="x" * (SOURCE + 1))


def test_what_is_written_is_read_again() -> None:
    for experiment in (
        PROPOSED,
        in_trials().to(ExperimentState.KEPT, effect=EFFECT, reason="better"),
    ):
        line = experiment.as_json()
        assert "\n" not in line
        assert from_json(line) == experiment


@pytest.mark.parametrize("line", ["", "{}", "[]", '{"id": "e1"}', PROPOSED.as_json()[:-9]])
def test_what_is_no_experiment_is_refused(line: str) -> None:
    with pytest.raises(CampaignError, match="is no experiment"):
        from_json(line)
