"""Sides take turns, and ours is compared with each of the others."""

from __future__ import annotations

import time

from benchmarks.turns import TurnRatio, compare, seconds, table, take_turns


def test_sides_take_turns_in_both_orders() -> None:
    done: list[str] = []
    taken = take_turns({"a": lambda: done.append("a"), "b": lambda: done.append("b")}, 2)
    assert "".join(done) == "ab" + "ab" + "ba"
    assert all(len(each.wall) == len(each.processor) == 2 for each in taken.values())


def test_a_ratio_is_told_with_its_least_and_largest() -> None:
    ratio = TurnRatio.of([2.0, 9.0, 4.0], [2.0, 3.0, 2.0])
    assert ratio == TurnRatio(2.0, 1.0, 3.0)
    assert str(ratio) == "2.00 [1.00, 3.00]"


def test_who_waits_takes_the_clock_and_no_processor() -> None:
    compared = compare("wait", {"ours": lambda: None, "sleep": lambda: time.sleep(0.02)}, 3)
    turns = compared.turns["sleep"]
    assert turns.wall_s >= 0.02 > turns.processor_s
    assert compared.faster["sleep"].least > 1
    head, _, ours, other = table([compared]).splitlines()
    assert head.count("|") == ours.count("|") == other.count("|")
    assert "| wait | sleep | 2" in other


def test_durations_have_a_unit_that_fits() -> None:
    assert [seconds(value) for value in (2.5, 0.0123, 4.2e-5)] == ["2.5 s", "12.3 ms", "42 us"]
