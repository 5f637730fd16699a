"""The detector: what it promises of episodes that it has not seen, and when it calls."""

from __future__ import annotations

import numpy as np
import pytest

from enpire.rollout.collection.failure_detector import (
    EVERY,
    FALSE_ALARMS,
    LEAST,
    Detector,
    interventions,
    learn_detector,
)
from enpire.types import Purpose
from tests.rollout.collection.test_early_stop import PERIODS, walks
from tests.store.samples import episode


@pytest.fixture(scope="module")
def learned() -> Detector:
    found = learn_detector(walks(150, 1), PERIODS, 0)
    assert found is not None
    return found


def calls(detector: Detector, observations: np.ndarray[tuple[int, int]]) -> list[int | None]:
    watch = detector.watch()
    watch.begin(0, np.random.default_rng(0))
    return [watch.trouble(0, seen) for seen in observations.astype(np.float32)]


def test_what_is_told_of_held_out_episodes_holds_for_new_ones(learned: Detector) -> None:
    told = learned.detection
    assert told.caught + told.missed + told.false + told.quiet == 150
    fresh = walks(300, 2)
    fired = np.array([any(c is not None for c in calls(learned, e.observations)) for e in fresh])
    won = np.array([e.success for e in fresh])
    assert (
        told.precision.low - 0.05 < (fired & ~won).sum() / fired.sum() < told.precision.high + 0.05
    )
    assert told.recall.low - 0.05 < fired[~won].mean() < told.recall.high + 0.05
    assert fired[won].mean() < 2 * FALSE_ALARMS
    assert told.recall.rate > 0.5


def test_it_calls_once_things_go_wrong_and_says_where_they_were_well(learned: Detector) -> None:
    rise = np.linspace(0.0, 1.5, 16)
    merit = np.concatenate([rise, np.linspace(1.5, -3.0, 16)])
    said = calls(learned, np.stack([merit, np.zeros(32)], axis=1))
    assert said[:16] == [None] * 16
    at = next(i for i, back in enumerate(said) if back is not None)
    assert at % EVERY == 0
    back = said[at]
    assert back is not None
    assert 0 < back < at


def test_nothing_is_learned_from_too_little_or_from_help() -> None:
    few = walks(2 * LEAST - 2, 3)
    assert learn_detector(few, PERIODS, 0) is None
    shown = walks(60, 4, Purpose.DEMONSTRATION)
    assert learn_detector(few + shown, PERIODS, 0) is None


def test_interventions_are_counted_by_their_beginnings() -> None:
    flags = [[0, 1, 1, 0, 1], [1, 0, 0, 0, 0], [0, 0, 0, 0, 0]]
    made = [episode(f"e{i}", intervened=np.array(f, bool)) for i, f in enumerate(flags)]
    assert interventions(made) == 3
