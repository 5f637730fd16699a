"""The shape of a policy of LeRobot's, as it stands in a policy file's metadata."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from enpire.policies.description import JsonSpec


@dataclass(frozen=True, slots=True)
class LeRobotSpec(JsonSpec):
    """What it maps, and what LeRobot calls it: `act`, `diffusion`, `smolvla`."""

    what: ClassVar[str] = "a LeRobot policy"
    task: str  # that it was given for; empty where nobody said
    # Entries of its state, 0 if it takes none: the task's, or of a policy that sees those that an
    # arm feels.
    observation: int
    action: int
    type: str
    cameras: tuple[str, ...] = ()  # that it looks through
    size: int = 0  # of each picture [px]
    # Bounds of an environment's actions, where the policy's are in its own units; else empty.
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
