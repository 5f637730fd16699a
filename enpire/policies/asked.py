"""A frozen policy as other networks ask it, who learn on top of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from torch import Tensor

from enpire.policies.policy import Policy
from enpire.policies.spec import ChunkSpec
from enpire.types import Float32Array


class Answers(Protocol):
    """What a policy answers moments with."""

    def __call__(
        self, history: Float32Array, seeds: Sequence[int], noise: Float32Array | None = None
    ) -> Float32Array:
        """Chunks (b, n, act), n at least `execute`, for observations (b, history, obs).

        seeds: of what each row draws. noise: that its chunk begins from, (b, *Asked.noise), where
        it is not drawn.
        """
        ...


@dataclass(frozen=True, slots=True)
class Asked:
    """How a policy is asked, with its weights as they are now.

    chunks: row by row, as for stations that act. many: the same for a training, where rows may be
    worked out together. spread: of each action, (act,). noise: shape of the normal noise that a
    chunk begins from, steps and numbers in each; None where chunks begin from none.
    """

    spec: ChunkSpec
    spread: Tensor
    chunks: Answers
    many: Answers
    noise: tuple[int, int] | None = None


class Base(Policy, Protocol):
    """A policy that others can stand on: whatever it is, it answers moments with chunks."""

    def asked(self, told: str) -> Asked:
        """How it is asked; told: the task in words.

        Raises:
            PolicyError: it cannot answer.
        """
        ...
