"""A small network that maps a short history of observations to a chunk of actions.

Action chunking after ACT (Zhao et al. 2023, arXiv 2304.13705): the network predicts the next
`chunk` actions at once, the station carries out the first `execute` of them and asks again. A chunk
keeps the hand of a noisy demonstrator from being averaged away and lets one inference serve several
periods.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from enpire.environment import Workcells
from enpire.errors import PolicyError
from enpire.policies.driver import PolicyController
from enpire.policies.spec import ChunkSpec
from enpire.twin.native import compiled
from enpire.types import Float32Array, FloatArray

INPUT_LIMIT = 6.0  # standard deviations at which a normalised observation is clipped
NORM_EPS = 1e-5  # of a layer normalisation, added to the variance


class ChunkPolicy(nn.Module):
    """A multilayer perceptron on normalised observations, with its normalisation inside.

    `centre` and `spread` are the mean and standard deviation of each action over the data it was
    trained on. The spread is also the unit of exploration, so that axes which nobody moves are not
    explored.
    """

    kind: ClassVar[str] = "chunk"
    mean: Tensor
    std: Tensor
    centre: Tensor
    spread: Tensor

    def __init__(self, spec: ChunkSpec) -> None:
        super().__init__()
        self.spec = spec
        layers: list[nn.Module] = []
        width = spec.observation * spec.history
        for hidden in spec.hidden:
            layers += [nn.Linear(width, hidden), nn.LayerNorm(hidden, NORM_EPS), nn.SiLU()]
            width = hidden
        layers.append(nn.Linear(width, spec.chunk * spec.action))
        self.net = nn.Sequential(*layers)
        self.register_buffer("mean", torch.zeros(spec.observation))
        self.register_buffer("std", torch.ones(spec.observation))
        self.register_buffer("centre", torch.zeros(spec.action))
        self.register_buffer("spread", torch.ones(spec.action))

    def forward(self, history: Tensor) -> Tensor:
        """Actions (batch, chunk, action) for observations (batch, history, observation)."""
        seen = ((history - self.mean) / self.std).clamp(-INPUT_LIMIT, INPUT_LIMIT)
        actions: Tensor = self.net(seen.flatten(1))
        actions = actions.view(-1, self.spec.chunk, self.spec.action)
        return self.centre + self.spread * actions

    def inference(self) -> Inference:
        """`forward` for acting, with the weights as they are now."""
        return Inference(self.spec, self.tensors())

    def infer(self, history: Float32Array) -> Float32Array:
        """`forward` for NumPy arrays, once; who asks again and again keeps an `inference`."""
        return self.inference()(history)

    def tensors(self) -> dict[str, NDArray[Any]]:
        """Weights and normalisation, for a safetensors file."""
        return {name: value.detach().cpu().numpy() for name, value in self.state_dict().items()}

    def controller(self, stations: Workcells) -> PolicyController:
        """See `Policy.controller`."""
        return PolicyController(self)

    @classmethod
    def from_tensors(cls, spec: ChunkSpec, tensors: Mapping[str, NDArray[Any]]) -> Self:
        """The policy whose `tensors` these are; raises PolicyError when shapes do not fit."""
        policy = cls(spec)
        state = {name: torch.from_numpy(np.array(value)) for name, value in tensors.items()}
        try:
            policy.load_state_dict(state)
        except RuntimeError as error:
            raise PolicyError(f"the weights do not fit the policy: {error}") from error
        return policy.eval()

    @classmethod
    def load(cls, spec: str, tensors: Mapping[str, NDArray[Any]]) -> Self:
        """See `Policy.load`."""
        return cls.from_tensors(ChunkSpec.from_json(spec), tensors)


class Inference:
    """A policy's forward pass, compiled: a fleet asks for a few rows at a time.

    Every row is computed by itself: a product of matrices rounds differently with the number of
    rows, and what a station does must not depend on how many others ask at the same time. Layer
    normalisation's subtraction of the mean is linear and folded into the layer before, and the
    actions' own normalisation into the last one.
    """

    def __init__(self, spec: ChunkSpec, tensors: Mapping[str, NDArray[Any]]) -> None:
        """Take the weights from a policy's `tensors`."""
        self._shape = (-1, spec.chunk, spec.action)
        self._mean, self._std = (np.tile(tensors[n], spec.history) for n in ("mean", "std"))
        self._hidden = []
        for layer in range(0, 3 * len(spec.hidden), 3):
            weight, bias = _linear(tensors, layer)
            gain, shift = (tensors[f"net.{layer + 1}.{name}"].copy() for name in ("weight", "bias"))
            centred = _single(weight - weight.mean(axis=1, keepdims=True), bias - bias.mean())
            self._hidden.append((*centred, gain, shift))
        weight, bias = _linear(tensors, 3 * len(spec.hidden))
        spread, centre = (np.tile(tensors[name], spec.chunk) for name in ("spread", "centre"))
        self._last = _single(weight * spread, bias * spread + centre)

    def __call__(self, history: Float32Array) -> Float32Array:
        """Actions (batch, chunk, action) for observations (batch, history, observation)."""
        rows = len(history)
        x = np.empty((rows, len(self._mean)), np.float32)
        normalise(history.reshape(rows, -1), self._mean, self._std, x)
        for weight, bias, gain, shift in self._hidden:
            y = np.empty((rows, len(bias)), np.float32)
            multiply(x, weight, bias, y)
            activate(y, gain, shift)
            x = y
        weight, bias = self._last
        actions = np.empty((rows, len(bias)), np.float32)
        multiply(x, weight, bias, actions)
        return actions.reshape(self._shape)


@compiled
def normalise(seen: Float32Array, mean: Float32Array, std: Float32Array, x: Float32Array) -> None:
    """Observations (rows, n) in standard deviations, clipped, to `x`."""
    limit = np.float32(INPUT_LIMIT)
    for row in range(len(seen)):
        for k in range(len(mean)):
            z = (seen[row, k] - mean[k]) / std[k]
            x[row, k] = min(max(z, -limit), limit)


@compiled
def multiply(x: Float32Array, weight: Float32Array, bias: Float32Array, y: Float32Array) -> None:
    """x (rows, n) @ weight (n, m) + bias to `y`, each row in one order."""
    for row in range(len(x)):
        y[row] = bias
        for i in range(len(weight)):
            for k in range(weight.shape[1]):
                y[row, k] += x[row, i] * weight[i, k]


@compiled
def activate(y: Float32Array, gain: Float32Array, shift: Float32Array) -> None:
    """Layer normalisation of rows whose mean is zero, then SiLU, in place."""
    one = np.float32(1.0)
    for row in range(len(y)):
        total = np.float32(0.0)
        for k in range(len(gain)):
            total += y[row, k] * y[row, k]
        scale = one / np.sqrt(total / np.float32(len(gain)) + np.float32(NORM_EPS))
        for k in range(len(gain)):
            z = y[row, k] * scale * gain[k] + shift[k]
            y[row, k] = z / (one + np.exp(-z))


def _linear(tensors: Mapping[str, NDArray[Any]], layer: int) -> tuple[FloatArray, FloatArray]:
    """Weight (in, out) and bias of a linear layer, in double precision to be worked on."""
    weight, bias = (tensors[f"net.{layer}.{name}"].astype(float) for name in ("weight", "bias"))
    return weight.T, bias


def _single(weight: FloatArray, bias: FloatArray) -> tuple[Float32Array, Float32Array]:
    return np.ascontiguousarray(weight, np.float32), bias.astype(np.float32)
