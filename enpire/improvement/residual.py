"""What is added to the chunks of a frozen policy, as an actor of `sac`."""

from __future__ import annotations

import copy

import torch
from torch import Tensor, nn

from enpire.policies import ChunkPolicy, ChunkSpec, Correction, CorrectionSpec


class Residual(nn.Module):
    """A frozen base that is asked again and again, and the correction of what it says."""

    def __init__(self, base: ChunkPolicy, reach: float) -> None:
        """Begin with no shift at all."""
        super().__init__()
        self.spec = base.spec
        self.base = copy.deepcopy(base).eval().requires_grad_(False)
        of = base.spec
        shape = CorrectionSpec(of.observation, of.action, of.history, of.chunk, reach)
        self.correction = Correction(shape)
        for name in ("mean", "std", "centre", "spread"):
            self.correction.get_buffer(name).copy_(base.get_buffer(name))

    @property
    def spread(self) -> Tensor:
        """The unit of each action, (act,)."""
        return self.correction.spread

    def forward(self, history: Tensor) -> Tensor:
        """Actions (batch, chunk, action) for observations (batch, history, observation)."""
        moved: Tensor = self.correction(history, self.base(history))
        return moved


class Standing(nn.Module):
    """The correction of a policy that was asked beforehand: its chunk is part of what is seen.

    Whatever the base is, it is asked once about each moment; see `residual_inputs`. What critics
    are told besides it does not look at.
    """

    def __init__(self, correction: Correction, besides: int = 0) -> None:
        """besides: entries at the end of what is seen, for critics."""
        super().__init__()
        self.correction = correction
        of = correction.spec
        self._parts = [of.history * of.observation, of.chunk * of.action, besides]
        size = sum(self._parts)
        self.spec = ChunkSpec(
            "", size, of.action, history=1, stride=1, chunk=of.chunk, execute=of.chunk
        )

    @property
    def spread(self) -> Tensor:
        """The unit of each action, (act,)."""
        return self.correction.spread

    def forward(self, seen: Tensor) -> Tensor:
        """Actions (batch, chunk, action) for what `residual_inputs` gives, (batch, 1, n)."""
        of = self.correction.spec
        moments, chunks, _ = torch.split(seen[:, 0], self._parts, dim=1)
        history = moments.view(-1, of.history, of.observation)
        moved: Tensor = self.correction(history, chunks.view(-1, of.chunk, of.action))
        return moved


def residual_inputs(history: Tensor, chunks: Tensor, besides: Tensor) -> Tensor:
    """Moments (b, history, obs), what the base says of them (b, chunk, act), the rest, (b, 1, n).

    besides: what critics alone are told, (b, any).
    """
    return torch.cat([history.flatten(1), chunks.flatten(1), besides], dim=1)[:, None]
