"""Has a policy of LeRobot's act on stations, each in its own phase of its own chunk."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from enpire.errors import PolicyError
from enpire.policies.driver import Driven, PolicyController
from enpire.policies.lerobot.model import Model
from enpire.policies.lerobot.policy import LeRobotSpec
from enpire.policies.spec import ChunkSpec
from enpire.types import Float32Array


class _Chunked:
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

    def inference(self) -> _Chunked:
        """See `Chunked`."""
        return self

    def __call__(self, history: Float32Array, seeds: Sequence[int]) -> Float32Array:
        """Chunks (b, execute, act) for observations (b, history, obs)."""
        return self._model.chunks(history, self._told, seeds)[:, : self.spec.execute]


class LeRobotController(PolicyController):
    """Draws the seed of each chunk from its episode's own generator.

    Whether it acts at all is tried before any station moves.
    """

    def __init__(self, model: Model, spec: LeRobotSpec, told: str) -> None:
        """Drive `model`; told: the task in words.

        Raises:
            PolicyError: it does not act on one observation without its own queues.
        """
        if getattr(model.config, "temporal_ensemble_coeff", None) is not None:
            raise PolicyError(
                "this policy asks for temporal ensembling, which is not done here: set "
                "temporal_ensemble_coeff to null and n_action_steps to some of its chunk in its "
                "config.json"
            )
        chunked = _Chunked(model, spec, told)
        super().__init__(chunked)
        chunked(np.zeros((1, chunked.spec.history, spec.observation), np.float32), [0])

    def chunks(self, seen: Float32Array, driven: Sequence[Driven]) -> Float32Array:
        """See `PolicyController`."""
        seeds = [int(one.rng.integers(2**63)) for one in driven]
        chunks: Float32Array = self._infer(seen, seeds)
        return chunks
