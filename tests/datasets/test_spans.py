"""Entries that hardly move in a dataset, and angles that are none."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from enpire.datasets.angles import odd_angles
from enpire.datasets.compatibility import TaskInterface
from enpire.datasets.spans import odd_spans
from enpire.types import FloatArray
from tests.datasets.test_angles_and_ends import NAMES, Pair, frames_of, turned

RNG = np.random.default_rng(3)
OURS = [turned(RNG) for _ in range(6)]
WANTED = TaskInterface(
    "turn", NAMES, ("turn",), 25.0, demonstrations=lambda: OURS, random=OURS, moves=np.zeros((1, 3))
)


def told(factor: float, wanted: TaskInterface = WANTED, count: int = 6) -> str:
    """What is told of episodes whose height is so many times as far."""
    pairs: list[Pair] = [turned(RNG) for _ in range(count)]
    seen: FloatArray = np.concatenate([each * (factor, 1, 1) for _, each in pairs])
    return odd_spans(frames_of(pairs), seen, wanted)


def test_what_hardly_moves_is_told() -> None:
    assert "moves hardly moves" not in told(1.0)
    assert "move hardly moves here (height by 0.0" in told(1 / 57.3)
    assert "(height by 0, and there by 1" in told(0.0)


def test_less_than_a_task_shows_is_no_sign() -> None:
    assert told(0.3) == ""
    assert told(0.0, count=2) == "", "of two episodes"
    assert told(0.0, replace(WANTED, demonstrations=None)) == ""
    still = [*OURS[:-1], (OURS[-1][0], OURS[-1][1] * (0.01, 1, 1))]
    assert told(0.0, replace(WANTED, demonstrations=lambda: still)) == "", "one of ours is still"


@pytest.mark.parametrize(("length", "ends"), [(1.0, False), (0.5, True), (1.05, False)])
def test_a_cosine_and_a_sine_of_no_angle_are_told(length: float, ends: bool) -> None:
    pairs = [(done, seen * (1, length, length)) for done, seen in OURS]
    said = "; ".join(odd_angles(pairs, WANTED))
    assert ("turn_cos and turn_sin are of length 0.5 in 100%" in said) is ends
    assert not ends or "of one angle it is 1" in said
