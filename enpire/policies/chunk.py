"""A small network that maps a short history of observations to a chunk of actions.

Action chunking after ACT (Zhao et al. 2023, arXiv 2304.13705): the network predicts the next
`chunk` actions at once, the station carries out the first `execute` of them and asks again. A chunk
keeps the hand of a noisy demonstrator from being averaged away and lets one inference serve several
periods.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from enpire.environment import StationBackend
from enpire.policies.chunk_sampler import ChunkSampler
from enpire.policies.levels import at_levels
from enpire.policies.network import (
    ChunkModule,
    Perceptron,
    normalised,
    perceptron,
    with_weights,
)
from enpire.policies.policy_runner import PolicyController
from enpire.policies.spec import ChunkSpec
from enpire.policies.vision import NOTHING, ObservationMask
from enpire.types import Float32Array, Image


class ChunkPolicy(ChunkModule):
    """A multilayer perceptron on normalised observations, with its normalisation inside.

    `centre` and `spread` are the mean and standard deviation of each action over the data it was
    trained on. The spread is also the unit of exploration, so that axes which nobody moves are not
    explored.
    """

    kind: ClassVar[str] = "chunk"

    def __init__(self, spec: ChunkSpec) -> None:
        super().__init__()
        self.spec = spec
        inputs, outputs = spec.observation * spec.history, spec.chunk * spec.action
        self.net = perceptron(inputs, spec.hidden, outputs)
        self.keep_scales(spec.observation, spec.action)

    def forward(self, history: Tensor) -> Tensor:
        """Actions (batch, chunk, action) for observations (batch, history, observation)."""
        seen = self.normalised(history)
        actions: Tensor = self.net(seen.flatten(1))
        actions = actions.view(-1, self.spec.chunk, self.spec.action)
        return self.centre + self.spread * actions

    def cloning_error(
        self,
        history: Tensor,
        actions: Tensor,
        generator: torch.Generator,
        pictures: Tensor | None = None,
    ) -> Tensor:
        """The squared error against `actions` (batch, chunk, act), in units of the spread.

        pictures: for policies that see.
        """
        error: Tensor = (self(history) - actions) / self.spread
        return error.square()

    def inference(self) -> Inference:
        """`forward` for acting, with the weights as they are now."""
        return Inference(self.spec, self.tensors())

    def infer(self, history: Float32Array) -> Float32Array:
        """`forward` for NumPy arrays, once; who asks again and again keeps an `inference`."""
        return self.inference()(history)

    def controller(self, stations: StationBackend) -> PolicyController:
        """See `Policy.controller`."""
        return PolicyController(self)

    def sampler(self, instruction: str, mask: ObservationMask = NOTHING) -> ChunkSampler:
        """See `Base`; it draws nothing."""
        infer = self.inference()

        def chunks(
            history: Float32Array,
            seeds: Sequence[int],
            noise: Float32Array | None = None,
            pictures: Image | None = None,
        ) -> Float32Array:
            return infer(history)

        return ChunkSampler(self.spec, self.spread.clone(), chunks, chunks)

    @classmethod
    def from_tensors(cls, spec: ChunkSpec, tensors: Mapping[str, NDArray[Any]]) -> Self:
        """The policy whose `tensors` these are; raises PolicyError when shapes do not fit."""
        return with_weights(cls(spec), tensors)

    @classmethod
    def load(cls, spec: str, tensors: Mapping[str, NDArray[Any]]) -> Self:
        """See `Policy.load`."""
        return cls.from_tensors(ChunkSpec.from_json(spec), tensors)


class Inference:
    """A chunk policy's forward pass, compiled, row by row."""

    def __init__(self, spec: ChunkSpec, tensors: Mapping[str, NDArray[Any]]) -> None:
        """Take the weights from a policy's `tensors`."""
        self._shape, self._levels = (-1, spec.chunk, spec.action), spec.levels
        self._mean, self._std = (np.tile(tensors[n], spec.history) for n in ("mean", "std"))
        spread, centre = (np.tile(tensors[name], spec.chunk) for name in ("spread", "centre"))
        self._net = Perceptron(tensors, "net", len(spec.hidden), spread, centre)

    def __call__(self, history: Float32Array) -> Float32Array:
        """Actions (batch, chunk, action) for observations (batch, history, observation)."""
        actions = self._net(normalised(history, self._mean, self._std)).reshape(self._shape)
        return at_levels(actions, self._levels)
