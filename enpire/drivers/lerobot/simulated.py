"""A robot of LeRobot's whose arms are those of `enpire station sim`: LeRobot's way without an arm.

[lerobot]                       # in the station's file
type = "enpire_simulated"
[lerobot.config]
station = "lab.toml"            # that file itself: its runtime folder, robot and axes
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lerobot.robots import Robot, RobotConfig

from enpire.drivers.build import settings
from enpire.drivers.driver import Site, runtime_folder
from enpire.drivers.lerobot.axes import Axes
from enpire.drivers.twin.driver import TwinArms
from enpire.packs import find, load_robot
from enpire.packs.toml import Table


@RobotConfig.register_subclass("enpire_simulated")
@dataclass
class SimulatedConfig(RobotConfig):  # type: ignore[misc]  # LeRobot has no types
    """station: the file of the station that is simulated."""

    station: str = ""


# LeRobot finds the class of a configuration by its name and this file's: `SimulatedConfig` has
# `Simulated` in `simulated.py`.
class Simulated(Robot):  # type: ignore[misc]  # as above
    """Motors called, and counted, as `[[lerobot.axes]]` has them. Nothing is to be calibrated."""

    config_class = SimulatedConfig
    name = "enpire_simulated"

    def __init__(self, config: SimulatedConfig) -> None:
        """Raises PackError if the station's file is not right."""
        super().__init__(config)
        path = Path(config.station)
        said = Table.read(path)
        robot = load_robot(find("robots", said.text("robot")))
        self._axes = Axes.read(settings("lerobot", robot, said.table("lerobot")).tables("axes"))
        site = Site(path.stem, runtime_folder(path))
        self._arms, self._open = TwinArms(robot, time.monotonic_ns, site), False

    @property
    def action_features(self) -> dict[str, type]:
        return dict.fromkeys(self._axes.keys, float)

    @property
    def observation_features(self) -> dict[str, type]:
        return self.action_features

    @property
    def is_connected(self) -> bool:
        return self._open

    @property
    def is_calibrated(self) -> bool:
        return True

    def connect(self, calibrate: bool = True) -> None:
        self._arms.connect()
        self._open = True

    def calibrate(self) -> None:
        """Do nothing: its zeros are right."""

    def configure(self) -> None:
        """It has no registers."""

    def get_observation(self) -> dict[str, Any]:
        return self._axes.theirs(self._arms.read().position)

    def send_action(self, action: dict[str, Any]) -> dict[str, Any]:
        self._arms.send(self._axes.ours(action))
        return action

    def disconnect(self) -> None:
        self._arms.disconnect()
        self._open = False
