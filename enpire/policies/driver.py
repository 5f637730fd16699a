"""Runs a chunk policy on the stations that execute under it."""

from __future__ import annotations

import numpy as np

from enpire.environment.sensing import Readings
from enpire.policies.chunk import ChunkPolicy
from enpire.twin.twin import Rows
from enpire.types import Float32Array

CORRELATION = 0.9  # of exploration noise from one control period to the next


class PolicyController:
    """Keeps each station's history and chunk; asks the network once for all that need a new chunk.

    Exploration adds noise that is correlated in time (Ornstein-Uhlenbeck, as in DDPG, Lillicrap et
    al. 2015) and lasts long enough to displace a hand, in units of the policy's `spread`.
    """

    def __init__(self, policy: ChunkPolicy, stations: int) -> None:
        """Drive `policy` on up to `stations` stations."""
        self.policy = policy
        spec = policy.spec
        self._spec = spec
        self._history = np.zeros((stations, spec.reach + 1, spec.observation), dtype=np.float32)
        self._chunk = np.zeros((stations, spec.chunk, spec.action), dtype=np.float32)
        self._next = np.full(stations, -1)
        self._noise = np.zeros((stations, spec.action))
        self._exploration = np.zeros(stations)
        self._rngs: dict[int, np.random.Generator] = {}
        self._spread = policy.spread.numpy()

    def begin(self, row: int, rng: np.random.Generator, exploration: float) -> None:
        """Forget the last episode on this station."""
        self._next[row] = -1
        self._rngs[row] = rng
        self._exploration[row] = exploration
        self._noise[row] = rng.standard_normal(self._spec.action) if exploration else 0.0

    def act(self, rows: Rows, observations: Float32Array, readings: Readings) -> Float32Array:
        """The next action of each station's chunk, with its exploration noise."""
        spec = self._spec
        new = rows[self._next[rows] < 0]
        self._history[rows, :-1] = self._history[rows, 1:]
        self._history[rows, -1] = observations
        self._history[new] = self._history[new, -1:]
        empty = rows[(self._next[rows] < 0) | (self._next[rows] >= spec.execute)]
        if len(empty):
            self._chunk[empty] = self.policy.infer(self._history[empty, :: spec.stride])
            self._next[empty] = 0
        actions: Float32Array = self._chunk[rows, self._next[rows]]
        self._next[rows] += 1
        for i, row in enumerate(rows):
            if self._exploration[row]:
                fresh = self._rngs[int(row)].standard_normal(spec.action)
                self._noise[row] *= CORRELATION
                self._noise[row] += np.sqrt(1 - CORRELATION**2) * fresh
                actions[i] += self._exploration[row] * self._spread * self._noise[row]
        return actions
