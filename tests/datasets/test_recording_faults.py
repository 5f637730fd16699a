"""Signs of a recording that went wrong, in datasets whose every number is finite and in range."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from enpire.datasets import TaskInterface
from enpire.datasets.compatibility import gains_of, going_with
from enpire.datasets.folder import Extent, Frames
from enpire.datasets.recording_faults import signs
from enpire.types import FloatArray

EPISODES, LENGTH, GAIN = 15, 20, 0.2
Pair = tuple[FloatArray, FloatArray]
Change = Callable[[FloatArray, FloatArray], Pair]
EXTENTS = tuple(Extent(i, i * LENGTH, (i + 1) * LENGTH, LENGTH, Path()) for i in range(EPISODES))


@cache
def frames() -> Frames:
    """Made for the first test: PyArrow loads pandas for a table, which takes half a second."""
    return Frames(Path("set"), EXTENTS, pa.table({"index": np.arange(EPISODES * LENGTH)}))


def good() -> Pair:
    """Each action moves the first entry by a fifth of it; the second stands for a goal."""
    rng = np.random.default_rng(0)
    actions = rng.uniform(-1, 1, (EPISODES, LENGTH, 1))
    place = np.cumsum(actions, axis=1) * GAIN - actions * GAIN + rng.normal(0, 1, (EPISODES, 1, 1))
    goal = np.broadcast_to(rng.normal(0, 1, (EPISODES, 1, 1)), place.shape)
    seen = np.concatenate([place, goal], axis=2)
    return actions.reshape(-1, 1), seen.reshape(-1, 2)


PAIRS = [(good()[0][e.first : e.end], good()[1][e.first : e.end]) for e in EXTENTS]
WANTED = TaskInterface(
    "line", ("place", "goal"), ("a",), 10.0, moves=going_with(PAIRS), gains=gains_of(PAIRS)
)
FOURTH = slice(4 * LENGTH, 5 * LENGTH)


def dropped(actions: FloatArray, seen: FloatArray) -> Pair:
    """Each frame is two periods after the one before, and its action of the first of them."""
    steps = np.diff(seen[:, 0], prepend=seen[0, 0])
    seen[:, 0] = np.cumsum(steps + np.random.default_rng(1).uniform(-GAIN, GAIN, len(steps)))
    return actions, seen


def changed(rows: slice, entry: int, change: Callable[[FloatArray], FloatArray]) -> Change:
    """Some rows of an entry that is seen are otherwise."""

    def change_rows(actions: FloatArray, seen: FloatArray) -> Pair:
        seen[rows, entry] = change(seen[rows, entry])
        return actions, seen

    return change_rows


def exchanged(actions: FloatArray, seen: FloatArray) -> Pair:
    seen[FOURTH] = seen[FOURTH, ::-1]
    return actions, seen


def scaled(actions: FloatArray, seen: FloatArray) -> Pair:
    actions[FOURTH] /= 10
    return actions, seen


def everything(rows: slice, change: Callable[[FloatArray], FloatArray]) -> Change:
    def change_rows(actions: FloatArray, seen: FloatArray) -> Pair:
        seen[rows] = change(seen[rows])
        return actions, seen

    return change_rows


LATER = slice(4 * LENGTH + 8, 5 * LENGTH)
KINDS: dict[str, tuple[Change, str]] = {
    "filled up": (everything(LATER, lambda rows: rows * 0), "nothing but 0 at the end"),
    "a sensor that hangs": (everything(LATER, lambda rows: rows * 0 + rows[0]), "a sensor that hu"),
    "an angle that wraps": (
        changed(LATER, 0, lambda rows: rows + 2 * np.pi),
        r"place jumps by 6\.\d+ in episode 4, frame 8",
    ),
    "one episode of another order": (exchanged, "first: 4. in which not, as in the others"),
    "actions from 0 to 1": (lambda a, s: ((a + 1) / 2, s), "a moves place 2 times as far"),
    "actions in another scale": (lambda a, s: (a / 100, s), r"place 1e\+02 times as far"),
    "one episode in another scale": (scaled, "first: 4. in which not, as in the others"),
    "actions cut off": (lambda a, s: (a.clip(-0.3, 0.3), s), "line"),
    "every second frame": (dropped, "less surely than in line"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_each_sign_is_told(kind: str) -> None:
    change, words = KINDS[kind]
    told = signs(frames(), change(*good()), WANTED)
    assert any(re.search(words, text) for text in told), told


def test_nothing_is_told_of_a_good_one() -> None:
    assert signs(frames(), good(), WANTED) == ()


def test_an_arm_that_rests_while_nobody_acts_is_no_sensor_that_hangs() -> None:
    actions, seen = good()
    actions[LATER], seen[LATER] = 0.0, seen[LATER][0]
    told = signs(frames(), (actions, seen), replace(WANTED, moves=np.zeros((0, 0))))
    assert told == ()


def test_an_entry_that_is_one_or_nothing_does_not_jump() -> None:
    actions, seen = good()
    seen[:, 1] = np.arange(len(seen)) > 150
    assert signs(frames(), (actions, seen), WANTED) == ()
