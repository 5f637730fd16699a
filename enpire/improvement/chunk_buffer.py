"""A replay buffer of chunks that grows while stations work."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import torch
from torch import Tensor

from enpire.improvement.growing_tensors import GrowingTensors


@dataclass(frozen=True, slots=True)
class Chunks:
    """Chunks as critics learn from them, a row for every control period of an episode."""

    seen: Tensor  # observations that critics look at, (N, lags, obs)
    actions: Tensor  # that were carried out from there on, (N, execute, act)
    later: Tensor  # the row after the chunk, (N,)
    reward: Tensor  # of the chunk, discounted within it, (N,)
    discount: Tensor  # of the value at `later`, (N,), zero where the episode ended
    followed: Tensor  # the discounted return that the episode had, (N,)

    def __len__(self) -> int:
        return len(self.reward)

    def at(self, rows: Tensor) -> Chunks:
        """Return the rows at `rows`, (B,); `later` still counts in the whole."""
        return Chunks(*(getattr(self, each.name)[rows] for each in fields(self)))


class ChunkBuffer:
    """All chunks so far; those of demonstrations are told apart."""

    def __init__(self) -> None:
        """Begin with none."""
        self._rows = GrowingTensors()
        self._shown: list[Tensor] = []  # rows of demonstrations
        self._rest: list[Tensor] = []
        self._drawn_from: tuple[Tensor, Tensor] | None = None

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def whole(self) -> Chunks:
        """All rows."""
        return Chunks(*self._rows.whole)

    def add(self, chunks: Chunks, *, demonstration: bool = False) -> None:
        """Append chunks, whose `later` counts from their own first row."""
        begin = len(self._rows)
        chunks = replace(chunks, later=chunks.later + begin)
        self._rows.append([getattr(chunks, each.name) for each in fields(chunks)])
        rows = torch.arange(begin, len(self._rows))
        (self._shown if demonstration else self._rest).append(rows)
        self._drawn_from = None

    def sample(self, size: int, share: float, generator: torch.Generator) -> Tensor:
        """Return rows (size,), drawn with replacement, about `share` of them demonstrations.

        All of them are, or none, where there is nothing else.
        """
        if self._drawn_from is None:
            none = torch.zeros(0, dtype=torch.long)
            self._drawn_from = torch.cat([none, *self._shown]), torch.cat([none, *self._rest])
        shown, rest = self._drawn_from
        of_shown = size if not len(rest) else round(share * size) if len(shown) else 0
        return torch.cat(
            [
                some[torch.randint(max(len(some), 1), (count,), generator=generator)]
                for some, count in ((shown, of_shown), (rest, size - of_shown))
                if count
            ]
        )
