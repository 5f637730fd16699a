"""Replay on the level of chunks: where a policy was asked, what it did until it was asked again.

One action is a chunk of `execute` periods (Q-chunking, Li et al. 2025, arXiv 2507.07969): rewards
within it are discounted by the period, and the value of where it ends by its whole length. As all
of it was carried out, that is an unbiased return of several steps. Chunks begin at every period,
not only where a policy was asked: each shows what its own actions led to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from enpire.improvement.data import examples
from enpire.improvement.value import returns
from enpire.policies import ChunkSpec
from enpire.types import Episode


@dataclass(frozen=True, slots=True)
class Transitions:
    """Chunks that were carried out, M of them."""

    history: Tensor  # what the policy saw, (M, history, obs)
    actions: Tensor  # (M, execute, act); past an episode's end the last one stands in
    reward: Tensor  # of the chunk, discounted within it, (M,)
    discount: Tensor  # of the value of `later`, (M,), zero where the episode ended
    later: Tensor  # what the policy saw next, (M, history, obs)
    followed: Tensor  # the discounted return that the episode had from here on, (M,)

    def __len__(self) -> int:
        return len(self.reward)

    def at(self, index: Tensor) -> Transitions:
        """The transitions at `index`, (B,)."""
        return Transitions(*(getattr(self, name)[index] for name in self.__slots__))

    def sample(self, size: int, generator: torch.Generator) -> Transitions:
        """`size` of them, drawn with replacement."""
        return self.at(torch.randint(len(self), (size,), generator=generator))

    def to(self, where: torch.device) -> Transitions:
        """The same on a device."""
        return Transitions(*(getattr(self, name).to(where) for name in self.__slots__))

    def joined(self, other: Transitions) -> Transitions:
        """These, and the others after them."""
        pairs = ((getattr(self, name), getattr(other, name)) for name in self.__slots__)
        return Transitions(*(torch.cat(pair) for pair in pairs))


def transitions(episodes: Sequence[Episode], spec: ChunkSpec, discount: float) -> Transitions:
    """All chunks of `episodes`; discount: a control period.

    The end of an episode is the end, however it came about: the time limit is part of the task.

    Raises:
        RecipeError: no episode, or one whose shapes do not fit `spec`.
    """
    data = examples(episodes, spec)
    ends = np.cumsum([len(episode) for episode in episodes])
    to_end = torch.from_numpy(np.repeat(ends, [len(e) for e in episodes])) - torch.arange(len(data))
    won = torch.tensor([e.success for e in episodes]).repeat_interleave(
        torch.tensor([len(e) for e in episodes])
    )
    ended = to_end <= spec.execute  # with the chunk, or within it
    return Transitions(
        history=data.rows[data.window],
        actions=data.actions[:, : spec.execute],
        reward=torch.where(ended & won, discount ** (to_end - 1.0), 0.0).float(),
        discount=torch.where(ended, 0.0, discount**spec.execute).float(),
        later=data.rows[data.window[later_of(episodes, spec.execute)]],
        followed=torch.from_numpy(returns(episodes, discount)),
    )


def later_of(episodes: Sequence[Episode], execute: int) -> Tensor:
    """The row after each row's chunk, (M,), of all rows end to end; some row, past an end."""
    rows = sum(len(episode) for episode in episodes)
    return (torch.arange(rows) + execute).clamp(max=rows - 1)
