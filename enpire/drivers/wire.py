"""What else a station's wire carries than its arms: a tracker, a fixture, cameras, faults told.

A supervisor has the driver, and the harness the wire: nothing that moves an arm goes over it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from enpire.drivers.driver import Picture
from enpire.types import FloatArray

WIRES = ("twin", "ros2")


@dataclass(frozen=True, slots=True, eq=False)
class Objects:
    """Poses of the tracked objects, in the order in which their task names them."""

    stamp: int  # monotonic ns of this machine
    position: FloatArray  # (objects, 3) m
    rotation: FloatArray  # (objects, 3, 3), object to world


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault that a simulated station was made to have: its number, kind, and what was done."""

    number: int
    kind: str
    text: str
    begun: int  # monotonic ns of this machine
    seconds: float  # that it lasts


class Wire(Protocol):
    """One station's, without its arms. No call waits for longer than a control period.

    simulated: there is a simulator at its other end, which takes `set_initial_state` and
    `randomize_physics`.
    """

    simulated: bool

    def objects(self) -> Objects | None:
        """What the tracker saw last; None if it has seen nothing."""

    def operate(self, on: tuple[str, ...]) -> None:
        """Have a fixture's outputs on, and all others off."""

    def watch(self, cameras: tuple[str, ...]) -> None:
        """Listen to these cameras from now on; raises UsageError where no pictures come."""

    def picture(self, camera: str) -> Picture | None:
        """The newest picture of a camera that is watched; None before the first."""

    def faults(self) -> list[Fault]:
        """The faults that were told since it was asked last, oldest first."""

    def set_initial_state(self, variation: FloatArray) -> None:
        """Have a simulator put the scene into an initial condition; the arms must be disarmed."""

    def randomize_physics(self, variation: FloatArray) -> None:
        """Have a simulator vary what no robot brings about of an initial condition."""

    @property
    def placed(self) -> bool:
        """Whether the last initial state is there, and has settled; raises ResetFailed."""

    def close(self) -> None:
        """Hang up."""
