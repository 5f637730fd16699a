"""The table of an ablation, from results written by hand."""

from __future__ import annotations

import math

import pytest

from enpire.evolution.ablation import comparison
from enpire.evolution.ablation.comparison import (
    ArmSummary,
    CampaignResult,
    TimeToTarget,
    over_repeats,
    paired,
)
from enpire.evolution.experiments.accounts import Accounts, Costs
from enpire.rollout.evaluation.comparison import PairedRecord
from enpire.rollout.evaluation.statistics import estimate


def result(
    arm: str, seed: int, won: int, hours: float, reached: bool, gpu: float | None = None
) -> CampaignResult:
    """Of 100 common seeds the first `won` succeeded; 2 robot-hours and 1M tokens an hour."""
    total = Costs(hours * 3600.0, 7200.0 * hours, int(1_000_000 * hours), 3.0)
    start = Costs(360.0, 720.0, 0, 0.0)
    return CampaignResult(
        arm=arm,
        seed=seed,
        policy="a-0",
        curve=((start, estimate(30, 60)), (total, estimate(54, 60))),
        sealed={i: i < won for i in range(100)},
        accounts=Accounts(0.5, gpu, total, total if reached else None),
        experiments=7,
        kept=2,
        ended="reached" if reached else "--max-time is used up",
    )


def table() -> list[ArmSummary]:
    return comparison.lines(
        [
            result("one", 0, 80, 2.0, False),
            result("two", 0, 90, 1.0, True, 0.25),
            result("one", 1, 70, 2.0, False),
            result("two", 1, 95, 1.5, True, 0.75),
            result("one", 2, 75, 1.0, True),
            result("two", 2, 85, 2.0, False, 0.5),
        ]
    )


def test_arms_are_held_against_the_first_on_the_same_seeds() -> None:
    one, two = table()
    assert (one.sealed.successes, one.sealed.trials) == (225, 300)
    records = two.pairs(one)
    assert records == [PairedRecord(10, 0, 90), PairedRecord(25, 0, 75), PairedRecord(10, 0, 90)]
    mean, half = over_repeats(records) or (0.0, 0.0)
    assert mean == pytest.approx(0.15)
    assert half == pytest.approx(4.303 * 0.0866 / math.sqrt(3), rel=1e-3)
    assert over_repeats(records[:1]) is None


def test_only_seeds_that_both_were_judged_on_are_pairs() -> None:
    one, other = {1: True, 2: False, 3: True}, {2: True, 3: True, 4: False}
    assert paired(one, other) == PairedRecord(0, 1, 1)


def test_what_was_cut_short_bounds_the_time_to_target() -> None:
    one, two = table()
    hours = comparison.USED["hours"][1]
    assert two.until(hours) == TimeToTarget(1.5, True, 2, 3)
    assert one.until(hours) == TimeToTarget(2.0, False, 1, 3)
    assert one.until(hours).text("{:.2f}".format) == ">2.00 (1 of 3)"
    assert ArmSummary("x", two.results[:1]).until(hours).text("{:.1f}".format) == "1.0"


def test_the_table() -> None:
    lines = table()
    head, _, one, two = comparison.markdown(lines).splitlines()
    assert head.count("|") == one.count("|") == two.count("|")
    assert one.startswith("| `one` | 3 | 0.750 [0.697, 0.798] of 300 |  |  | >2.00 (1 of 3) | >4.0")
    assert "+0.150 [+0.114, +0.195] of 300 pairs | +0.150 ± 0.215 | 1.50 (2 of 3)" in two
    assert two.endswith("| 1.5M (2 of 3) | 7.0 | 2.0 | 50% | 50% | 16667 | 1.5M | 3.00 |")
    assert "| none |" in one
    said = comparison.as_json(lines)
    assert said[1]["difference"]["pairs"] == 300
    assert said[0]["to_target"]["hours"] == {"value": 2.0, "known": False, "reached": 1, "of": 3}
    assert [campaign["seed"] for campaign in said[1]["campaigns"]] == [0, 1, 2]
    assert comparison.markdown([]) == ""


def test_a_line_of_the_plot_a_repeat() -> None:
    line = table()[1]
    traces = comparison.traces(line, comparison.USED["robot-hours"][1])
    assert [trace.at for trace in traces] == [(0.2, 2.0), (0.2, 3.0), (0.2, 4.0)]
    assert traces[0].rate == (0.5, 0.9)
    assert [trace.sealed for trace in traces] == [0.9, 0.95, 0.85]
