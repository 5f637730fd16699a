"""Whether two experiments try the same thing, on examples that the threshold was chosen on."""

from __future__ import annotations

from dataclasses import replace

import pytest

from enpire.evolution.experiments.experiment import Experiment, ExperimentState
from enpire.evolution.knowledge.dedup import THRESHOLD, changed, duplicates, similarity


def proposal(hypothesis: str, recipe: str = "best_of_n", **settings: str) -> Experiment:
    named = tuple((name.replace("__", "."), value) for name, value in settings.items())
    return Experiment("e", "a", hypothesis, recipe, "round-1", settings=named)


SAME = [
    (
        proposal(
            "A lower learning rate stops the policy from forgetting",
            "replay_bc",
            training__lr="3e-4",
        ),
        proposal(
            "Reducing the learning rate keeps what the policy knew",
            "replay_bc",
            training__lr="2e-4",
        ),
    ),
    (
        proposal("More samples find better chunks", samples="16"),
        proposal("With more samples weighed, better chunks are found", samples="24"),
    ),
    (
        proposal("best_of_n with caution 3 (usual 2) improves on round-1", caution="3"),
        proposal("best_of_n with caution 2.8 (usual 2) improves on round-1", caution="2.8"),
    ),
    (
        proposal("Cloning the fastest successes shortens episodes", "fast_successes"),
        proposal("Clone only the fast successes, to shorten episodes", "fast_successes"),
    ),
    (
        proposal("A flow policy represents both ways round the peg", "bc", policy="flow"),
        proposal("Flow policies can represent two ways around a peg", "bc", policy="flow"),
    ),
    (
        proposal("Longer training helps", "replay_bc", training__steps="5000"),
        proposal("Training longer should help", "replay_bc", training__steps="6000"),
    ),
    (
        proposal("Higher discount values late successes more", critic__discount="0.995"),
        proposal("Raise the discount so that late success is worth more", critic__discount="0.997"),
    ),
]
DIFFERENT = [
    (
        proposal("A lower learning rate stops forgetting", "replay_bc", training__lr="3e-4"),
        proposal("A higher learning rate stops forgetting", "replay_bc", training__lr="3e-3"),
    ),
    (
        proposal("More samples find better chunks", samples="16"),
        proposal("Fewer samples find better chunks sooner", samples="4"),
    ),
    (
        proposal("best_of_n with caution 3 (usual 2) improves on round-1", caution="3"),
        proposal("best_of_n with samples 16 (usual 8) improves on round-1", samples="16"),
    ),
    (
        proposal("rlpd with its usual settings improves on round-1", "rlpd"),
        proposal("dsrl with its usual settings improves on round-1", "dsrl"),
    ),
    (
        proposal("Cloning the fastest successes shortens episodes", "fast_successes"),
        proposal("Cloning own successes alone drops the demonstrator's habits", "own_successes"),
    ),
    (
        proposal("Failures begin when the peg touches the rim, so begin there", "recover"),
        proposal("The critic is wrong about late states, so train it longer", "rlpd"),
    ),
    (
        proposal("Longer training helps", "replay_bc", training__steps="5000"),
        proposal("Longer training helps", "residual_rl", learning__steps="4000"),
    ),
    (
        proposal("Observation noise makes the policy robust", "bc", training__noise="0.1"),
        proposal("A flow policy represents both ways round the peg", "bc", policy="flow"),
    ),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_the_same_is_recognised(one: Experiment, other: Experiment) -> None:
    assert similarity(one, other) >= THRESHOLD + 0.05
    assert similarity(other, one) == pytest.approx(similarity(one, other))


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_what_differs_is_left_alone(one: Experiment, other: Experiment) -> None:
    assert similarity(one, other) <= THRESHOLD - 0.05


def test_the_same_change_is_the_same_whatever_is_said() -> None:
    one = proposal("Because of the rim", tries="96")
    assert similarity(one, proposal("Entirely other words", tries="96")) == 1.0
    assert similarity(one, replace(one, base="round-2", hypothesis="Other")) < 1.0
    usual = proposal("rlpd as it is", "rlpd")
    assert similarity(usual, replace(usual, hypothesis="no change at all")) == 1.0


def test_code_of_ones_own_is_told_apart_by_words() -> None:
    one = replace(proposal("Weigh failures by where they ended", "mine"), source="RECIPE = A")
    other = replace(proposal("Add noise to wrist forces only", "mine"), source="RECIPE = B")
    assert similarity(one, other) < THRESHOLD
    assert similarity(one, replace(one, source="RECIPE = B")) == 1.0


def test_changes_are_told_by_direction() -> None:
    made = proposal("h", "bc", training__lr="3e-4", training__steps="3000", policy="flow")
    assert changed(made) == [
        "bc",
        "bc policy flow",
        "bc training.lr lowered",
        "bc training.steps raised",
    ]
    assert changed(proposal("h", "mine", depth="3")) == ["mine", "mine depth 3"]


def test_only_what_runs_is_flagged_the_likest_first() -> None:
    asked = replace(proposal("More samples find better chunks", samples="16"), id="new")
    same = replace(asked, id="same", hypothesis="Other words")
    near = replace(proposal("More samples give better chunks", samples="24"), id="near")
    over = replace(same, id="over").to(ExperimentState.DROPPED)
    far = replace(proposal("Add noise", "bc"), id="far")
    found = duplicates(asked, [far, near, over, same, asked])
    assert [alike.experiment.id for alike in found] == ["same", "near"]
