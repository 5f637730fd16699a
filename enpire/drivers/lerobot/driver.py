"""A driver for the arms that LeRobot knows.

`[lerobot]` of `drivers.toml` beside `robot.toml`, or of a station's file, which counts over it:

[lerobot]
type = "so101_follower"         # the name that the robot's config is registered by
[lerobot.config]                # fields of that config
port = "/dev/ttyACM0"
[[lerobot.axes]]                # one an axis, in our order: see `axes.py`
motor = "shoulder_pan"
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from enpire.drivers.driver import Clock, Picture, Reading, Site
from enpire.drivers.lerobot.bus import Bus
from enpire.drivers.lerobot.making import make_robot
from enpire.drivers.lerobot.settings import LeRobotSettings
from enpire.errors import DriverError
from enpire.packs import Robot
from enpire.types import FloatArray


class LeRobot:
    """A robot pack's arms over a `lerobot.robots.Robot`.

    LeRobot measures positions only: velocities are differences of them, torques and wrist forces
    are unknown. No motor is ever calibrated by it: that is `lerobot-calibrate`'s work.
    """

    def __init__(self, robot: Robot, clock: Clock, site: Site) -> None:
        """Make it; raises PackError for settings, DriverError for what LeRobot makes of them."""
        self._clock, settings = clock, LeRobotSettings.read(site.settings, robot)
        self._grippers = np.concatenate([[*[False] * len(arm.home), True] for arm in robot.arms])
        self._arms = len(robot.arms)
        self._axes = settings.axes
        self.device: Any = make_robot(settings.kind, settings.config, site.settings.where)
        self._require_axes()
        self._bus: Bus | None = None

    def connect(self) -> None:
        """Open the bus and begin to read. Raises DriverError; so too for an arm not calibrated."""
        try:
            self.device.connect(calibrate=False)  # else it may ask questions, and move
            calibrated = self.device.is_calibrated
        except Exception as error:  # a vendor's library raises what it likes
            raise DriverError(f"{self.device} cannot be connected: {error}") from error
        try:
            if not calibrated:
                raise DriverError(
                    f"{self.device} is not calibrated: lerobot-calibrate "
                    f"--robot.type={self.device.name} --robot.id={self.device.id} ..."
                )
            self._bus = Bus(self.device, self._axes, self._grippers, self._arms, self._clock)
        except DriverError:
            self.device.disconnect()
            raise

    def read(self) -> Reading:
        """The newest reading; its stamp is from before the bus was asked."""
        return self._open().reading

    def send(self, setpoint: FloatArray) -> None:
        """Hand it to the bus's thread."""
        self._open().send(setpoint)

    def stop(self) -> None:
        """Have the bus's thread read where the arms are and send them that; grippers hold on."""
        self._open().hold()

    def pictures(self) -> Mapping[str, Picture]:
        """See `CameraDriver`."""
        return self._open().pictures

    def disconnect(self) -> None:
        """Close the bus. Whether the arms hold then is the robot's own setting."""
        if self._bus is None:
            return
        bus, self._bus = self._bus, None
        bus.close()
        try:
            self.device.disconnect()
        except Exception as error:  # as above
            raise DriverError(f"{self.device} cannot be disconnected: {error}") from error

    def _open(self) -> Bus:
        if self._bus is None:
            raise DriverError(f"{self.device} is not connected")
        return self._bus

    def _require_axes(self) -> None:
        """Every axis is one of the robot's, and no motor is left that nobody sends anything."""
        actions, axes = set(self.device.action_features), set(self._axes.keys)
        if axes != actions or not axes <= set(self.device.observation_features):
            raise DriverError(
                f"{self.device} takes {', '.join(sorted(actions))}, but the axes in drivers.toml "
                f"are {', '.join(self._axes.keys)}: each motor needs one"
            )
