"""What a driver is told: the pack's `drivers.toml`, and what the station's file says instead."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from typing import Any

from enpire.errors import PackError
from enpire.packs import Robot
from enpire.packs.finder import DRIVERS
from enpire.packs.toml import Table


def settings(robot: Robot, driver: str, station: Mapping[str, Any] | None = None) -> Table:
    """The table `[driver]` of the robot pack's `drivers.toml`, empty without one.

    station: the station file's table of that name. Its keys count over the pack's; of tables in
    both, key by key: two arms of one pack differ by their ports. Raises PackError naming the file.
    """
    path = robot.folder / DRIVERS
    said: dict[str, Any] = {}
    if path.is_file():
        try:
            said = tomllib.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise PackError(f"{path} does not parse: {error}") from error
    own = said.get(driver, {})
    if not isinstance(own, dict):
        raise PackError(f"{path}: [{driver}] must be a table, found {own!r}")
    return Table(_over(own, station or {}), f"{path} [{driver}]")


def _over(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    result = dict(below)
    for key, value in above.items():
        old = result.get(key)
        both = isinstance(old, Mapping) and isinstance(value, Mapping)
        result[key] = _over(old, value) if both else value  # type: ignore[arg-type]
    return result
