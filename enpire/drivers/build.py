"""Drivers by name. A driver's module, and what it needs, is imported when it is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from enpire.drivers.driver import Clock, Driver
from enpire.drivers.settings import settings
from enpire.errors import UsageError
from enpire.packs import Robot
from enpire.packs.finder import unknown

DRIVERS = ("lerobot", "mock", "simulated")


def build(name: str, robot: Robot, clock: Clock, said: Mapping[str, Any] | None = None) -> Driver:
    """The driver `name` of `robot`, not connected; said: the station file's table of its name.

    Raises:
        UsageError: there is none.
        PackError, DriverError: its settings are wrong, or packages of its are missing.
    """
    if name == "lerobot":
        from enpire.drivers.lerobot import LeRobot

        return LeRobot(robot, clock, settings(robot, name, said))
    if name == "mock":
        from enpire.drivers.mock import Mock

        return Mock(robot, clock)
    if name == "simulated":
        from enpire.drivers.simulated import Simulated

        return Simulated(robot, clock)
    raise UsageError(unknown("driver", name, list(DRIVERS)))
