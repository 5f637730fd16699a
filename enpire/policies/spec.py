"""The shape of a policy that maps a short history of observations to a chunk of actions."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from typing import Self

from enpire.errors import PolicyError


@dataclass(frozen=True, slots=True)
class ChunkSpec:
    """The shape of a policy.

    history: how many observations it sees, `stride` control periods apart; chunk: how many actions
    it predicts; execute: how many of them are carried out; hidden: width of each hidden layer.
    """

    task: str
    observation: int
    action: int
    history: int = 3
    stride: int = 2
    chunk: int = 8
    execute: int = 8
    hidden: tuple[int, ...] = (256, 256, 256)

    @property
    def reach(self) -> int:
        """Periods from the oldest observation it sees to the newest."""
        return (self.history - 1) * self.stride

    def to_json(self) -> str:
        """For a safetensors file's metadata."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The inverse of `to_json`; raises PolicyError for anything else."""
        try:
            values = json.loads(text)
            widths = {k: tuple(v) for k, v in values.items() if isinstance(v, list)}
            return cls(**{**values, **widths, "hidden": tuple(values["hidden"])})
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise PolicyError(f"not a policy's description: {error}") from error


@dataclass(frozen=True, slots=True)
class FlowSpec(ChunkSpec):
    """The shape of a policy whose chunks flow from noise.

    steps: from noise to actions. steering: width of each hidden layer of the network that chooses
    the noise; without one it is drawn.
    """

    steps: int = 5
    steering: tuple[int, ...] = ()

    @classmethod
    def of(cls, spec: ChunkSpec) -> FlowSpec:
        """With the shape of a chunk policy."""
        return cls(**{each.name: getattr(spec, each.name) for each in fields(ChunkSpec)})
