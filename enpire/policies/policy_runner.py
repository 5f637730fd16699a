"""Runs a chunk policy on the stations that execute under it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from torch import Tensor

from enpire.environment.control.sensing import Readings
from enpire.policies.levels import at_levels
from enpire.policies.retracing import Path
from enpire.policies.spec import ChunkSpec
from enpire.policies.variation import variations
from enpire.twin.twin import Rows
from enpire.types import Float32Array, FloatArray, Image


class Chunked(Protocol):
    """A policy that answers a history of observations with a chunk of actions."""

    @property
    def spec(self) -> ChunkSpec: ...

    @property
    def spread(self) -> Tensor:
        """The unit of exploration, (act,)."""

    def inference(self) -> Callable[..., Float32Array]:
        """Return what maps (batch, history, obs), and what else it needs, to (batch, chunk, act).

        With the weights as they are now.
        """


@dataclass(slots=True)
class PolicyState:
    """One station's episode: the observations it reaches back to, and the chunk under way."""

    rng: np.random.Generator
    exploration: float = 0.0
    offset: FloatArray = field(default_factory=lambda: np.zeros(0))
    varied: int = 0
    seen: deque[Float32Array] = field(default_factory=deque)
    chunk: deque[Float32Array] = field(default_factory=deque)
    # Of a policy that sees, those that it reaches back to, (cameras, size, size, 3).
    pictures: deque[Image] = field(default_factory=lambda: deque(maxlen=1))
    path: Path = field(default_factory=Path)  # the way it came, of a policy that may go back

    @classmethod
    def of(cls, spec: ChunkSpec, rng: np.random.Generator, exploration: float = 0.0) -> PolicyState:
        """That begins, under a policy of this shape."""
        seen: deque[Float32Array] = deque(maxlen=spec.reach + 1)
        return cls(rng, exploration, np.zeros(spec.action), seen=seen)

    def history(self, spec: ChunkSpec) -> Float32Array:
        """What a policy looks at, (history, obs)."""
        return self.recall(range(spec.reach, -1, -spec.stride))

    def recall(self, lags: Sequence[int]) -> Float32Array:
        """What was seen so many periods ago each, (lags, obs)."""
        return np.array([self.seen[-1 - lag] for lag in lags])

    def see(self, observation: Float32Array) -> None:
        """Remember it; the first of an episode stands for all before it."""
        self.seen.extend([observation] * (1 if self.seen else self.seen.maxlen or 1))

    def look(self, pictures: Image) -> None:
        """Likewise."""
        self.pictures.extend([pictures] * (1 if self.pictures else self.pictures.maxlen or 0))

    def vary(self, chunks: int) -> FloatArray:
        """The offset of the next chunk; a variation goes on for `chunks` of them.

        As many are varied as `exploration` says, however many one goes on for.
        """
        begins = self.exploration / (chunks - (chunks - 1) * self.exploration)
        if self.varied:
            self.varied -= 1
        elif begins and self.rng.random() < begins:
            self.offset, self.varied = variations(self.rng, (), len(self.offset)), chunks - 1
        else:
            self.offset = np.zeros_like(self.offset)
        return self.offset


@dataclass(frozen=True, slots=True)
class ChunkRequest:
    """A chunk that an episode under way asks for, to go on with when the last one ends."""

    state: PolicyState
    seen: Float32Array  # (history, obs)
    left: Float32Array  # of the last one, (n, act), from the newest period that was seen on
    delay: int  # of these, that will have been carried out


class PolicyController:
    """Keeps each station's history and chunk; asks the network once for all that need a new chunk.

    Exploration is the chance that a chunk is varied; the variation lasts for as long as the policy
    looked ahead, in units of its `spread`.

    spec: the shape of the chunks that it drives. spread: the unit of exploration, (act,).
    """

    def __init__(self, policy: Chunked) -> None:
        """Drive `policy`, with its weights as they are now, on any number of stations."""
        self.spec = policy.spec
        self._infer = policy.inference()
        self.spread: FloatArray = policy.spread.numpy()
        self._states: dict[int, PolicyState] = {}

    def begin(self, row: int, rng: np.random.Generator, exploration: float) -> None:
        """Forget the last episode on this station."""
        self._states[row] = self.new_episode(rng, exploration)

    def new_episode(self, rng: np.random.Generator, exploration: float = 0.0) -> PolicyState:
        """Return what is kept of an episode that begins, which `chunks` is asked with."""
        return PolicyState.of(self.spec, rng, exploration)

    def act(self, rows: Rows, observations: Float32Array, readings: Readings) -> Float32Array:
        """The next action of each station's chunk, varied where it explores."""
        states = [self._states[row] for row in rows.tolist()]
        for one, observation in zip(states, observations, strict=True):
            one.see(observation)
        empty = [one for one in states if not one.chunk]
        if empty:
            spec = self.spec
            seen = np.array([one.history(spec) for one in empty])
            chunks = self.chunks(seen, empty)
            for one, chunk in zip(empty, chunks, strict=True):
                offset = self.spread * one.vary(-(-spec.chunk // spec.execute))
                varied = (chunk[: spec.execute] + offset).astype(np.float32)
                one.chunk.extend(at_levels(varied, spec.levels))
        actions: Float32Array = np.array([one.chunk.popleft() for one in states])
        return actions

    @property
    def answered(self) -> int:
        """Actions of each chunk that `chunks` answers with: those carried out, at least."""
        return self.spec.chunk

    def chunks(self, seen: Float32Array, states: Sequence[PolicyState]) -> Float32Array:
        """Chunks (m, chunk, act) for histories (m, history, obs) of the m episodes `states`."""
        return self._infer(seen)

    def plan(self, row: int) -> Float32Array:
        """The rest of a station's chunk."""
        chunk = self._states[row].chunk
        rest = np.array(chunk, np.float32).reshape(-1, self.spec.action)
        chunk.clear()
        return rest

    def saw(self, row: int, observations: Float32Array) -> None:
        """Remember what was seen while a chunk was carried out."""
        for observation in observations:
            self._states[row].see(observation)
