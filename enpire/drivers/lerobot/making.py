"""Making a LeRobot robot or teleoperator of its type's name and the fields of its config."""

from __future__ import annotations

import importlib
import pkgutil
from types import ModuleType
from typing import Any

from enpire.errors import DriverError
from enpire.packs.finder import unknown


def make_robot(kind: str, config: dict[str, Any], where: str) -> Any:
    """The `lerobot.robots.Robot` of a type, not connected.

    config: fields of its config class, as LeRobot reads them: `port`, `id`, `cameras`, ... where:
    for messages. Raises DriverError: no such type, a field it does not have, or a package missing.
    """
    robots = _imported("lerobot.robots")
    _imported("enpire.drivers.lerobot.simulated")  # LeRobot finds no plugins within packages
    return _make(kind, config, where, robots.RobotConfig, robots, robots.make_robot_from_config)


def make_teleoperator(kind: str, config: dict[str, Any], where: str) -> Any:
    """The `lerobot.teleoperators.Teleoperator` of a type; see `make_robot`."""
    devices = _imported("lerobot.teleoperators")
    make = devices.make_teleoperator_from_config
    return _make(kind, config, where, devices.TeleoperatorConfig, devices, make)


def _make(
    kind: str, config: dict[str, Any], where: str, base: Any, package: ModuleType, make: Any
) -> Any:
    import draccus

    # A type is known once its module was imported; LeRobot's own scripts import all they know.
    _import_all(package)
    _import_all(_imported("lerobot.cameras"))
    _imported("lerobot.utils.import_utils").register_third_party_plugins()
    known = sorted(base.get_known_choices())
    if kind not in known:
        raise DriverError(f"{where}: {unknown('type of LeRobot', kind, known)}")
    try:
        parsed = draccus.decode(base, {"type": kind, **config})
    except Exception as error:  # draccus's own, and whatever a config's __post_init__ raises
        raise DriverError(f"{where}: the config of {kind} does not parse: {error}") from error
    try:
        return make(parsed)
    except Exception as error:  # a vendor's package is missing: LeRobot says how to install it
        raise DriverError(f"{where}: {kind} cannot be made: {error}") from error


def _imported(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise DriverError(
            f"{name} cannot be imported ({error}): pip install 'enpire[vla]'"
        ) from error


def _import_all(package: ModuleType) -> None:
    for module in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
        try:
            importlib.import_module(module.name)
        except ImportError:  # of hardware whose packages are not installed: not ours
            continue
