"""Drivers and wires by name. The module of one, and what it needs, is imported when asked for."""

from __future__ import annotations

from enpire.drivers.driver import Clock, Driver, Site
from enpire.drivers.wire import WIRES, Wire
from enpire.errors import UsageError
from enpire.packs import Robot
from enpire.packs.finder import DRIVERS as SETTINGS
from enpire.packs.finder import unknown
from enpire.packs.toml import Table

DRIVERS = ("mock", "simulated", "twin", "ros2", "lerobot")


def build(name: str, robot: Robot, clock: Clock, site: Site | None = None) -> Driver:
    """The driver `name` of `robot`, not connected.

    Raises:
        UsageError: there is none of that name.
        PackError, DriverError: its settings are wrong, or a package that it needs is missing.
    """
    site = site or Site()
    if name == "mock":
        from enpire.drivers.mock import Mock

        return Mock(robot, clock)
    if name == "simulated":
        from enpire.drivers.simulated import SimulatedDriver

        return SimulatedDriver(robot, clock)
    if name == "lerobot":
        from enpire.drivers.lerobot import LeRobot

        return LeRobot(robot, clock, site)
    if name == "twin":
        from enpire.drivers.twin.driver import TwinArms

        return TwinArms(robot, clock, site)
    if name == "ros2":
        from enpire.drivers.ros2.driver import Ros2

        return Ros2(robot, clock, site)
    raise UsageError(unknown("driver", name, list(DRIVERS)))


def open_wire(name: str, site: Site, clock: Clock) -> Wire:
    """The wire `name` of a station; raises UsageError if there is none of that name."""
    if name == "twin":
        from enpire.drivers.twin.wire import TwinWire

        return TwinWire(site, clock)
    if name == "ros2":
        from enpire.drivers.ros2.wire import Ros2Wire

        return Ros2Wire(site, clock)
    raise UsageError(
        f"driver {name} has arms and nothing that says where objects are: a loop needs a wire in "
        f"the station's file, one of {', '.join(WIRES)} (docs/station.md)"
    )


def settings(name: str, robot: Robot, own: Table | None) -> Table:
    """A driver's settings: what a station file says, over the robot's `drivers.toml`.

    `config` is a type's own: where the station file names another `type`, the robot's counts no
    more.

    Raises:
        PackError: the file does not parse, or has what belongs to no driver; it is named.
    """
    table = Table({}, f"[{name}]")
    path = robot.arms[0].model.parent / SETTINGS
    if path.is_file():
        said = Table.read(path)
        said.require_known(*DRIVERS)
        if said.has(name):
            table = said.table(name)
    if own is None:
        return table
    if own.has("type") and own.raw("type") != table.raw("type"):
        table = table.without("config")
    return own.over(table)


def require_settings(name: str, robot: Robot, said: Table, cameras: tuple[str, ...] = ()) -> None:
    """Raise PackError, naming file and key, for settings that driver or wire `name` does not take.

    Nothing is opened, and no package of a driver is needed. cameras: of the station.
    """
    if name == "ros2":
        from enpire.drivers.ros2.settings import Ros2Settings

        read = Ros2Settings.read(said)
        read.names(robot)
        read.forces(robot)
        if cameras:
            read.pictures(cameras)
    elif name == "lerobot":
        from enpire.drivers.lerobot.settings import LeRobotSettings

        LeRobotSettings.read(said, robot)
    elif name == "twin":
        said.require_known("sent")
        said.text("sent", "")
    else:
        said.require_known()
