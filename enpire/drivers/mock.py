"""Arms without mass: they go to their setpoints no faster than their limits, and keep a log."""

from __future__ import annotations

from collections import deque

import numpy as np

from enpire.drivers.driver import Clock, Reading
from enpire.packs import Robot
from enpire.types import FloatArray

KEPT = 100_000  # setpoints in the log


class Mock:
    """Arms of a robot pack that begin at home; grippers are open."""

    def __init__(self, robot: Robot, clock: Clock) -> None:
        """Move by `clock`."""
        self._clock = clock
        self.home = np.concatenate([[*arm.home, arm.gripper_range[1]] for arm in robot.arms])
        gripper = max(abs(high - low) for low, high in (a.gripper_range for a in robot.arms)) / 0.2
        self._speed = np.tile([*robot.limits.joint_speed, gripper], len(robot.arms))
        self._arms = len(robot.arms)
        self.position: FloatArray = self.home.copy()
        self._setpoint = self.position
        self._at = 0
        self.log: deque[FloatArray] = deque(maxlen=KEPT)
        self.stops = 0

    def connect(self) -> None:
        """Begin to move from now on."""
        self._at = self._clock()

    def read(self) -> Reading:
        """Move until now, and say where the arms are."""
        now = self._clock()
        elapsed = (now - self._at) * 1e-9
        before, self._at = self.position, now
        if elapsed > 0.0:
            way = self._speed * elapsed
            self.position = before + np.clip(self._setpoint - before, -way, way)
        velocity = (self.position - before) / elapsed if elapsed > 0.0 else np.zeros_like(before)
        nothing = np.zeros_like(before)
        return Reading(now, self.position, velocity, nothing, np.zeros((self._arms, 3)))

    def send(self, setpoint: FloatArray) -> None:
        """Go there."""
        self._setpoint = np.array(setpoint)
        self.log.append(self._setpoint)

    def stop(self) -> None:
        """Stay."""
        self._setpoint = self.position
        self.stops += 1

    def disconnect(self) -> None:
        """Nothing to close."""
