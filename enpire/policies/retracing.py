"""Going back the way an episode came, which gets an arm out of where it is stuck.

Who pushes against a face goes on pushing: a compliant arm's setpoint runs ahead of its hand, and
friction holds the hand where it is. Drawn back until that lead is gone, it comes free, and the next
try is a new one. Demonstrations of people who hardly ever get stuck show no such thing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from enpire.types import Flags, Float32Array

PACE = 2.0  # times as fast as it came: the lead of the setpoint has to be taken back, too


@dataclass(slots=True)
class Path:
    """The way that an episode came.

    Attributes:
        chunks: those carried out that nothing has taken back, each (n, act), oldest first.
        asked: how many chunks were asked for so far.
        left: how many chunks it still goes back.
        ahead: how many chunks it went since it last went back.
        values: what each network expected when a chunk of `chunks` began, if they were asked.
    """

    chunks: list[Float32Array] = field(default_factory=list)
    values: list[Float32Array] = field(default_factory=list)
    asked: int = 0
    left: int = 0
    ahead: int = 0

    def go(self, chunk: Float32Array, value: Float32Array | None = None) -> Float32Array:
        """Return `chunk`, which is carried out next; value: what was expected before it."""
        self.chunks.append(chunk)
        if value is not None:
            self.values.append(value)
        self.ahead += 1
        return chunk

    def go_back(self, motions: Sequence[int]) -> Float32Array:
        """Return the chunk that takes back the newest one, which is then forgotten."""
        self.left = max(self.left - 1, 0)
        self.ahead = 0
        if self.values:
            self.values.pop()
        return undone(self.chunks.pop(), motions)


def undone(chunk: Float32Array, motions: Sequence[int]) -> Float32Array:
    """Return a chunk (n, act) that takes back what `chunk` did, newest action first.

    motions: entries of an action that move something, in [-1, 1]; they are reversed, and faster.
    The others, such as grippers, are what they were.
    """
    back = chunk[::-1].copy()
    entries = list(motions)
    back[:, entries] = np.clip(-PACE * back[:, entries], -1.0, 1.0)
    return back


def taken_back(actions: Float32Array, chunk: int, motions: Sequence[int]) -> Flags:
    """Return which periods of an episode were taken back, or took others back, (T,).

    What is left is the way that led on: who clones it learns neither to get stuck nor to go back.
    actions: of the episode, (T, act), carried out in chunks of so many. motions: as in `undone`.
    """
    back, before = _pairs(actions, chunk, motions)
    flags = np.zeros(len(actions), bool)
    for at in (*back, *before):
        flags[at : at + chunk] = True
    return flags


def attempts(actions: Float32Array, chunk: int, motions: Sequence[int]) -> list[tuple[int, int]]:
    """Return begin and end of each stretch of an episode that does not go back, in periods.

    Arguments are those of `taken_back`. All but the last were given up where they end.
    """
    goes_back = np.zeros(len(actions) + 2, bool)
    goes_back[[0, -1]] = True
    for at in _pairs(actions, chunk, motions)[0]:
        goes_back[at + 1 : at + 1 + chunk] = True
    changes = np.diff(goes_back.astype(np.int8))
    begins, ends = np.where(changes == -1)[0], np.where(changes == 1)[0]
    return list(zip(begins.tolist(), ends.tolist(), strict=True))


def _pairs(
    actions: Float32Array, chunk: int, motions: Sequence[int]
) -> tuple[list[int], list[int]]:
    """Return where chunks begin that take one back, and where those begin that they take back."""
    back: list[int] = []
    before: list[int] = []
    ahead: list[int] = []  # where chunks begin that nothing has taken back yet
    for at in range(0, len(actions) - chunk + 1, chunk):
        if ahead and _equal(actions, at, ahead[-1], chunk, motions):
            back.append(at)
            before.append(ahead.pop())
        else:
            ahead.append(at)
    return back, before


def _equal(actions: Float32Array, at: int, before: int, chunk: int, motions: Sequence[int]) -> bool:
    """Return whether the chunk at `at` takes back the one at `before`; who waits does not."""
    first = actions[before : before + chunk]
    moves = bool(first[:, list(motions)].any())
    return moves and np.array_equal(actions[at : at + chunk], undone(first, motions))
