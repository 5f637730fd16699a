"""What makes an episode of a Gymnasium environment a success."""

from __future__ import annotations

import pytest

from enpire.environment import Job
from enpire.environment.gym_bridge.success_rule import GymEpisode, SuccessRule
from enpire.errors import UsageError
from enpire.types import Outcome, Purpose
from tests.environment.reach import Speed


def ended(success: bool | None) -> GymEpisode:
    """An episode of one step, whose environment said so."""
    episode = GymEpisode(Job(0, Purpose.EVALUATION, Speed(), "p"))
    episode.hears({"reward": 0.0, "success": success, "terminated": True, "truncated": False})
    return episode


def test_an_environment_that_never_says_is_refused() -> None:
    with pytest.raises(UsageError, match="does not say whether an episode was a success"):
        SuccessRule.read("", "gym:X/Y-v0").judge(ended(None))


def test_one_that_says_so_no_more_ends_that_episode_alone() -> None:
    rule = SuccessRule.read("", "gym:X/Y-v0")
    assert rule.judge(ended(True)).outcome is Outcome.SUCCESS
    silent = rule.judge(ended(None))
    assert silent.outcome is Outcome.INVALID
    assert "nothing is said of success" in silent.reason
    assert rule.judge(ended(False)).outcome is Outcome.FAILURE
