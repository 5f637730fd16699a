"""What is told of a person's own script."""

from __future__ import annotations

import numpy as np
import pytest

from enpire.environment.gym_bridge.script_watch import SLOW_S, TIMES, ScriptWatch

SEEN = np.zeros((1, 2), np.float32)


@pytest.mark.parametrize(
    ("took", "words"), [(1.5 * SLOW_S, "each of its actions takes 1.5 s"), (0.5 * SLOW_S, "")]
)
def test_a_script_that_takes_long_time_and_again_is_told_once(took: float, words: str) -> None:
    told: list[str] = []
    now = 0.0
    watch = ScriptWatch(told.append, lambda: now)
    for _ in range(2 * TIMES):
        watch.asked()
        now += took
        watch.answered(SEEN, [np.array([0.5])])
    assert bool(told) == bool(words)
    assert all(words in each for each in told)
    assert len(told) <= 1
