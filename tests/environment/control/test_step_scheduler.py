"""Periods: who is thought for, when, by how many threads, and what is raised where."""

from __future__ import annotations

import threading
import time

import pytest

from enpire.environment.control.step_scheduler import PhysicsStep, PolicyStep, StepScheduler
from enpire.twin.thread_pool import ThreadPool

LONG_S = 60.0  # more than a busy machine takes


class Thinks:
    """Notes whom it thought for, and lets them fly."""

    def __init__(self, advance: bool = True, error: Exception | None = None) -> None:
        self.of: list[int] = []
        self.advance, self.error = advance, error

    def __call__(self, rows: list[int]) -> list[int]:
        self.of.extend(rows)
        if self.error:
            raise self.error
        return rows if self.advance else []


def one_period(row: int, most: int) -> int:
    time.sleep(0.0005)
    return 1


def periods(
    policy_step: PolicyStep, threads: int = 2, advance: PhysicsStep = one_period
) -> StepScheduler:
    return StepScheduler(ThreadPool(threads), policy_step, advance, goes_on=lambda row: row != 0)


def test_a_tick_is_a_period_of_every_station() -> None:
    policy_step = Thinks()
    each = periods(policy_step)
    for tick in range(1, 20):
        each.tick([0, 1, 2], ahead=0)
        assert [policy_step.of.count(row) for row in range(3)] == [tick] * 3


def test_only_who_goes_on_runs_ahead_and_only_so_far() -> None:
    policy_step = Thinks()
    each = periods(policy_step)
    each.tick([0, 1], ahead=4)
    deadline = time.monotonic() + LONG_S
    while policy_step.of.count(1) < 5 and time.monotonic() < deadline:
        time.sleep(0.001)  # the other thread goes on meanwhile
    each.wait()
    assert policy_step.of.count(1) == 5
    assert policy_step.of.count(0) == 1
    assert each.early(1)
    assert not each.early(0)


def test_those_that_have_landed_are_thought_for_together_by_one_thread_at_a_time() -> None:
    batches: list[list[int]] = []
    inside = threading.Lock()

    def policy_step(rows: list[int]) -> list[int]:
        assert inside.acquire(blocking=False), "two threads think"
        batches.append(list(rows))
        time.sleep(0.0005)
        inside.release()
        return rows

    each = periods(policy_step)
    for _ in range(50):
        each.tick(range(6), ahead=8)
    each.wait()
    assert max(map(len, batches)) > 1
    assert all(len(set(rows)) == len(rows) for rows in batches)


def test_who_has_left_is_thought_for_no_longer_and_may_come_back() -> None:
    policy_step = Thinks()
    each = periods(policy_step)
    each.tick([0, 1], ahead=0)
    each.wait()
    each.leave(1)
    each.tick([0], ahead=0)
    assert policy_step.of.count(1) == 1
    each.tick([0, 1], ahead=0)
    assert policy_step.of.count(1) == 2


def test_who_does_not_fly_is_due_again_at_the_next_tick() -> None:
    policy_step = Thinks(advance=False)
    each = periods(policy_step)
    each.tick([0, 1], ahead=0)
    each.tick([0, 1], ahead=0)
    assert sorted(policy_step.of) == [0, 0, 1, 1]


def test_an_error_is_raised_by_a_tick_and_nobody_runs_ahead_after_it() -> None:
    policy_step = Thinks(error=ValueError("no idea"))
    each = periods(policy_step, threads=1)
    with pytest.raises(ValueError, match="no idea"):
        each.tick([1, 2], ahead=5)
    each.wait()
    assert sorted(policy_step.of) == [1, 2]


def test_a_flight_may_be_of_several_periods_up_to_those_allowed() -> None:
    allowed: list[int] = []
    policy_step = Thinks()

    def advance(row: int, most: int) -> int:
        allowed.append(most)
        return min(most, 3)

    each = periods(policy_step, threads=1, advance=advance)
    for _ in range(10):
        each.tick([1], ahead=4)
    each.wait()
    assert 3 < max(allowed) <= 6, "a period that is due, those ahead, and the next tick's"
    assert policy_step.of.count(1) < 10


def test_an_error_in_a_flight_is_raised_too() -> None:
    def advance(row: int, most: int) -> int:
        raise ValueError("no way")

    each = periods(Thinks(), threads=1, advance=advance)
    each.tick([1], ahead=0)
    with pytest.raises(ValueError, match="no way"):
        each.tick([1], ahead=0)


def test_what_breaks_another_thread_is_raised_and_nobody_waits_for_it() -> None:
    def goes_on(row: int) -> bool:
        if threading.current_thread() is not threading.main_thread():
            raise KeyError(row)
        return True

    each = StepScheduler(ThreadPool(2), Thinks(), one_period, goes_on)

    def ticks() -> None:
        for _ in range(1000):
            each.tick([0, 1, 2], ahead=3)

    with pytest.raises(KeyError):
        ticks()
    with pytest.raises(KeyError):
        each.wait()


def test_who_is_held_is_not_thought_for_and_others_run_ahead_until_it_is_released() -> None:
    thought: list[int] = []
    ahead = threading.Event()

    def policy_step(rows: list[int]) -> list[int]:
        thought.extend(rows)
        if thought.count(1) == 3:
            ahead.set()
        return rows

    def release() -> None:
        assert ahead.wait(LONG_S)
        assert thought.count(0) == 0
        each.release(0)

    each = periods(policy_step)
    each.hold(0)
    later = threading.Thread(target=release)
    later.start()
    each.tick([0, 1], ahead=2)
    later.join()
    each.wait()
    assert thought.count(0) == 1
    assert thought.count(1) == 3


def test_who_was_held_and_left_may_come_back() -> None:
    policy_step = Thinks()
    each = periods(policy_step)
    each.hold(0)
    each.leave(0)
    each.tick([0], ahead=0)
    assert policy_step.of == [0]


def test_who_is_thought_for_ahead_is_early_all_the_while() -> None:
    thinks, go_on = threading.Event(), threading.Event()
    of: list[int] = []

    def policy_step(rows: list[int]) -> list[int]:
        of.extend(rows)
        if of.count(1) == 2:
            thinks.set()
            assert go_on.wait(LONG_S)
        return rows

    each = periods(policy_step)
    each.tick([0, 1], ahead=1)
    assert thinks.wait(LONG_S)
    assert each.early(1), "what it decides now belongs to the next tick"
    go_on.set()
    each.wait()
    assert each.early(1)
