"""Budgets of a campaign: set aside before, settled after."""

from __future__ import annotations

from enpire.evolution.experiments.budget import Ceilings
from enpire.evolution.experiments.events import ModelUse


def test_nothing_is_refused_without_limits() -> None:
    assert Ceilings().refuses(10**6, 1e9, 1e9, 1e9) == ""
    assert Ceilings().used_up(ModelUse(10**9, 1e6)) is None


def test_robot_time_of_those_under_way_is_not_given_out_twice() -> None:
    limit = Ceilings(robot_s=100.0)
    assert limit.refuses(0, 40.0, 30.0, 30.0) == ""
    assert "--max-robot-hours" in limit.refuses(0, 40.0, 31.0, 30.0)


def test_experiments_tokens_and_dollars() -> None:
    limit = Ceilings(experiments=2, tokens=100, dollars=1.0)
    assert limit.refuses(1, 0.0, 0.0, 1.0) == ""
    assert "--max-experiments" in limit.refuses(2, 0.0, 0.0, 1.0)
    assert "--max-tokens" in (limit.used_up(ModelUse(100, 0.0)) or "")
    assert "--max-dollars" in (limit.used_up(ModelUse(1, 1.0)) or "")
