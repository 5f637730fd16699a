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
from enpire.policies.kernels import INPUT_LIMIT, NORM_EPS, Widths, forward, normalise
from enpire.types import Float32Array, FloatArray

CACHE_LINE = 64  # of a processor [bytes]


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
        tables = []
        for layer in range(hidden + 1):
            at = f"{name}.{3 * layer}"
            weight, bias = tensors[f"{at}.weight"].T.astype(float), tensors[f"{at}.bias"]
            bias = bias.astype(float)
            if layer < hidden:
                norm = [tensors[f"{name}.{3 * layer + 1}.{what}"] for what in ("weight", "bias")]
                weight, bias = weight - weight.mean(axis=1, keepdims=True), bias - bias.mean()
            else:
                norm = [np.zeros_like(bias)] * 2
                weight, bias = weight * gain, bias * gain + shift
            tables.append(np.vstack([bias, *norm, weight]).astype(np.float32))
        self.widths: Widths = np.array([len(tables[0]) - 3, *(len(each[0]) for each in tables)])
        self.weights = _on_cache_lines(np.concatenate([table.ravel() for table in tables]))

    def __call__(self, x: Float32Array) -> Float32Array:
        """Map (batch, inputs) to (batch, outputs)."""
        return forward(x, self.widths, self.weights)


def normalised(history: Float32Array, mean: Float32Array, std: Float32Array) -> Float32Array:
    """Observations (batch, history, obs) in standard deviations, clipped, (batch, history x obs).

    mean, std: as of the whole history, (history x obs,).
    """
    rows = len(history)
    seen = np.empty((rows, len(mean)), np.float32)
    normalise(history.reshape(rows, -1), mean, std, seen)
    return seen


def _on_cache_lines(weights: Float32Array) -> Float32Array:
    """A copy that begins where a line of the cache does, by which products take a fifth less."""
    room = np.empty(weights.size + CACHE_LINE // 4, np.float32)
    begin = -room.ctypes.data % CACHE_LINE // 4
    copy = room[begin : begin + weights.size]
    copy[:] = weights
    return copy
