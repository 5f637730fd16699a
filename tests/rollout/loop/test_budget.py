"""A run ends for the first reason there is, and says which."""

from __future__ import annotations

import time

import pytest

from enpire.rollout.loop.budget import Budget


def test_an_unlimited_budget_never_ends() -> None:
    assert Budget().spent(1e12) is None


def test_robot_time() -> None:
    budget = Budget(robot_s=7200)
    assert budget.spent(7199.9) is None
    reason = budget.spent(7200)
    assert reason is not None
    assert "--max-robot-hours" in reason
    assert "2.00 h" in reason


def test_wall_time() -> None:
    started = time.monotonic() - 120
    assert Budget(wall_s=1000, started=started).spent(0) is None
    reason = Budget(wall_s=119, started=started).spent(0)
    assert reason is not None
    assert "--max-time" in reason
    assert "2.0 min" in reason


def test_an_interruption_comes_first() -> None:
    budget = Budget(wall_s=0, robot_s=0)
    budget.interrupted = True
    assert budget.spent(1) == "interrupted"


def test_elapsed_is_on_a_monotonic_clock() -> None:
    assert Budget(started=time.monotonic() - 5).elapsed == pytest.approx(5, abs=1)
