"""What is added to the chunks of a frozen policy."""

from __future__ import annotations

import copy

import torch
from torch import Tensor, nn

from enpire.policies import ChunkPolicy

WIDTH = 128
LIMIT = 6.0  # standard deviations at which what the network sees is clipped, as for its base


class Residual(nn.Module):
    """A frozen base, and a network that moves its actions by up to `reach` of each one's spread.

    The network sees what the base sees and what the base would do, and begins with no shift at all.
    """

    def __init__(self, base: ChunkPolicy, reach: float) -> None:
        super().__init__()
        self.spec, self.spread, self.reach = base.spec, base.spread, reach
        self.base = copy.deepcopy(base).eval().requires_grad_(False)
        inputs = base.spec.history * base.spec.observation + base.spec.chunk * base.spec.action
        last = nn.Linear(WIDTH, base.spec.chunk * base.spec.action)
        nn.init.zeros_(last.weight)
        nn.init.zeros_(last.bias)
        self.net = nn.Sequential(
            nn.Linear(inputs, WIDTH),
            nn.LayerNorm(WIDTH),
            nn.SiLU(),
            nn.Linear(WIDTH, WIDTH),
            nn.LayerNorm(WIDTH),
            nn.SiLU(),
            last,
        )

    def forward(self, history: Tensor) -> Tensor:
        """Actions (batch, chunk, action) for observations (batch, history, observation)."""
        chunk: Tensor = self.base(history)
        seen = ((history - self.base.mean) / self.base.std).clamp(-LIMIT, LIMIT)
        done = (chunk - self.base.centre) / self.base.spread
        shift = torch.tanh(self.net(torch.cat([seen.flatten(1), done.flatten(1)], dim=1)))
        moved: Tensor = chunk + self.reach * self.spread * shift.view_as(chunk)
        return moved
