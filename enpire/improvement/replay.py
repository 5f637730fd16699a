"""Replay on the level of chunks: where a policy was asked, what it did until it was asked again.

One action is a chunk of `execute` periods (Q-chunking, Li et al. 2025, arXiv 2507.07969): rewards
within it are discounted by the period, and the value of where it ends by its whole length. As all
of it was carried out, that is an unbiased return of several steps. Chunks begin at every period,
not only where a policy was asked: each shows what its own actions led to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor, nn

from enpire.improvement.data import examples
from enpire.improvement.value import returns
from enpire.policies import ChunkSpec
from enpire.types import Episode


@dataclass(frozen=True, slots=True)
class Transitions:
    """Chunks that were carried out, M of them.

    history: what the policy saw, (M, history, obs). actions: (M, execute, act); past an episode's
    end the last one stands in. reward: of the chunk, discounted within it, (M,). discount: of the
    value of `later`, (M,), zero where the episode ended. later: what the policy saw next, (M,
    history, obs). followed: the discounted return that the episode had from here on, (M,).
    """

    history: Tensor
    actions: Tensor
    reward: Tensor
    discount: Tensor
    later: Tensor
    followed: Tensor

    def __len__(self) -> int:
        return len(self.reward)

    def at(self, index: Tensor) -> Transitions:
        """The transitions at `index`, (B,)."""
        return Transitions(*(getattr(self, name)[index] for name in self.__slots__))

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


class Uniform:
    """Every chunk as often as any other."""

    def __init__(self, data: Transitions) -> None:
        self.data = data

    def sample(self, size: int, generator: torch.Generator) -> Transitions:
        """`size` chunks, drawn with replacement."""
        return self.data.at(torch.randint(len(self.data), (size,), generator=generator))


class Prioritised(nn.Module):
    """Chunks in proportion to a power of their last error (Schaul et al. 2015, arXiv 1511.05952).

    A module, because its priorities are kept with the weights. Those that were never drawn have the
    priority of an error of one. A cumulative sum over an array is as quick as a tree at this size.
    """

    priority: Tensor

    def __init__(self, data: Transitions, alpha: float = 0.6, least: float = 1e-3) -> None:
        super().__init__()
        self.data, self.alpha, self.least = data, alpha, least
        self.register_buffer("priority", torch.ones(len(data), dtype=torch.float64))

    def sample(
        self, size: int, beta: float, generator: torch.Generator
    ) -> tuple[Transitions, Tensor, Tensor]:
        """`size` chunks, where they are (B,), and the weights (B,) that correct for it.

        The weights are (M x probability)^-beta, as parts of the greatest of them.
        """
        total = self.priority.cumsum(0)
        at = torch.rand(size, generator=generator, dtype=torch.float64) * total[-1]
        index = torch.searchsorted(total, at, right=True).clamp(max=len(total) - 1)
        weight = (len(total) * self.priority[index] / total[-1]) ** -beta
        return self.data.at(index), index, (weight / weight.max()).float()

    def update(self, index: Tensor, error: Tensor) -> None:
        """The chunks at `index`, (B,), now have these errors, (B,)."""
        self.priority[index] = (error.detach().abs().to(self.priority) + self.least) ** self.alpha


def shaped(data: Transitions, now: Tensor, then: Tensor) -> Transitions:
    """Rewards with a potential's difference added (Ng, Harada and Russell 1999).

    now, then: the potential of `history` and `later`, (M,). It is nothing once an episode has
    ended, so every return changes by the potential of where it began, whatever was done.
    """
    return replace(
        data, reward=data.reward + data.discount * then - now, followed=data.followed - now
    )
