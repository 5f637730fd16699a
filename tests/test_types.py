"""Predicates near their thresholds, and verdicts that another look may change."""

from __future__ import annotations

import math

import numpy as np
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


@pytest.mark.parametrize(
    ("value", "threshold", "at_least", "text"),
    [
        (28.91, 60.0, True, "at 28.9 mm (needs 60)"),
        (8.3, 8.0, False, "at 8.3 mm (needs 8)"),
        (8.0000004, 8.0, False, "at 8.0000004 mm (needs 8)"),
        (59.9996, 60.0, True, "at 59.9996 mm (needs 60)"),
        (-0.3, 0.0, True, "at -0.3 mm (needs 0)"),
        (-1e-9, 5.0, True, "at 0 mm (needs 5)"),
        (-0.0, 5.0, True, "at 0 mm (needs 5)"),
        (0.901650001, 0.9017, True, "at 0.90165 mm (needs 0.9017)"),
        (0.85943, 0.8594367, True, "at 0.859 mm (needs 0.859437)"),
        (0.8594368, 0.85943669, False, "at 0.85944 mm (needs 0.859437)"),
        (518.8, 4.0, False, "at 519 mm (needs 4)"),
        (123456.7, 4.0, False, "at 123457 mm (needs 4)"),
        (math.inf, 4.0, False, "at inf mm (needs 4)"),
        (math.nan, 4.0, False, "at unsure"),
    ],
)
def test_a_reason_tells_a_value_from_the_threshold_it_missed(
    value: float, threshold: float, at_least: bool, text: str
) -> None:
    assert Predicate("at", value, threshold, "mm", at_least).reason == text


def test_a_reason_says_no_unit_where_there_is_none_and_boundary_where_it_is_too_near() -> None:
    assert Predicate("covered", 0.5, 0.9, "").reason == "covered 0.5 (needs 0.9)"
    assert Predicate("covered", 0.91, 0.9, "", accuracy=0.02).reason == "covered boundary"


def test_rounding_never_moves_a_value_to_the_other_side_of_its_threshold() -> None:
    rng = np.random.default_rng(0)
    thresholds = 10.0 ** rng.uniform(-3, 4, 2000) * rng.choice([-1.0, 0.0, 1.0], 2000)
    values = thresholds + 10.0 ** rng.uniform(-9, 3, 2000) * rng.choice([-1.0, 0.0, 1.0], 2000)
    for value, threshold in zip(values.tolist(), thresholds.tolist(), strict=True):
        for at_least in (True, False):
            predicate = Predicate("a", value, threshold, "mm", at_least)
            assert predicate.value_text != "-0"
            if not predicate.holds:
                shown, needed = predicate.reason[2:-1].split(" mm (needs ")
                assert (float(shown) < float(needed)) == at_least
                assert float(shown) != float(needed)


def test_another_look_helps_only_where_nothing_fails() -> None:
    good, bad = Predicate("a", 2.0, 1.0, ""), Predicate("b", 0.0, 1.0, "")
    unsure = Predicate("c", math.nan, 1.0, "")
    said = Outcome.FAILURE
    assert Verdict(said, (good, unsure)).undecided
    assert not Verdict(said, (good, unsure, bad)).undecided
    assert not Verdict(Outcome.SUCCESS, (good,)).undecided


def test_a_success_is_rewarded_at_its_end() -> None:
    assert Verdict(Outcome.SUCCESS).rewards(3).tolist() == [0.0, 0.0, 1.0]
    assert Verdict(Outcome.FAILURE).rewards(3).tolist() == [0.0, 0.0, 0.0]
    assert len(Verdict(Outcome.SUCCESS).rewards(0)) == 0
