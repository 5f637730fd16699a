"""Signs of a Gymnasium environment at fault: each is told once."""

from __future__ import annotations

import numpy as np
import pytest

from enpire.environment import Job
from enpire.environment.gym_bridge.episode_signs import EpisodeSigns
from enpire.environment.gym_bridge.success_rule import GymEpisode
from enpire.types import Outcome, Purpose, Verdict
from tests.environment.reach import Speed

BOUNDS = np.array([[-1.0, np.nan], [1.0, np.nan]])  # the second entry has none


def told(seen: list[list[float]], caplog: pytest.LogCaptureFixture) -> list[str]:
    """What is said of two episodes that showed this."""
    signs = EpisodeSigns("gym:X/Y-v0", BOUNDS)
    for _ in range(2):
        episode = GymEpisode(Job(0, Purpose.EVALUATION, Speed(), "p"))
        episode.observations.extend(np.array(seen, np.float32))
        signs.ends(episode, Verdict(Outcome.FAILURE, reason="missed"))
    return [r.getMessage() for r in caplog.records]


@pytest.mark.parametrize("value", [57.0, -4.0])
def test_what_is_far_beyond_its_bounds_is_told_once(
    value: float, caplog: pytest.LogCaptureFixture
) -> None:
    (said,) = told([[0.0, 1e6], [value, 0.0]], caplog)
    assert f"entry 0 of its observation is {value:g}, and -1 to 1 is declared" in said


def test_a_little_beyond_is_no_news(caplog: pytest.LogCaptureFixture) -> None:
    assert told([[2.5, 1e6], [-1.2, 0.0]], caplog) == []
    assert told([], caplog) == []


@pytest.mark.parametrize(
    ("said", "judged", "words"),
    [
        (False, Outcome.SUCCESS, "is a success by the rule of --success, and its own word of"),
        (True, Outcome.FAILURE, "is a failure by the rule of --success, and its own word of"),
        (True, Outcome.SUCCESS, ""),
        (None, Outcome.SUCCESS, ""),
    ],
)
def test_a_rule_against_what_an_environment_says_is_told_once(
    said: bool | None, judged: Outcome, words: str, caplog: pytest.LogCaptureFixture
) -> None:
    signs = EpisodeSigns("gym:X/Y-v0", BOUNDS)
    for _ in range(2):
        episode = GymEpisode(Job(0, Purpose.EVALUATION, Speed(), "p"))
        episode.hears({"reward": 0.0, "success": said, "terminated": True})
        signs.ends(episode, Verdict(judged, reason=""), own=False)
    told = [r.getMessage() for r in caplog.records]
    assert len(told) == bool(words)
    assert all(words in text for text in told)
