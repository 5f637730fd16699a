"""Trouble: an estimate that no longer rises, and time that is over."""

from __future__ import annotations

import numpy as np

from enpire.improvement.failure_detectors import EVERY, FromTheStart, NoProgress
from enpire.types import Float32Array


def watched(chances: list[float], periods: int = 1000, seed: int = 0, patience: int = 20) -> object:
    """The period of trouble and where it says to go back to, of these chances a period."""
    watch = NoProgress(lambda seen: seen[:, 0], periods, patience)
    watch.begin(0, np.random.default_rng(seed))
    for now, chance in enumerate(chances):
        back = watch.trouble(0, np.array([chance], np.float32))
        if back is not None:
            return now, back
    return None


def test_no_trouble_while_it_rises() -> None:
    assert watched(np.linspace(0, 1, 150).tolist()) is None


def test_trouble_when_it_has_not_risen_for_a_while() -> None:
    rising = np.linspace(0.1, 0.6, 51).tolist()
    moments = {watched([*rising, *[0.6] * 100], seed=seed) for seed in range(30)}
    assert all(back == 50 for _, back in moments)  # type: ignore[misc]
    waits = [now - 50 for now, _ in moments]  # type: ignore[misc]
    assert min(waits) >= 20
    assert max(waits) <= 40
    assert len(set(waits)) > 5, "drawn"
    assert watched([*rising, *[0.6] * 100], seed=3) == watched([*rising, *[0.6] * 100], seed=3)


def test_trouble_when_time_is_nearly_over() -> None:
    assert watched(np.linspace(0, 1, 100).tolist(), periods=40) == (38, 35)


def test_it_looks_now_and_then_at_one_observation_at_a_time() -> None:
    asked: list[int] = []

    def value(seen: Float32Array) -> Float32Array:
        asked.append(len(seen))
        return seen[:, 0]

    watch = NoProgress(value, 1000, 100)
    for row in (0, 1):
        watch.begin(row, np.random.default_rng(row))
    for _ in range(2 * EVERY):
        for row in (0, 1):
            watch.trouble(row, np.zeros(1, np.float32))
    assert asked == [1] * 4


def test_back_to_the_start() -> None:
    watch = FromTheStart(NoProgress(lambda seen: seen[:, 0], 40, 20))
    watch.begin(0, np.random.default_rng(0))
    said = [watch.trouble(0, np.array([chance], np.float32)) for chance in np.linspace(0, 1, 39)]
    assert said == [None] * 38 + [0]
