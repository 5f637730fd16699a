"""Multilayer perceptrons of policies, and their forward pass compiled.

A fleet asks for a few rows at a time. Every row is computed by itself: a product of matrices rounds
differently with the number of rows, and what a station does must not depend on how many others ask
at the same time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from enpire.errors import PolicyError
from enpire.twin.native import compiled
from enpire.types import Float32Array, FloatArray

INPUT_LIMIT = 6.0  # standard deviations at which a normalised observation is clipped
NORM_EPS = 1e-5  # of a layer normalisation, added to the variance


def perceptron(inputs: int, hidden: Sequence[int], outputs: int) -> nn.Sequential:
    """Hidden layers, each normalised and then through SiLU, and a linear one."""
    layers: list[nn.Module] = []
    width = inputs
    for next_width in hidden:
        layers += [nn.Linear(width, next_width), nn.LayerNorm(next_width, NORM_EPS), nn.SiLU()]
        width = next_width
    return nn.Sequential(*layers, nn.Linear(width, outputs))


class NormalisedModule(nn.Module):
    """A module that keeps the mean and deviation, (obs,), of the observations it was trained on."""

    mean: Tensor
    std: Tensor

    def keep_observation_scales(self, observation: int) -> None:
        """Make room for them; at first they change nothing."""
        self.register_buffer("mean", torch.zeros(observation))
        self.register_buffer("std", torch.ones(observation))

    def normalised(self, observations: Tensor) -> Tensor:
        """Return observations (..., obs) in standard deviations, clipped."""
        return ((observations - self.mean) / self.std).clamp(-INPUT_LIMIT, INPUT_LIMIT)

    def tensors(self) -> dict[str, NDArray[Any]]:
        """Weights and normalisation, for a safetensors file."""
        return weights(self)


class ChunkModule(NormalisedModule):
    """One that keeps those of actions, too: their mean `centre` and deviation `spread`, (act,)."""

    centre: Tensor
    spread: Tensor

    def keep_scales(self, observation: int, action: int) -> None:
        """Make room for all four."""
        self.keep_observation_scales(observation)
        self.register_buffer("centre", torch.zeros(action))
        self.register_buffer("spread", torch.ones(action))


def weights(policy: nn.Module) -> dict[str, NDArray[Any]]:
    """Weights and normalisation, for a safetensors file."""
    return {name: value.detach().cpu().numpy() for name, value in policy.state_dict().items()}


def with_weights[M: nn.Module](policy: M, tensors: Mapping[str, NDArray[Any]]) -> M:
    """`policy` with copies of these, ready to act; raises PolicyError when they do not fit."""
    state = {name: torch.from_numpy(np.array(value)) for name, value in tensors.items()}
    try:
        policy.load_state_dict(state)
    except RuntimeError as error:
        raise PolicyError(f"the weights do not fit the policy: {error}") from error
    policy.eval()
    return policy


class Perceptron:
    """A `perceptron`'s forward pass, with the weights that it had, times `gain` plus `shift`.

    Layer normalisation's subtraction of the mean is linear and folded into the layer before, and
    gain and shift, (outputs,), into the last one.
    """

    def __init__(
        self,
        tensors: Mapping[str, NDArray[Any]],
        name: str,
        hidden: int,
        gain: FloatArray | float = 1.0,
        shift: FloatArray | float = 0.0,
    ) -> None:
        """Take those of a policy's `tensors` called `name`; hidden: how many hidden layers."""
        self._hidden = []
        for layer in range(0, 3 * hidden, 3):
            weight, bias = _linear(tensors, f"{name}.{layer}")
            norm = (tensors[f"{name}.{layer + 1}.{what}"].copy() for what in ("weight", "bias"))
            centred = _single(weight - weight.mean(axis=1, keepdims=True), bias - bias.mean())
            self._hidden.append((*centred, *norm))
        weight, bias = _linear(tensors, f"{name}.{3 * hidden}")
        self._last = _single(weight * gain, bias * gain + shift)

    def __call__(self, x: Float32Array) -> Float32Array:
        """Map (batch, inputs) to (batch, outputs)."""
        for weight, bias, gain, shift in self._hidden:
            y = np.empty((len(x), len(bias)), np.float32)
            multiply(x, weight, bias, y)
            activate(y, gain, shift)
            x = y
        weight, bias = self._last
        y = np.empty((len(x), len(bias)), np.float32)
        multiply(x, weight, bias, y)
        return y


def normalised(history: Float32Array, mean: Float32Array, std: Float32Array) -> Float32Array:
    """Observations (batch, history, obs) in standard deviations, clipped, (batch, history x obs).

    mean, std: as of the whole history, (history x obs,).
    """
    rows = len(history)
    seen = np.empty((rows, len(mean)), np.float32)
    normalise(history.reshape(rows, -1), mean, std, seen)
    return seen


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
    """x (rows, n) @ weight (n, m) + bias to `y`, each row in one order: input after input.

    An output is read and written once for four inputs, whose weights are at hand for all rows.
    """
    inputs, outputs = weight.shape
    fours = inputs - inputs % 4
    for row in range(len(x)):
        y[row] = bias
    for i in range(0, fours, 4):
        for row in range(len(x)):
            a, b, c, d = x[row, i], x[row, i + 1], x[row, i + 2], x[row, i + 3]
            for k in range(outputs):
                first = (y[row, k] + a * weight[i, k]) + b * weight[i + 1, k]
                y[row, k] = (first + c * weight[i + 2, k]) + d * weight[i + 3, k]
    for i in range(fours, inputs):
        for row in range(len(x)):
            for k in range(outputs):
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


def _linear(tensors: Mapping[str, NDArray[Any]], layer: str) -> tuple[FloatArray, FloatArray]:
    """Weight (in, out) and bias of a linear layer, in double precision to be worked on."""
    weight, bias = (tensors[f"{layer}.{name}"].astype(float) for name in ("weight", "bias"))
    return weight.T, bias


def _single(weight: FloatArray, bias: FloatArray) -> tuple[Float32Array, Float32Array]:
    return np.ascontiguousarray(weight, np.float32), bias.astype(np.float32)
