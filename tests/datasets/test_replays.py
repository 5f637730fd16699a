"""Episodes that are carried out again in the twin, from their seeds by their actions."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from enpire.datasets import TaskInterface, again
from enpire.datasets.folder import Extent, Frames
from enpire.datasets.replays import odd_replays
from enpire.types import FloatArray
from tests.environment.reach import reach_stations

EPISODES = 6
NAMES = "hand_x", "hand_y", "ball_from_hand_x", "ball_from_hand_y", "lead_x", "lead_y"
Pairs = list[tuple[FloatArray, FloatArray]]  # actions (t, act) and what is seen (t, obs)
Change = Callable[[Pairs, list[int]], object]


def twin(episodes: Sequence[tuple[int, FloatArray]]) -> list[FloatArray]:
    """A hand, a ball and how far the hand's setpoint leads, as a seed and actions have them."""
    found = []
    for seed, actions in episodes:
        rng = np.random.default_rng(seed)
        start, ball = rng.uniform(-0.1, 0.1, 2), rng.uniform(-0.3, 0.3, 2)
        before = np.vstack([np.zeros(2), 0.02 * np.cumsum(actions, axis=0)[:-1]])
        hand = np.zeros_like(before)
        for row in range(1, len(hand)):
            hand[row] = hand[row - 1] + 0.5 * (before[row] - hand[row - 1])
        found.append(np.hstack([start + hand, ball - start - hand, before - hand]))
    return found


def recorded() -> Pairs:
    """Demonstrations of the task: the hand goes to the ball."""
    pairs = []
    for seed in range(10, 10 + EPISODES):
        rng = np.random.default_rng(100 + seed)
        way = np.repeat(rng.uniform(-1, 1, (10, 2)), 4, axis=0)
        pairs.append((way, twin([(seed, way)])[0]))
    return pairs


def told(change: Change) -> tuple[str, ...]:
    """What is told of them once they are changed."""
    pairs, seeds = recorded(), list(range(10, 10 + EPISODES))
    change(pairs, seeds)
    extents, rows, first = [], [], 0
    for i, (done, _) in enumerate(pairs):
        extents.append(Extent(i, first, first + len(done), len(done), Path("data")))
        rows += [seeds[i]] * len(done)
        first += len(done)
    frames = Frames(Path("data"), tuple(extents), pa.table({"seed": rows}))
    wanted = TaskInterface("reach", NAMES, ("action_0", "action_1"), 25.0, again=twin)
    every = [np.concatenate([pair[i] for pair in pairs]) for i in (0, 1)]
    return odd_replays(frames, (every[0], every[1]), wanted)


def nothing(pairs: Pairs, seeds: list[int]) -> None:
    """As it was recorded."""


def noisy(pairs: Pairs, seeds: list[int]) -> None:
    """A sensor's noise, on top of what the twin's sensors have."""
    rng = np.random.default_rng(0)
    for _, seen in pairs:
        seen += rng.normal(0, 0.002, seen.shape) * np.ptp(seen, axis=0)


def biased(pairs: Pairs, seeds: list[int]) -> None:
    """All actions are too much by a tenth."""
    for done, _ in pairs:
        done[:, 0] += 0.1


def late(pairs: Pairs, seeds: list[int]) -> None:
    """Actions are written two frames late."""
    for done, _ in pairs:
        done[2:] = done[:-2].copy()


def lost(pairs: Pairs, seeds: list[int]) -> None:
    """Frames in the middle of one episode are not there."""
    done, seen = pairs[3]
    middle = slice(len(done) // 4, len(done) // 2)
    pairs[3] = np.delete(done, middle, axis=0), np.delete(seen, middle, axis=0)


def thinned(pairs: Pairs, seeds: list[int]) -> None:
    """Each third frame is not there."""
    pairs[:] = [
        (np.delete(d, slice(2, None, 3), 0), np.delete(s, slice(2, None, 3), 0)) for d, s in pairs
    ]


def shifted(pairs: Pairs, seeds: list[int]) -> None:
    """Seeds are those of the episodes after."""
    seeds[:] = seeds[1:] + seeds[:1]


def tracked_late(pairs: Pairs, seeds: list[int]) -> None:
    """The ball's tracker is two frames late."""
    for _, seen in pairs:
        seen[2:, 2:4] = seen[:-2, 2:4].copy()


def exchanged(pairs: Pairs, seeds: list[int]) -> None:
    """Leads are called after one another."""
    for _, seen in pairs:
        seen[:, 4:] = seen[:, :3:-1].copy()


def beside(pairs: Pairs, seeds: list[int]) -> None:
    """An entry has another origin."""
    for _, seen in pairs:
        seen[:, 0] += 0.01


@pytest.mark.parametrize("change", [nothing, noisy], ids=lambda change: change.__name__)
def test_what_comes_again_is_not_told(change: Change) -> None:
    assert told(change) == ()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (biased, "6 of 6 episodes .* go on otherwise"),
        (late, "go on otherwise"),
        (lost, "1 of 6 episodes .* go on otherwise .the first: 3"),
        (thinned, "[56] of 6 episodes .* go on otherwise"),
        (tracked_late, "6 of 6 episodes .* ball_from_hand_. from frame"),
        (exchanged, "6 of 6 episodes .* lead_. from frame"),
        (shifted, "6 of 6 episodes .* begin otherwise than reach does with their seed"),
        (beside, "begins .0.01 beside where it does in reach .*: another origin"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_what_does_not_come_again_is_told(change: Change, words: str) -> None:
    (text,) = told(change)
    assert re.search(words, text), text


def test_a_twin_shows_again_what_a_seed_and_actions_gave() -> None:
    stations = reach_stations(2)
    actions = np.random.default_rng(0).uniform(-1, 1, (5, stations.action_size))
    asked = [(seed, actions[:count]) for seed, count in ((7, 5), (8, 3), (7, 5))]
    one, other, again_one = again(stations, asked)
    assert one.shape == (5, stations.observation_size)
    assert other.shape == (3, stations.observation_size)
    assert np.array_equal(one, again_one)
    assert not np.array_equal(one[0], other[0])


def test_without_seeds_nothing_is_carried_out() -> None:
    def refuse(episodes: Sequence[tuple[int, FloatArray]]) -> list[FloatArray]:
        raise AssertionError

    frames = Frames(
        Path("data"), (Extent(0, 0, 9, 9, Path("data")),), pa.table({"index": range(9)})
    )
    wanted = TaskInterface("reach", ("x",), ("action_0",), 25.0, again=refuse)
    assert odd_replays(frames, (np.zeros((9, 1)), np.zeros((9, 1))), wanted) == ()
