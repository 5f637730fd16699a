"""Runs a chunk policy on the stations that execute under it."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from enpire.environment.sensing import Readings
from enpire.policies.chunk import ChunkPolicy
from enpire.twin.twin import Rows
from enpire.types import Float32Array, FloatArray

CORRELATION = 0.9  # of exploration noise from one control period to the next
FRESH = np.sqrt(1 - CORRELATION**2)  # share of what is drawn anew, so that its size stays


@dataclass(slots=True)
class _Driven:
    """One station's episode: the observations it reaches back to, and the chunk under way."""

    rng: np.random.Generator
    exploration: float
    noise: FloatArray
    seen: deque[Float32Array]
    chunk: deque[Float32Array]

    def see(self, observation: Float32Array) -> None:
        """Remember it; the first of an episode stands for all before it."""
        self.seen.extend([observation] * (1 if self.seen else self.seen.maxlen or 1))


class PolicyController:
    """Keeps each station's history and chunk; asks the network once for all that need a new chunk.

    Exploration adds noise that is correlated in time (Ornstein-Uhlenbeck, as in DDPG, Lillicrap et
    al. 2015) and lasts long enough to displace a hand, in units of the policy's `spread`.
    """

    def __init__(self, policy: ChunkPolicy, stations: int) -> None:
        """Drive `policy` on up to `stations` stations."""
        self.policy = policy
        self._spec = policy.spec
        self._infer = policy.inference()
        self._spread = policy.spread.numpy()
        self._driven: dict[int, _Driven] = {}

    def begin(self, row: int, rng: np.random.Generator, exploration: float) -> None:
        """Forget the last episode on this station."""
        size = self._spec.action
        noise = rng.standard_normal(size) if exploration else np.zeros(size)
        seen: deque[Float32Array] = deque(maxlen=self._spec.reach + 1)
        self._driven[row] = _Driven(rng, exploration, noise, seen, deque())

    def act(self, rows: Rows, observations: Float32Array, readings: Readings) -> Float32Array:
        """The next action of each station's chunk, with its exploration noise."""
        driven = [self._driven[row] for row in rows.tolist()]
        for one, observation in zip(driven, observations, strict=True):
            one.see(observation)
        empty = [one for one in driven if not one.chunk]
        if empty:
            stride = self._spec.stride
            chunks = self._infer(np.array([list(one.seen)[::stride] for one in empty]))
            for one, chunk in zip(empty, chunks, strict=True):
                one.chunk.extend(chunk[: self._spec.execute])
        actions: Float32Array = np.array([one.chunk.popleft() for one in driven])
        for action, one in zip(actions, driven, strict=True):
            if one.exploration:
                one.noise *= CORRELATION
                one.noise += FRESH * one.rng.standard_normal(self._spec.action)
                action += one.exploration * self._spread * one.noise
        return actions
