"""Rules of selection: whose pair is next, by the records alone."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.selection_rules import FIRST_RUNG, Contender, SelectionRule, choose
from enpire.errors import UsageError
from enpire.rollout.evaluation.comparison import Decision, PairedRecord

ALPHA = 0.05


def contender(name: str, wins: int = 0, losses: int = 0, ties: int = 0) -> Contender:
    made = Contender(name)
    for candidate, incumbent, count in ((1, 0, wins), (0, 1, losses), (1, 1, ties)):
        for _ in range(count):
            made = made.add(candidate=bool(candidate), incumbent=bool(incumbent), alpha=ALPHA)
    return made


def chosen(rule: SelectionRule, *contenders: Contender, seed: int = 0) -> str | None:
    return choose(rule, contenders, np.random.default_rng(seed))


def test_greedy_runs_the_most_promising() -> None:
    assert (
        chosen(SelectionRule.GREEDY, contender("a", 2, 2), contender("b", 4, 1), contender("c"))
        == "b"
    )


def test_greedy_leaves_a_loser_for_one_that_nobody_has_tried() -> None:
    assert chosen(SelectionRule.GREEDY, contender("a", 1, 2), contender("b")) == "b"


def test_robots_spread_over_contenders_that_are_alike() -> None:
    a, b = contender("a"), contender("b")
    for rule in (SelectionRule.UNIFORM, SelectionRule.GREEDY, SelectionRule.HALVING):
        assert chosen(rule, replace(a, under_way=1), b) == "b"


def test_thompson_runs_the_better_one_more_often_and_the_other_at_times() -> None:
    rng = np.random.default_rng(0)
    both = [contender("good", 6, 2, 4), contender("bad", 2, 3, 4)]
    counts = Counter(choose(SelectionRule.THOMPSON, both, rng) for _ in range(300))
    assert counts["good"] > 200
    assert counts["bad"] > 10


def test_halving_runs_all_as_far_as_the_rung_then_the_better_half() -> None:
    four = {name: contender(name) for name in "abcd"}
    better = {"a": True, "b": False, "c": True, "d": False}
    seen: list[str] = []
    for pair in range(8 * FIRST_RUNG):
        name = chosen(SelectionRule.HALVING, *four.values())
        if name is None:
            break
        seen.append(name)
        win = better[name] and pair % 2 == 0
        four[name] = four[name].add(candidate=win, incumbent=False, alpha=1e-6)
    assert Counter(seen[: 4 * FIRST_RUNG]) == dict.fromkeys("abcd", FIRST_RUNG)
    assert set(seen[4 * FIRST_RUNG : 6 * FIRST_RUNG]) == {"a", "c"}


def test_what_was_put_aside_comes_back_when_the_better_half_is_dropped() -> None:
    aside = contender("aside", 3, 3, FIRST_RUNG - 6)
    ahead = replace(contender("ahead", 4, 3, FIRST_RUNG - 7), decision=Decision.KEEP)
    assert chosen(SelectionRule.HALVING, aside, ahead) == "aside"


def test_nobody_is_next_when_all_are_decided() -> None:
    over = [replace(contender(name), decision=Decision.KEEP) for name in "ab"]
    for rule in SelectionRule:
        assert chosen(rule, *over) is None
        assert chosen(rule) is None


def test_a_contender_is_decided_by_its_own_test_and_then_stays_as_it_is() -> None:
    sure = contender("sure", wins=40)
    assert sure.decision is Decision.PROMOTE
    assert sure.record.wins < 40
    assert contender("hopeless", losses=40).decision is Decision.KEEP


def test_rungs_remember_the_record_as_it_was() -> None:
    made = contender("a", wins=2, losses=2, ties=FIRST_RUNG - 1)
    assert made.rungs == (PairedRecord(2, 2, FIRST_RUNG - 4),)


def test_two_of_one_name_are_refused() -> None:
    with pytest.raises(UsageError, match="one name"):
        chosen(SelectionRule.GREEDY, contender("a"), contender("a"))
