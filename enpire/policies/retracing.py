"""Going back to a better place on the way that an episode came.

Who pushes against a face goes on pushing: a compliant arm's setpoint runs ahead of its hand, and
friction holds the hand where it is. Demonstrations of people who hardly ever get stuck show no way
out. The way back is straight: who is stuck moves to and fro, and taking back each of these motions
would lead nowhere. From there the next try is a new one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from enpire.types import Flags, Float32Array, FloatArray

PACE = 0.9  # of a full action, at most, on a way back


@dataclass(slots=True)
class Path:
    """The way that an episode came."""

    # Entries of an action that move something; the others are such as grippers.
    motions: tuple[int, ...] = ()
    # Those carried out that nothing has taken back, each (n, act), oldest first.
    chunks: list[Float32Array] = field(default_factory=list)
    # What each network expected when a chunk of `chunks` began, if they were asked.
    values: list[Float32Array] = field(default_factory=list)
    ahead: int = 0  # how many chunks it went since it last went back
    turned: int = 0  # how often it went back
    # Chunks of a way back that are still to be carried out, the next one last.
    back: list[Float32Array] = field(default_factory=list)
    # Where each chunk of `chunks` began, and where the newest ended: what motions add up to, each
    # (motions,).
    places: list[FloatArray] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.places.append(np.zeros(len(self.motions)))

    def go(self, chunk: Float32Array, value: Float32Array | None = None) -> Float32Array:
        """Return `chunk`, which is carried out next; value: what was expected before it."""
        moved = chunk[:, list(self.motions)].sum(axis=0, dtype=np.float64)
        self.places.append(self.places[-1] + moved)
        self.chunks.append(chunk)
        if value is not None:
            self.values.append(value)
        self.ahead += 1
        return chunk

    def go_back(self) -> Float32Array:
        """Return the next chunk of the way back."""
        return self.back.pop()

    def turn_back(self, to: int) -> None:
        """Go back next, to where chunk `to` of `chunks` began, and forget what came after that.

        Motions are the same in each period of the way back. Other entries are what they were,
        newest first.
        """
        size = len(self.chunks[to])
        number, step = _ways(self.places[-1] - self.places[to], size)
        way = []
        for at in range(int(number)):
            before = self.chunks[-1 - at * (len(self.chunks) - to) // int(number)]
            way.append(before[::-1].copy())
            way[-1][:, list(self.motions)] = step
        self.back, self.ahead, self.turned = way[::-1], 0, self.turned + 1
        del self.chunks[to:], self.values[to:], self.places[to + 1 :]

    def turned_back(self, chunk: Float32Array) -> int | None:
        """Return to which chunk of `chunks` a way back leads that begins with `chunk`, if one does.

        The newest one, if there are several. Who waits does not go back.
        """
        moves = chunk[:, list(self.motions)]
        if not self.chunks or not moves.any() or (moves != moves[0]).any():
            return None
        _, steps = _ways(self.places[-1] - np.array(self.places[:-1]), len(chunk))
        leads = np.flatnonzero((steps == moves[0]).all(axis=-1))
        return int(leads[-1]) if len(leads) else None


def _ways(moved: FloatArray, size: int) -> tuple[FloatArray, Float32Array]:
    """Return how many chunks of `size` periods take back what motions moved, and each action.

    moved: (..., motions). Returns (...) and (..., motions).
    """
    number = np.maximum(np.ceil(abs(moved).max(axis=-1) / (PACE * size)), 1.0)
    step = -moved / (number[..., None] * size)
    return number, step.astype(np.float32)


def taken_back(actions: Float32Array, chunk: int, motions: Sequence[int]) -> Flags:
    """Return which periods of an episode were taken back, or took others back, (T,).

    What is left is the way that led on: who clones it learns neither to get stuck nor to go back.
    actions: of the episode, (T, act), carried out in chunks of so many. motions: as in `Path`.
    """
    flags = np.zeros(len(actions), bool)
    for back, before in _ways_back(actions, chunk, motions):
        flags[back] = True
        for each in before:
            flags[each] = True
    return flags


def attempts(actions: Float32Array, chunk: int, motions: Sequence[int]) -> list[tuple[int, int]]:
    """Return begin and end of each stretch of an episode that does not go back, in periods.

    Arguments are those of `taken_back`. All but the last were given up where they end.
    """
    goes_back = np.zeros(len(actions) + 2, bool)
    goes_back[[0, -1]] = True
    for back, _ in _ways_back(actions, chunk, motions):
        goes_back[back.start + 1 : back.stop + 1] = True
    changes = np.diff(goes_back.astype(np.int8))
    begins, ends = np.where(changes == -1)[0], np.where(changes == 1)[0]
    return list(zip(begins.tolist(), ends.tolist(), strict=True))


def _ways_back(
    actions: Float32Array, chunk: int, motions: Sequence[int]
) -> list[tuple[slice, list[slice]]]:
    """Return the periods of each way back, and those of the chunks that it takes back."""
    path, found = Path(tuple(motions)), []
    ahead: list[slice] = []  # the periods of the path's chunks
    at = 0
    while at + chunk <= len(actions):
        now = slice(at, at + chunk)
        to = path.turned_back(actions[now])
        if to is None:
            path.go(actions[now])
            ahead.append(now)
            at += chunk
            continue
        path.turn_back(to)
        end = min(at + chunk * len(path.back), len(actions))
        found.append((slice(at, end), ahead[to:]))
        path.back, at = [], end
        del ahead[to:]
    return found
