"""Predicates near their thresholds, and verdicts that another look may change."""

from __future__ import annotations

import math

import pytest

from enpire.types import Outcome, Predicate, PredicateState, Verdict


@pytest.mark.parametrize(
    ("value", "accuracy", "state"),
    [
        (60.0, 0.0, PredicateState.PASS),
        (59.9, 0.0, PredicateState.FAIL),
        (63.1, 3.0, PredicateState.PASS),
        (62.9, 3.0, PredicateState.BOUNDARY),
        (57.1, 3.0, PredicateState.BOUNDARY),
        (56.9, 3.0, PredicateState.FAIL),
        (math.nan, 0.0, PredicateState.UNSURE),
        (90.0, math.nan, PredicateState.UNSURE),
    ],
)
def test_only_beyond_its_accuracy_a_predicate_holds(
    value: float, accuracy: float, state: PredicateState
) -> None:
    predicate = Predicate("lifted", value, 60.0, "mm", accuracy=accuracy)
    assert predicate.state is state
    assert predicate.holds == (state is PredicateState.PASS)
    mirrored = Predicate("low", -value, -60.0, "mm", at_least=False, accuracy=accuracy)
    assert mirrored.state is state


def test_another_look_helps_only_where_nothing_fails() -> None:
    good, bad = Predicate("a", 2.0, 1.0, ""), Predicate("b", 0.0, 1.0, "")
    unsure = Predicate("c", math.nan, 1.0, "")
    said = Outcome.FAILURE
    assert Verdict(said, (good, unsure)).undecided
    assert not Verdict(said, (good, unsure, bad)).undecided
    assert not Verdict(Outcome.SUCCESS, (good,)).undecided
