"""A dataset's episodes carried out again in its task's twin, and held against what was recorded.

An episode with a seed says where it began and what was done. The twin then shows what had to be
seen. A bias or a delay of actions, frames that were lost, another origin of an entry and the seeds
of other episodes are in numbers that look sound, and do not repeat. What does not is told.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from enpire.datasets.columns import SEED
from enpire.datasets.compatibility import LEAST, Again, TaskInterface
from enpire.datasets.folder import Extent, Frames
from enpire.environment import Job, StationBackend
from enpire.twin.twin import Rows
from enpire.types import Float32Array, FloatArray, Purpose

EPISODES = 24  # that are carried out again, at most
PERIODS = 6000  # the same, of all of them
FIRST = 5  # frames that say how noisy an entry is
EXACT, MOST = 1e-3, 0.5  # of an entry's range: it repeats; and the share that are most entries
BESIDE, NOISES = 0.01, 5.0  # of an entry's range, or times its noise, that starts may differ by
APART, FRAMES = 0.05, 3  # of its range, that an entry may go astray by, for fewer frames than these
SHARP = 0.2  # of both, where most entries repeat: others have to, too
ALIKE = 0.2  # of an offset, by which it differs between episodes at most if it is one of all


class _Repeats:
    """Does in each station's episode what was recorded, and keeps what it is shown."""

    def __init__(self, size: int) -> None:
        self._size = size
        self.actions: dict[int, FloatArray] = {}
        self.seen: dict[int, list[Float32Array]] = {}

    def begin(self, row: int, rng: np.random.Generator, exploration: float) -> None:
        """An episode starts."""
        self.seen[row] = []

    def over(self, row: int) -> bool:
        """Tell whether a station has seen all that its episode shows."""
        return len(self.seen[row]) >= len(self.actions[row])

    def act(self, rows: Rows, observations: Float32Array, readings: object) -> Float32Array:
        """The next action of each station, (m, act)."""
        actions = np.zeros((len(rows), self._size), np.float32)
        for i, row in enumerate(rows.tolist()):
            if not self.over(row):
                actions[i] = self.actions[row][len(self.seen[row])]
                self.seen[row].append(observations[i].copy())
        return actions


def again(stations: StationBackend, episodes: Sequence[tuple[int, FloatArray]]) -> list[FloatArray]:
    """Carry episodes out again, several at a time.

    Args:
        stations: On which no episode has begun.
        episodes: Of each its seed and its actions, (t, act).

    Returns:
        What was seen in each, (t, obs): fewer frames where the task ended it sooner.
    """
    repeats = _Repeats(stations.action_size)
    waiting = list(enumerate(episodes))
    under_way: dict[int, int] = {}
    seen: list[FloatArray] = [np.zeros((0, stations.observation_size)) for _ in episodes]

    def ends(row: int) -> None:
        found = np.array(repeats.seen[row], np.float64)
        seen[under_way.pop(row)] = found.reshape(-1, stations.observation_size)

    while waiting or under_way:
        for row in stations.idle:
            if waiting and row not in under_way:
                number, (seed, actions) = waiting.pop(0)
                under_way[row], repeats.actions[row] = number, actions
                stations.begin(row, Job(seed, Purpose.DEMONSTRATION, repeats, "again"))
        if not under_way:
            break  # all stations are set aside
        for episode in stations.tick():
            ends(episode.station)
        for row in [row for row in under_way if repeats.over(row)]:
            stations.lose(row, "all that was recorded has been done")
            stations.recover(row)
            ends(row)
    return seen


@dataclass(frozen=True, slots=True)
class _Pair:
    """An episode as it was recorded, and as it comes again.

    seen, again: What is seen in both, (t, obs). extent: Its place in the dataset.
    """

    extent: Extent
    seen: FloatArray
    again: FloatArray

    @property
    def apart(self) -> FloatArray:
        """How far both are apart, (t, obs)."""
        return self.seen - self.again


def odd_replays(
    frames: Frames, pair: tuple[FloatArray, FloatArray], wanted: TaskInterface
) -> tuple[str, ...]:
    """Find what does not come again in the task's twin, from the same seeds by the same actions.

    Args:
        frames: All frames, by episodes.
        pair: Their actions (n, act) and observations (n, obs).
        wanted: The task that they are for, with its twin.

    Returns:
        A clause about it, for a person; nothing of a dataset without seeds.
    """
    if wanted.again is None or SEED not in frames.table.column_names:
        return ()
    pairs = _replayed(frames, pair, wanted.again)
    if not pairs:
        return ()
    size = np.ptp(np.concatenate([each.again for each in pairs]), axis=0).clip(LEAST)
    starts = np.concatenate([np.diff(each.apart[:FIRST], axis=0) for each in pairs])
    noise = np.abs(starts).mean(axis=0)
    repeats = np.max([np.abs(each.apart).max(axis=0) for each in pairs], axis=0) <= EXACT * size
    if repeats.mean() >= MOST:  # then all others have to, without noise
        size, noise = SHARP * size, np.zeros_like(noise)
    text = _begin_apart(pairs, np.maximum(BESIDE * size, NOISES * noise), wanted)
    text = text or _go_apart(pairs, np.maximum(APART * size, 2 * NOISES * noise), wanted)
    return (text,) if text else ()


def _replayed(frames: Frames, pair: tuple[FloatArray, FloatArray], again: Again) -> list[_Pair]:
    """Carry out some episodes again, evenly chosen; those of a seed that show something."""
    extents = [e for e in frames.extents if type(frames.plain(SEED, e.first)) is int]
    count = min(len(extents), EPISODES)
    chosen = [extents[i] for i in np.linspace(0, len(extents) - 1, count).astype(int)]
    while sum(extent.length for extent in chosen) > PERIODS and len(chosen) > 1:
        chosen = chosen[::2]
    asked = [(frames.plain(SEED, e.first), pair[0][e.first : e.end]) for e in chosen]
    found = zip(chosen, again(asked), strict=True)
    return [
        _Pair(extent, pair[1][extent.first : extent.first + len(seen)], seen)
        for extent, seen in found
        if len(seen) >= FIRST
    ]


def _begin_apart(pairs: Sequence[_Pair], limits: FloatArray, wanted: TaskInterface) -> str:
    """Tell of episodes that begin elsewhere than with their seeds in the task."""
    offsets = np.array([each.apart[0] for each in pairs])
    beside = np.abs(offsets) > limits
    found = beside.any(axis=1)
    if not found.any():
        return ""
    entry = int(np.argmax(beside.sum(axis=0)))
    off, name = float(np.median(offsets[:, entry])), wanted.observation[entry]
    constant = bool((np.abs(offsets[:, entry] - off) <= ALIKE * abs(off)).all())
    if constant and (beside.mean(axis=1) < 0.5).all():
        return (
            f"{name} begins {off:+.2g} beside where it does in {wanted.task} with the same seeds "
            f"({len(pairs)} episodes carried out again): another origin?"
        )
    first, most = pairs[int(np.argmax(found))], np.abs(offsets[:, entry]).max()
    return (
        f"{found.sum()} of {len(pairs)} episodes (the first: {first.extent.index}) begin otherwise "
        f"than {wanted.task} does with their {SEED} ({name} by {most:.2g}): "
        "seeds of other episodes, a reset by skills, or another version of the task?"
    )


def _go_apart(pairs: Sequence[_Pair], limits: FloatArray, wanted: TaskInterface) -> str:
    """Tell of episodes that begin as with their seeds in the task, and go on otherwise."""
    found: list[tuple[int, int, int]] = []
    for i, each in enumerate(pairs):
        off = np.abs(each.apart) > limits
        span = np.array([off[k : len(off) - FRAMES + 1 + k] for k in range(FRAMES)]).all(axis=0)
        if span.any():
            frame, entry = (int(at[0]) for at in np.nonzero(span))
            found.append((i, frame, entry))
    if not found:
        return ""
    i, frame, entry = found[0]
    return (
        f"{len(found)} of {len(pairs)} episodes that were carried out again in {wanted.task}, from "
        f"their {SEED} by their actions, go on otherwise (the first: {pairs[i].extent.index}, "
        f"{wanted.observation[entry]} from frame {frame}): frames that were lost, actions late or "
        "in another scale, something seen late, resampled, or another version of the task?"
    )
