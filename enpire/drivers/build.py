"""Drivers by name. A driver's module, and what it needs, is imported when it is asked for."""

from __future__ import annotations

from enpire.drivers.driver import Clock, Driver
from enpire.errors import UsageError
from enpire.packs import Robot
from enpire.packs.finder import unknown

DRIVERS = ("mock", "simulated")


def build(name: str, robot: Robot, clock: Clock) -> Driver:
    """The driver `name` of `robot`, not connected; raises UsageError if there is none."""
    if name == "mock":
        from enpire.drivers.mock import Mock

        return Mock(robot, clock)
    if name == "simulated":
        from enpire.drivers.simulated import Simulated

        return Simulated(robot, clock)
    raise UsageError(unknown("driver", name, list(DRIVERS)))
