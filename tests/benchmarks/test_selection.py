"""The bench of selection: searches on contenders whose rates are known."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import selection as bench
from benchmarks.selection_rules import SelectionRule

EASY = bench.SearchScene("easy", 0.2, (0.2, 0.95, 0.1))


def test_a_search_finds_what_is_much_better_and_counts_its_episodes() -> None:
    for rule in SelectionRule:
        found = bench.search(EASY, rule, np.random.default_rng(0))
        assert found.promoted == 1
        assert 10 < found.episodes < 100


def test_searches_repeat() -> None:
    once, again = (
        bench.search(EASY, SelectionRule.THOMPSON, np.random.default_rng(3)) for _ in range(2)
    )
    assert once == again


def test_a_search_without_a_better_one_ends_with_all_dropped() -> None:
    hopeless = bench.SearchScene("hopeless", 0.6, (0.1, 0.2))
    assert bench.search(hopeless, SelectionRule.GREEDY, np.random.default_rng(0)).promoted is None


def test_the_rule_of_campaigns_costs_less_than_taking_turns() -> None:
    costs = {
        rule: np.mean(
            [
                bench.search(bench.SCENES[4], rule, np.random.default_rng([run])).episodes
                for run in range(6)
            ]
        )
        for rule in (SelectionRule.GREEDY, SelectionRule.UNIFORM)
    }
    assert costs[SelectionRule.GREEDY] < 0.9 * costs[SelectionRule.UNIFORM]


def test_the_table_has_a_line_for_every_rule() -> None:
    rows = [
        bench.SelectionRow("one", rule, 10, found, 0, 100.0, 1.0)
        for rule, found in zip(SelectionRule, (5, 10, 8, 4), strict=True)
    ]
    costs = (200.0, 100.0, 125.0, 250.0)
    assert bench.overall(rows) == pytest.approx(dict(zip(SelectionRule, costs, strict=True)))
    table = bench.markdown(rows)
    assert "| one | greedy | 10 of 10 | 0: 0.000 [0.000, 0.308] | 100 ± 2 | 100 |" in table
    assert table.splitlines()[-4].startswith("| geometric mean | greedy")
