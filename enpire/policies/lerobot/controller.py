"""Has a policy of LeRobot's act on stations, each in its own phase of its own chunk."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from enpire.policies.driver import PolicyController
from enpire.policies.lerobot.model import Model
from enpire.policies.lerobot.policy import LeRobotSpec
from enpire.policies.spec import ChunkSpec
from enpire.types import Float32Array


class _Driven:
    """The model as a `Chunked` policy."""

    def __init__(self, model: Model, spec: LeRobotSpec, told: str) -> None:
        execute = model.execute
        self.spec = ChunkSpec(
            spec.task,
            spec.observation,
            spec.action,
            history=model.history,
            stride=1,
            chunk=execute,
            execute=execute,
        )
        self._model, self._told = model, told

    @property
    def spread(self) -> Tensor:
        """See `Chunked`."""
        return torch.from_numpy(self._model.spread).float()

    def inference(self) -> _Driven:
        """See `Chunked`."""
        return self

    def __call__(self, history: Float32Array, seeds: Sequence[int]) -> Float32Array:
        """Chunks (b, n, act), n at least `execute`, for observations (b, history, obs)."""
        return self._model.chunks(history, self._told, seeds)


class LeRobotController(PolicyController):
    """Draws the seed of each chunk from its episode's own generator.

    Whether it acts at all is tried before any station moves.
    """

    def __init__(self, model: Model, spec: LeRobotSpec, told: str) -> None:
        """Drive `model`; told: the task in words.

        Raises:
            PolicyError: it does not act on one observation without its own queues.
        """
        driven = _Driven(model, spec, told)
        super().__init__(driven)
        driven(np.zeros((1, driven.spec.history, spec.observation), np.float32), [0])
        self._forgetting = getattr(model.config, "temporal_ensemble_coeff", None)
        self._ensembles: dict[int, Ensemble] = {}

    def begin(self, row: int, rng: np.random.Generator, exploration: float) -> None:
        """Forget the last episode on this station."""
        super().begin(row, rng, exploration)
        if self._forgetting is not None:
            self._ensembles[row] = Ensemble(self._forgetting)

    def _chunks(self, seen: Float32Array, rngs: Sequence[np.random.Generator]) -> Float32Array:
        seeds = [int(rng.integers(2**63)) for rng in rngs]
        chunks: Float32Array = self._infer(seen, seeds)
        if self._forgetting is None:
            return chunks
        of = {id(driven.rng): row for row, driven in self._driven.items()}
        rows = [of[id(rng)] for rng in rngs]
        joined = [self._ensembles[row].join(c) for row, c in zip(rows, chunks, strict=True)]
        return np.stack(joined)[:, None]


class Ensemble:
    """The chunks that one episode has been given, one each period, and what they say together.

    Temporal ensembling after ACT (Zhao et al. 2023, arXiv 2304.13705, algorithm 2): an action is
    the mean of all that was predicted for its moment, weighed exp(-coefficient i), i = 0 the
    oldest.
    """

    def __init__(self, coefficient: float) -> None:
        self._coefficient = coefficient
        self._chunks: deque[Float32Array] = deque()  # newest first

    def join(self, chunk: Float32Array) -> Float32Array:
        """This period's action, (act,), when (n, act) is predicted in it."""
        self._chunks.appendleft(chunk)
        said = np.array([c[ago] for ago, c in enumerate(self._chunks) if ago < len(c)])
        while len(self._chunks) > len(said):
            self._chunks.pop()
        weights = np.exp(-self._coefficient * np.arange(len(said)))[::-1]
        action: Float32Array = (weights @ said / weights.sum()).astype(np.float32)
        return action
