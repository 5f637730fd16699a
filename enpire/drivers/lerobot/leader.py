"""A leader arm: a LeRobot teleoperator that says where each motor of the arm is to be.

[lerobot.teleoperator]          # in drivers.toml, or in the station's file
type = "so101_leader"
[lerobot.teleoperator.config]
port = "/dev/ttyACM1"
id = "leader"
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from enpire.drivers.driver import Clock, Reading, Site
from enpire.drivers.lerobot.axes import Axes
from enpire.drivers.lerobot.bus import Bus
from enpire.drivers.lerobot.making import make_teleoperator
from enpire.errors import DriverError, PackError
from enpire.packs import Robot


@dataclass(frozen=True, slots=True)
class _Read:
    """A teleoperator as a `Bus` reads a robot: what it wants is where it is."""

    device: Any

    def get_observation(self) -> dict[str, Any]:
        wanted: dict[str, Any] = self.device.get_action()
        return wanted

    def send_action(self, action: dict[str, Any]) -> NoReturn:
        raise DriverError("a leader is sent nothing")

    def __str__(self) -> str:
        return str(self.device)


class Leader:
    """Reads a leader arm, whose motors are called as the arm's; its axes are those of the arm."""

    def __init__(self, robot: Robot, clock: Clock, site: Site) -> None:
        """Make it; raises PackError for settings, DriverError for what LeRobot makes of them."""
        settings = site.settings
        if not settings.has("teleoperator"):
            raise PackError(f"{settings.where}: no table teleoperator: which leader is it?")
        said = settings.table("teleoperator")
        config = said.mapping("config") if said.has("config") else {}
        self._axes = Axes.read(settings.tables("axes"))
        self._clock, self._arms = clock, len(robot.arms)
        self.device = make_teleoperator(said.text("type"), config, said.where)
        missing = set(self._axes.keys) - set(self.device.action_features)
        if missing:
            raise DriverError(f"{self.device} does not say {', '.join(sorted(missing))}")
        self._bus: Bus | None = None

    def connect(self) -> None:
        """Open its bus and begin to read; raises DriverError."""
        try:
            self.device.connect(calibrate=False)
            calibrated = self.device.is_calibrated
        except Exception as error:  # a vendor's library raises what it likes
            raise DriverError(f"{self.device} cannot be connected: {error}") from error
        if not calibrated:
            self.device.disconnect()
            raise DriverError(f"{self.device} is not calibrated: lerobot-calibrate")
        grippers = np.zeros(len(self._axes.keys), bool)
        self._bus = Bus(_Read(self.device), self._axes, grippers, self._arms, self._clock)

    def read(self) -> Reading:
        """Where it wants the arm to be; raises DriverError if it is lost."""
        if self._bus is None:
            raise DriverError(f"{self.device} is not connected")
        return self._bus.reading

    def disconnect(self) -> None:
        """Close its bus."""
        if self._bus is not None:
            bus, self._bus = self._bus, None
            bus.close()
            self.device.disconnect()
