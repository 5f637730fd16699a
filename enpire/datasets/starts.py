"""What policies see first in some episodes of a task, and how actions move what they see.

A dataset is held against both.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

import numpy as np

from enpire.datasets.compatibility import gains_of, going_with
from enpire.environment import DEMONSTRATOR, Job, Readings, StationBackend
from enpire.types import Episode, Float32Array, FloatArray, Purpose

EPISODES = 8
DEMONSTRATIONS = 8  # of a task's own
TICKS = 100_000  # control periods in which an episode is to have begun, or there is nothing to see
PERIODS, HELD = 60, 5  # that an episode is moved about for; that an action is held
LONG = 25  # that it is held for a gripper to go all the way
Motion = list[tuple[FloatArray, FloatArray]]


class Onlooker:
    """Keeps what it is shown and does: nothing, or with `rng` something at random."""

    def __init__(
        self, size: int, rng: np.random.Generator | None, periods: int, held: int = HELD
    ) -> None:
        self.size, self.periods, self.held = size, periods, held
        self.rng = rng
        self.seen: list[Float32Array] = []
        self.done: list[Float32Array] = []

    @property
    def over(self) -> bool:
        """Whether it has seen enough."""
        return len(self.seen) >= self.periods

    def begin(self, row: int, rng: np.random.Generator, exploration: float) -> None:
        """An episode starts."""

    def act(self, rows: object, observations: Float32Array, readings: Readings) -> Float32Array:
        """An action (m, act), the last one again for a few periods."""
        action: Float32Array = np.zeros(self.size, np.float32)
        if self.done and len(self.done) % self.held:
            action = self.done[-1]
        elif self.rng is not None:
            action = self.rng.uniform(-1.0, 1.0, self.size).astype(np.float32)
        self.seen.append(observations[0].copy())
        self.done.append(action)
        return np.tile(action, (len(observations), 1))


def first_seen(stations: StationBackend, episodes: int = EPISODES) -> Float32Array:
    """First observations of so many episodes, (n, obs), one after the other on one station.

    An episode that does not come to one is left out.
    """
    found = [each.seen[0] for each in _episodes(stations, episodes, 1) if each.seen]
    return np.array(found, np.float32).reshape(-1, stations.observation_size)


def random_motion(
    stations: StationBackend, episodes: int = EPISODES // 2, held: int = HELD
) -> Motion:
    """Move a station about by random actions, in so many episodes.

    Args:
        stations: On which no episode has begun.
        episodes: How many.
        held: Periods that an action is held for.

    Returns:
        What was done (t, act) and seen (t, obs) in each episode that came to a second period.
    """
    rng = np.random.default_rng(0)
    return [
        (np.array(each.done, np.float64), np.array(each.seen, np.float64))
        for each in _episodes(stations, episodes, PERIODS, rng, held)
        if len(each.seen) > 1
    ]


def moved_by(stations: StationBackend, motion: Motion) -> tuple[FloatArray, FloatArray]:
    """See what each action entry moves, in episodes of random actions.

    Returns:
        How each action entry goes with the change of each observation entry, -1 to 1, and how far
        a unit of it moves that one in a control period; (act, obs) both, 0 where nothing moved.
    """
    if not motion:
        still = np.zeros((stations.action_size, stations.observation_size))
        return still, still
    return going_with(motion), gains_of(motion)


def demonstrated(stations: StationBackend) -> FloatArray:
    """See what who shows a task does in one episode of it.

    Returns:
        The actions, (n, act); none where nobody shows it.
    """
    none = np.zeros((0, stations.action_size))
    return np.concatenate([none, *(each.actions for each in _shown(stations, 1))])


def own_demonstrations(stations: StationBackend, episodes: int = DEMONSTRATIONS) -> Motion:
    """See what who shows a task does, and what is seen then, in so many episodes of it.

    Returns:
        Actions (t, act) and observations (t, obs) of each that is a success.
    """
    return [
        (each.actions.astype(np.float64), each.observations.astype(np.float64))
        for each in _shown(stations, episodes)
        if each.success
    ]


def _shown(stations: StationBackend, episodes: int) -> list[Episode]:
    """Have who shows a task do it so often; of one who does not come to an end, what was done."""
    name, controller = stations.starter
    done: list[Episode] = []
    left = deque(range(episodes))  # seeds
    for _ in range(TICKS if name == DEMONSTRATOR else 0):
        for row in stations.idle[: len(left)]:
            stations.begin(row, Job(left.popleft(), Purpose.DEMONSTRATION, controller, name))
        if not stations.busy:
            break
        done += stations.tick()
    if name == DEMONSTRATOR and stations.busy:
        done += stations.abort("its actions have been seen")
    return done


def _episodes(
    stations: StationBackend,
    episodes: int,
    periods: int,
    rng: np.random.Generator | None = None,
    held: int = HELD,
) -> list[Onlooker]:
    made = [Onlooker(stations.action_size, rng, periods, held) for _ in range(episodes)]
    look_on(stations, made)
    return made


def look_on(stations: StationBackend, onlookers: Iterable[Onlooker]) -> None:
    """Have each act in an episode of its own, one after the other on one station.

    An episode ends where its onlooker has seen enough. Seeds are 0, 1, and so on.
    """
    for seed, onlooker in enumerate(onlookers):
        stations.begin(stations.idle[0], Job(seed, Purpose.DEMONSTRATION, onlooker, "start"))
        for _ in range(TICKS):
            if onlooker.over or not stations.busy:
                break
            stations.tick()
        stations.abort("its start has been seen")
