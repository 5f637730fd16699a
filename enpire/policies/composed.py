"""Policies of two parts: a base that stays as it is, and a small network learned beside it.

Both are kept in one file. What the network does to what the base says is a kind of its own:
`residual`, `steered`, `specialist`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Self

from numpy.typing import NDArray
from torch import nn

from enpire.environment import StationBackend, instruction
from enpire.errors import PolicyError
from enpire.policies.chunk import ChunkPolicy
from enpire.policies.chunk_sampler import Base, ChunkSampler
from enpire.policies.description import JsonSpec
from enpire.policies.flow import FlowPolicy
from enpire.policies.lerobot import LeRobotPolicy
from enpire.policies.network import weights, with_weights
from enpire.policies.picture import PicturePolicy
from enpire.policies.policy import Policy
from enpire.policies.vision import seen_there

BASES: dict[str, type[Base]] = {
    kind.kind: kind for kind in (ChunkPolicy, FlowPolicy, PicturePolicy, LeRobotPolicy)
}


@dataclass(frozen=True, slots=True)
class ComposedSpec(JsonSpec):
    """What a composed policy maps, and what it is made of."""

    what: ClassVar[str] = "a composed policy"
    task: str
    observation: int
    action: int
    # kind, base: of the base, its own spec as text
    kind: str
    base: str
    head: str  # the same of the network beside it


class Composed[H: nn.Module]:
    """A base, and the head that stands on it. Subclasses say what the head is."""

    kind: ClassVar[str]

    def __init__(self, base: Base, head: H) -> None:
        self.base, self.head = base, head

    @classmethod
    def made(cls, shape: str) -> H:
        """A head of the shape that `shaped` told; raises PolicyError if it is none."""
        raise NotImplementedError

    @property
    def shaped(self) -> str:
        """The head's shape, as text."""
        spec: Any = self.head.spec
        return json.dumps(asdict(spec))

    @property
    def spec(self) -> ComposedSpec:
        """See `Policy`."""
        said = self.base.spec
        return ComposedSpec(
            said.task,
            said.observation,
            said.action,
            self.base.kind,
            said.to_json(),
            self.shaped,
        )

    def sampler_on(self, stations: StationBackend) -> ChunkSampler:
        """How the base is asked; raises PolicyError where it cannot act, or sees nothing."""
        seen = seen_there(stations, *eyes_of(self.base))
        return self.base.sampler(instruction(stations), seen)

    def tensors(self) -> dict[str, NDArray[Any]]:
        """The tensors of the base under `base/`, and of the head under `head/`."""
        return joined({"base": self.base.tensors(), "head": weights(self.head)})

    @classmethod
    def load(cls, spec: str, tensors: Mapping[str, NDArray[Any]]) -> Self:
        """See `Policy.load`."""
        said = ComposedSpec.from_json(spec)
        if said.kind not in BASES:
            raise PolicyError(
                f"a {cls.kind} policy on one of kind {said.kind!r}; known are {', '.join(BASES)}"
            )
        base = BASES[said.kind].load(said.base, part_of("base", tensors))
        return cls(base, with_weights(cls.made(said.head), part_of("head", tensors)))


def base_of[P: Policy | None](policy: P) -> P | Base:
    """What a composed policy stands on; of any other, itself."""
    return policy.base if isinstance(policy, Composed) else policy


def eyes_of(base: Policy) -> tuple[tuple[str, ...], int]:
    """See `kinds.eyes`: of a policy that stands on no other."""
    if isinstance(base, PicturePolicy | LeRobotPolicy):
        return base.spec.cameras, base.spec.size
    return (), 0


def joined(parts: Mapping[str, Mapping[str, NDArray[Any]]]) -> dict[str, NDArray[Any]]:
    """The tensors of several parts, by their names under the part's."""
    return {f"{part}/{name}": t for part, own in parts.items() for name, t in own.items()}


def part_of(part: str, tensors: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """The tensors of one part: see `joined`."""
    prefix = f"{part}/"
    return {n.removeprefix(prefix): t for n, t in tensors.items() if n.startswith(prefix)}
