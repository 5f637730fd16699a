"""Episodes are told in the order of their own time, in whichever order they come."""

from __future__ import annotations

import pytest

from enpire.cluster.clock import CommonClock, RunningEpisode, lagging_episodes, silent_episodes
from enpire.environment import Job, RandomActions
from enpire.types import Purpose

JOB = Job(0, Purpose.COLLECTION, RandomActions(1), "p")


def under(row: int, began: int = 0, passed: int = 0, until: int | None = None) -> RunningEpisode:
    return RunningEpisode(row, JOB, row, object(), began, passed, until=until)


def test_an_episode_is_told_when_all_have_come_as_far() -> None:
    clock = CommonClock(0.04)
    fast, slow = under(0, until=100), under(1, passed=60)
    assert clock.due([fast, slow]) == []
    assert clock.periods == 60
    assert lagging_episodes([fast, slow]) == [(1, 100)]
    slow.passed = 100
    assert clock.due([fast, slow]) == [fast]
    assert lagging_episodes([fast, slow]) == []
    assert clock.now == pytest.approx(4.0)


def test_what_ends_at_one_time_is_told_at_once_in_the_order_of_the_beginnings() -> None:
    clock = CommonClock(0.04)
    both = [under(2, until=50), under(0, began=20, until=50), under(1, until=51)]
    assert clock.due(both) == both[:2]
    assert clock.periods == 50


def test_the_clock_never_goes_back_and_stands_still_without_episodes() -> None:
    clock = CommonClock(0.5)
    clock.goes_on_from(12.0)
    assert clock.due([under(0, until=8)])
    assert clock.now == 16.0
    assert clock.due([]) == []
    assert clock.due([under(0, began=8)]) == []
    clock.tick(0.5)
    assert clock.now == 16.0


def test_who_begins_later_is_waited_for_from_there() -> None:
    first, later = under(0, until=30), under(1, began=20, passed=4)
    assert lagging_episodes([first, later]) == [(1, 10)]


def test_who_is_silent_is_asked_though_nobody_waits() -> None:
    silent, heard, over = under(0, passed=4), under(1), under(2, until=9)
    silent.heard = over.heard = heard.heard - 60.0
    assert silent_episodes([silent, heard, over], 30.0) == [(0, 5)]
