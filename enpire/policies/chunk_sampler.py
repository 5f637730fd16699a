"""A frozen policy as other networks ask it, who learn on top of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from torch import Tensor

from enpire.policies.policy import Policy
from enpire.policies.spec import ChunkSpec
from enpire.policies.vision import NOTHING, ObservationMask
from enpire.types import Float32Array, Image


class Answers(Protocol):
    """What a policy answers moments with."""

    def __call__(
        self,
        history: Float32Array,
        seeds: Sequence[int],
        noise: Float32Array | None = None,
        pictures: Image | None = None,
    ) -> Float32Array:
        """Chunks (b, n, act), n at least `execute`, for observations (b, history, obs).

        seeds: of what each row draws. noise: that its chunk begins from, (b, *Asked.noise), where
        it is not drawn. pictures: of who sees, (b, looks, cameras, size, size, 3), oldest first.
        """


@dataclass(frozen=True, slots=True)
class ChunkSampler:
    """How a policy is asked, with its weights as they are now."""

    spec: ChunkSpec
    spread: Tensor  # of each action, (act,)
    chunks: Answers  # row by row, as for stations that act
    many: Answers  # the same for a training, where rows may be worked out together
    # Shape of the normal noise that a chunk begins from, steps and numbers in each; None where
    # chunks begin from none.
    noise: tuple[int, int] | None = None
    # What it sees by cameras, in pictures of `looks` successive periods, 0 if it does not.
    seen: ObservationMask = NOTHING
    looks: int = 0

    @property
    def observation(self) -> int:
        """Entries of an observation that who stands on it is shown: no more than it is."""
        return len(self.seen.felt) if self.seen.cameras else self.spec.observation


class Base(Policy, Protocol):
    """A policy that others can stand on: whatever it is, it answers moments with chunks."""

    def sampler(self, instruction: str, mask: ObservationMask = NOTHING) -> ChunkSampler:
        """How it is asked; instruction: the task in words; mask: what it sees, if it does by
        cameras.

        Raises:
            PolicyError: it cannot answer.
        """
