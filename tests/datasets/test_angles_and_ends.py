"""Angles by cosine and sine, and where successes end, held against the task."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from enpire.datasets.angles import odd_angles
from enpire.datasets.compatibility import TaskInterface
from enpire.datasets.endings import odd_endings
from enpire.datasets.folder import Extent, Frames
from enpire.types import FloatArray

Pair = tuple[FloatArray, FloatArray]
NAMES = "height", "turn_cos", "turn_sin"
LENGTH = 60


def turned(rng: np.random.Generator, times: float = 1.0) -> Pair:
    """An episode: one action turns a thing, which ends at a height of about 1."""
    actions = np.repeat(rng.uniform(-1, 1, (LENGTH // 5, 1)), 5, axis=0)
    angle = rng.uniform(-3, 3) + 0.2 * times * np.cumsum(actions)
    height = np.linspace(0, 1, LENGTH) + rng.normal(0, 0.01, LENGTH)
    return actions, np.column_stack([height, np.cos(angle), np.sin(angle)])


def frames_of(pairs: list[Pair]) -> Frames:
    extents = tuple(
        Extent(i, i * LENGTH, (i + 1) * LENGTH, LENGTH, Path()) for i in range(len(pairs))
    )
    made = Frames.__new__(Frames)
    object.__setattr__(made, "extents", extents)
    return made


def told(change: Callable[[FloatArray], object]) -> str:
    rng = np.random.default_rng(0)
    wanted = TaskInterface("turn", NAMES, ("action_0",), 25.0)
    wanted = replace(wanted, random=[turned(rng) for _ in range(4)])
    pairs = [turned(rng) for _ in range(4)]
    for _, seen in pairs:
        change(seen)
    return "; ".join(odd_angles(pairs, wanted))


def quarter(seen: FloatArray) -> None:
    angle = np.unwrap(np.arctan2(seen[:, 2], seen[:, 1])) / 4
    seen[:, 1], seen[:, 2] = np.cos(angle), np.sin(angle)


def exchanged(seen: FloatArray) -> None:
    seen[:, 1:] = seen[:, :0:-1].copy()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda seen: None, ""),
        (quarter, "turns the angle of turn_cos and turn_sin 0.26 times as far as in turn"),
        (exchanged, "turns the angle of turn_cos and turn_sin the other way than in turn"),
        (lambda seen: np.negative(seen[:, 2], out=seen[:, 2]), "the other way than in turn"),
    ],
)
def test_an_angle_is_held_against_the_action_that_turns_it(
    change: Callable[[FloatArray], object], words: str
) -> None:
    found = told(change)
    assert words in found
    assert bool(words) == bool(found)


def ended(cut: int, good: bool = True, shown: int = 8) -> str:
    """What is told of five episodes of which so many last frames are missing."""
    rng = np.random.default_rng(0)
    demonstrations = [turned(rng) for _ in range(shown)]
    wanted = TaskInterface(
        "turn", NAMES, ("action_0",), 25.0, demonstrations=lambda: demonstrations
    )
    pairs = [(done, np.roll(seen, cut, axis=0)) for done, seen in (turned(rng) for _ in range(5))]
    seen = np.concatenate([each for _, each in pairs])
    return odd_endings(frames_of(pairs), seen, [good] * 5, wanted)


def test_a_success_that_ends_elsewhere_is_told() -> None:
    assert "5 of 5 successes end with height at 0.6" in ended(20)
    assert ended(0) == ""


def test_failures_may_end_anywhere() -> None:
    assert ended(20, good=False) == ""


def test_too_few_demonstrations_show_no_end() -> None:
    assert ended(20, shown=5) == ""
