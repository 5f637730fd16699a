"""What policies see first in some episodes of a task: a dataset's are held against it."""

from __future__ import annotations

import numpy as np

from enpire.environment import Job, StationBackend
from enpire.types import Float32Array, Purpose

EPISODES = 8
TICKS = 100_000  # control periods in which an episode is to have begun, or there is nothing to see


class _Onlooker:
    """Keeps the first observation that it is shown, and does nothing."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.seen: Float32Array | None = None

    def begin(self, row: int, rng: np.random.Generator, exploration: float) -> None:
        """An episode starts."""

    def act(self, rows: object, observations: Float32Array, readings: object) -> Float32Array:
        """Nothing, (m, act)."""
        if self.seen is None:
            self.seen = observations[0].copy()
        return np.zeros((len(observations), self.size), np.float32)


def first_seen(stations: StationBackend, episodes: int = EPISODES) -> Float32Array:
    """First observations of so many episodes, (n, obs), one after the other on one station.

    An episode that does not come to one is left out.
    """
    found: list[Float32Array] = []
    for seed in range(episodes):
        onlooker = _Onlooker(stations.action_size)
        stations.begin(stations.idle[0], Job(seed, Purpose.DEMONSTRATION, onlooker, "start"))
        for _ in range(TICKS):
            if onlooker.seen is not None or not stations.busy:
                break
            stations.tick()
        stations.abort("its start has been seen")
        if onlooker.seen is not None:
            found.append(onlooker.seen)
    return np.array(found, np.float32).reshape(-1, stations.observation_size)
