"""How good a moment is: the discounted chance that its episode ends in success.

Monte-Carlo returns of the episodes themselves, regressed on single observations by an ensemble. No
bootstrapping, so nothing diverges: the value is that of the policies that collected the data, and
one step of improvement over it is enough a round (Brandfonbrener et al. 2021, arXiv 2106.08909).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from enpire.types import Episode, Float32Array

LIMIT = 8.0  # standard deviations at which a normalised observation is clipped


@dataclass(frozen=True, slots=True)
class Normaliser:
    """Mean and standard deviation of observations, (obs,) each."""

    mean: Tensor
    std: Tensor

    @classmethod
    def of(cls, rows: Tensor) -> Normaliser:
        """From observations (N, obs)."""
        return cls(rows.mean(dim=0), rows.std(dim=0).clamp_min(1e-2))

    def __call__(self, rows: Tensor) -> Tensor:
        return ((rows - self.mean) / self.std).clamp(-LIMIT, LIMIT)


def network(inputs: int, outputs: int, width: int) -> nn.Sequential:
    """A perceptron of two hidden layers."""
    return nn.Sequential(
        nn.Linear(inputs, width),
        nn.LayerNorm(width),
        nn.SiLU(),
        nn.Linear(width, width),
        nn.LayerNorm(width),
        nn.SiLU(),
        nn.Linear(width, outputs),
    )


def returns(episodes: Sequence[Episode], discount: float) -> Float32Array:
    """discount^(periods to the end) in a success, else 0; all rows end to end, (N,)."""
    parts = [discount ** np.arange(len(e) - 1, -1, -1) * e.success for e in episodes]
    result: Float32Array = np.concatenate(parts).astype(np.float32)
    return result


class Value(nn.Module):
    """Mean of an ensemble of value networks on normalised observations."""

    def __init__(self, observation: int, members: int, width: int) -> None:
        super().__init__()
        self.members = nn.ModuleList(network(observation, 1, width) for _ in range(members))

    def forward(self, seen: Tensor) -> Tensor:
        """Values in [0, 1], shape (batch,), of normalised observations (batch, obs)."""
        each = torch.stack([torch.sigmoid(member(seen)[:, 0]) for member in self.members])
        return each.mean(dim=0)


def fit_value(
    seen: Tensor, targets: Tensor, generator: torch.Generator, steps: int, members: int, width: int
) -> Value:
    """Regress `targets` (N,) in [0, 1] on normalised observations `seen` (N, obs)."""
    value = Value(seen.shape[1], members, width)
    for member in value.members:
        optimiser = torch.optim.AdamW(member.parameters(), lr=1e-3, weight_decay=3e-2)
        for _ in range(steps):
            index = torch.randint(len(seen), (256,), generator=generator)
            noisy = seen[index] + 0.1 * torch.randn(256, seen.shape[1], generator=generator)
            loss = nn.functional.binary_cross_entropy_with_logits(
                member(noisy)[:, 0], targets[index]
            )
            optimiser.zero_grad(set_to_none=True)
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
    return value.eval()
