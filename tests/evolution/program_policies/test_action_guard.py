"""A candidate's nonsense costs itself its episodes, and nobody else theirs."""

from __future__ import annotations

import math

from enpire.environment import Job
from enpire.environment.core.controller import ChunkedController
from enpire.evolution.program_policies.action_guard import guard_actions
from enpire.types import Episode, Outcome, Purpose
from tests.environment.reach import Speed, reach_stations


class Plans(Speed):
    """Plans what is no action, after a first one that is."""

    def plan(self, row: int) -> object:
        import numpy as np

        return np.full((2, 7), np.nan, np.float32)

    def saw(self, row: int, observations: object) -> None:
        pass


def ran(*controllers: object) -> list[Episode]:
    """What comes of an episode of each, side by side."""
    stations = reach_stations(len(controllers))
    for row, controller in enumerate(controllers):
        stations.begin(row, Job(7, Purpose.EVALUATION, controller, f"p{row}"))  # type: ignore[arg-type]
    ended: list[Episode] = []
    while len(ended) < len(controllers):
        ended += stations.tick(8)
    return sorted(ended, key=lambda e: e.policy)


def test_only_who_returns_no_action_fails() -> None:
    bad, good = ran(guard_actions(Speed(math.nan), "bad", 7), guard_actions(Speed(), "good", 7))
    assert bad.verdict.outcome is Outcome.FAILURE
    assert "bad: the policy returned actions that are not finite" in bad.verdict.reason
    assert good.verdict.outcome is Outcome.SUCCESS


def test_a_plan_that_is_none_fails_likewise() -> None:
    controller = guard_actions(Plans(), "bad", 7)
    assert isinstance(controller, ChunkedController)
    bad, good = ran(controller, guard_actions(Speed(), "good", 7))
    assert bad.verdict.outcome is Outcome.FAILURE
    assert "not finite" in bad.verdict.reason
    assert good.verdict.outcome is Outcome.SUCCESS


def test_a_controller_that_does_not_plan_is_not_made_to() -> None:
    assert not isinstance(guard_actions(Speed(), "plain", 7), ChunkedController)
