"""The shape of a policy of LeRobot's, as it stands in a policy file's metadata."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Self

from enpire.policies.description import described


@dataclass(frozen=True, slots=True)
class LeRobotSpec:
    """What it maps, and what LeRobot calls it: `act`, `diffusion`, `smolvla`.

    task: that it was given for; empty where nobody said. observation: entries of its state, 0 if it
    takes none: the task's, or of a policy that sees those that an arm feels. cameras: that it looks
    through; size: of each picture [px].
    """

    task: str
    observation: int
    action: int
    type: str
    cameras: tuple[str, ...] = ()
    size: int = 0

    def to_json(self) -> str:
        """Return it as text, for a safetensors file's metadata."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The inverse of `to_json`; raises PolicyError for anything else."""
        return described(cls, text, "a LeRobot policy")
