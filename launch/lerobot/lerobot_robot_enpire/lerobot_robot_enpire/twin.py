"""A task's twin as a LeRobot robot: joint positions in and out, simulated in real time.

Joints are in degrees and grippers in 0 (closed) to 100 (open), as LeRobot's SO-101 has them, whose
leader arm therefore drives its twin. Several arms' names begin with the arm's, as `left_joint1`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from lerobot.robots.robot import Robot
from lerobot.utils.errors import DeviceAlreadyConnectedError, DeviceNotConnectedError

import enpire.gymnasium  # noqa: F401  before MuJoCo is: it says how to render
from enpire.datasets.pictures import Cameras
from enpire.environment import build_stations
from enpire.gymnasium.environment import Stepper
from lerobot_robot_enpire.config_twin import EnpireTwinConfig

# As LeRobot calls the motors; the model's zeros and directions are those of its calibration.
NAMES = {"so101": ("shoulder_pan", "shoulder_lift", "elbow_flex", "wrist_flex", "wrist_roll")}
BEHIND_S = 0.1  # simulated at once at most: who asks less often than that sees a slower world


class EnpireTwin(Robot):
    """One station of a task. Nobody judges what is done on it: `enpire eval` does that."""

    config_class = EnpireTwinConfig
    name = "enpire_twin"

    def __init__(
        self, config: EnpireTwinConfig, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Build the twin; clock: that time passes by [s]."""
        self._stations = None  # Robot's destructor asks whether it is connected
        self._connected = False
        super().__init__(config)
        self.config = config
        self._clock = clock
        self._stations = build_stations(config.task, 1, 1)
        self._stepper = Stepper(self._stations)
        self._looking: Cameras | None = None
        self._seed, self._at = config.seed, 0.0
        twin, robot = self._stations.twin, self._stations.twin.scene.robot
        self._actuators = np.concatenate([[*a.actuators, a.gripper] for a in twin.scene.arms])
        low, high = zip(*(arm.gripper_range for arm in robot.arms), strict=True)
        dof = len(robot.arms[0].home)
        # Of each actuator: what LeRobot's number is, times this, plus that.
        gripper = [(h - c) / 100 for c, h in zip(low, high, strict=True)]
        self._scale = np.concatenate([[*[np.pi / 180] * dof, g] for g in gripper])
        self._shift = np.concatenate([[*[0.0] * dof, c] for c in low])
        names = NAMES.get(robot.name, tuple(f"joint{i + 1}" for i in range(dof)))
        several = len(robot.arms) > 1
        self._joints = [
            f"{arm.name}_{joint}.pos" if several else f"{joint}.pos"
            for arm in robot.arms
            for joint in (*names, "gripper")
        ]

    @cached_property
    def observation_features(self) -> dict[str, Any]:
        """Joint positions and pictures."""
        size = (self.config.height, self.config.width, 3)
        return {**self.action_features, **dict.fromkeys(self.config.pictures, size)}

    @cached_property
    def action_features(self) -> dict[str, Any]:
        """Joint positions to go to."""
        return dict.fromkeys(self._joints, float)

    @property
    def is_connected(self) -> bool:
        """Whether a scene is set up."""
        return self._connected

    def connect(self, calibrate: bool = True) -> None:
        """Set a scene up; the arms are where its reset leaves them."""
        if self._connected or self._stations is None:
            raise DeviceAlreadyConnectedError(f"{self} is connected already")
        self._stepper.step(np.zeros((1, self._stations.action_size), np.float32), {0: self._seed})
        if self._looking is None and self.config.pictures:
            size = self.config.height, self.config.width
            self._looking = Cameras(self._stations, self.config.pictures, *size)
        self._seed += 1
        self._at = self._clock()
        self._connected = True

    @property
    def is_calibrated(self) -> bool:
        """A model is."""
        return True

    def calibrate(self) -> None:
        """Nothing to do."""

    def configure(self) -> None:
        """Nothing to do."""

    def get_observation(self) -> dict[str, Any]:
        """Where the joints are now, and what the cameras see."""
        self._catch_up()
        twin = self._stations.twin
        twin.forward(0)
        where = (twin.actuator_length[0, self._actuators] - self._shift) / self._scale
        seen: dict[str, Any] = dict(zip(self._joints, where.tolist(), strict=True))
        return seen | (self._looking.look(self.config.pictures) if self._looking else {})

    def send_action(self, action: dict[str, Any]) -> dict[str, Any]:
        """Have the servos go to these positions, as far as the joints' ranges let them."""
        self._catch_up()
        twin = self._stations.twin
        wanted = np.array([action[joint] for joint in self._joints], float)
        low, high = twin.model.actuator_ctrlrange[self._actuators].T
        sent = np.clip(wanted * self._scale + self._shift, low, high)
        twin.ctrl[0, self._actuators] = sent
        given = (sent - self._shift) / self._scale
        return dict(zip(self._joints, given.tolist(), strict=True))

    def disconnect(self) -> None:
        """Leave the scene."""
        self._require()
        self._connected = False
        self._stepper.abort()
        if self._looking is not None:
            self._looking.close()
            self._looking = None

    def _catch_up(self) -> None:
        """Simulate until now, with the task's own rules of its physics."""
        self._require()
        stations, now = self._stations, self._clock()
        self._at = max(self._at, now - BEHIND_S)
        step = float(stations.twin.model.opt.timestep)
        due = int((now - self._at) / step + 1e-9)
        self._at += due * step
        while due > 0:
            substeps = min(due, stations.substeps)
            stations.twin.step([0], substeps)
            stations.task.plant(stations.twin, 0)
            due -= substeps

    def _require(self) -> None:
        if not self._connected:
            raise DeviceNotConnectedError(f"{self} is not connected: call connect() first")
