"""What the tests of the pin box share."""

from __future__ import annotations

import importlib
from functools import cache

from enpire.environment import Stations, Task, build_stations
from enpire.packs import find, load_robot, load_world


@cache
def task() -> Task:
    return build_stations("pin_box", 1, 1).task


def module(name: str):  # type: ignore[no-untyped-def]
    package = type(task()).__module__.rpartition(".")[0]
    return importlib.import_module(f"{package}.{name}")


def from_tray(stations: int = 1) -> Stations:
    """Stations that begin at the beginning."""
    chosen = module("from_start").FromTray(task().folder)
    world, robot = find("sim", chosen.world), find("robots", chosen.robot)
    return Stations(chosen, load_world(world), load_robot(robot), stations, 1)
