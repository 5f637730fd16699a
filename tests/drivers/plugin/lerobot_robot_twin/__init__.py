"""A LeRobot plugin package: an SO-101 that is our twin behind LeRobot's own interface.

In LeRobot's units: degrees, and per cent for the gripper. Its bus takes a while for every call, and
can be told to fail or to hang. What it was asked is in `log`.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from lerobot.robots import Robot, RobotConfig
from lerobot.teleoperators import Teleoperator, TeleoperatorConfig
from lerobot.teleoperators.utils import TeleopEvents

from enpire.drivers.simulated import SimulatedDriver
from enpire.packs import find, load_robot

MOTORS = ("shoulder_pan", "shoulder_lift", "elbow_flex", "wrist_flex", "wrist_roll", "gripper")
CLOSED, OPEN = -0.17453, 1.74533


@RobotConfig.register_subclass("twin")
@dataclass
class TwinConfig(RobotConfig):
    """bus_s: how long each call takes [s]."""

    bus_s: float = 0.002
    calibrated: bool = True
    broken: bool = False


class Twin(Robot):
    """See the module."""

    config_class = TwinConfig
    name = "twin"

    def __init__(self, config: TwinConfig) -> None:
        super().__init__(config)
        self.config = config
        self.arms = SimulatedDriver(load_robot(find("robots", "so101")), time.monotonic_ns)
        self.log: list[dict[str, float]] = []
        self.open = self.failing = False
        self.seen = self.refused = 0

    @property
    def action_features(self) -> dict:
        return {f"{motor}.pos": float for motor in MOTORS}

    @property
    def observation_features(self) -> dict:
        return {**self.action_features, "top": (4, 6, 3)}

    @property
    def is_connected(self) -> bool:
        return self.open

    @property
    def is_calibrated(self) -> bool:
        return self.config.calibrated

    def connect(self, calibrate: bool = True) -> None:
        if calibrate:
            raise RuntimeError("it would ask a person to move the arm")
        if self.config.broken:
            raise ConnectionError("no such port")
        self.arms.connect()
        self.open = True

    def calibrate(self) -> None: ...

    def configure(self) -> None: ...

    def get_observation(self) -> dict:
        self._wait()
        self.seen += 1
        position = self.arms.read().position
        degrees = np.degrees(position[:5])
        percent = 100 * (position[5] - CLOSED) / (OPEN - CLOSED)
        values = map(float, (*degrees, percent))
        image = np.full((4, 6, 3), self.seen % 256, np.uint8)
        return {**dict(zip(self.action_features, values, strict=True)), "top": image}

    def send_action(self, action: dict) -> dict:
        if self.failing:
            self.refused += 1
        self._wait()
        theirs = np.array([action[key] for key in self.action_features])
        jaw = CLOSED + theirs[5] / 100 * (OPEN - CLOSED)
        self.arms.send(np.append(np.radians(theirs[:5]), jaw))
        self.log.append(dict(action))
        return action

    def disconnect(self) -> None:
        self.open = False

    def _wait(self) -> None:
        if not self.open:
            raise ConnectionError("not connected")
        time.sleep(self.config.bus_s)
        if self.failing:
            raise ConnectionError("Incorrect status packet!")


HOME = (0.0, -11.17, 6.82, 78.84, 90.0, 100.0)  # the SO-101's, degrees and per cent


@TeleoperatorConfig.register_subclass("twin_leader")
@dataclass
class TwinLeaderConfig(TeleoperatorConfig):
    """away: of its first motor from home [degrees]."""

    away: float = 0.0


class TwinLeader(Teleoperator):
    """A leader that is held still."""

    config_class = TwinLeaderConfig
    name = "twin_leader"

    def __init__(self, config: TwinLeaderConfig) -> None:
        super().__init__(config)
        self.config = config
        self.open = False

    @property
    def action_features(self) -> dict:
        return {f"{motor}.pos": float for motor in MOTORS}

    @property
    def feedback_features(self) -> dict:
        return {}

    @property
    def is_connected(self) -> bool:
        return self.open

    @property
    def is_calibrated(self) -> bool:
        return True

    def connect(self, calibrate: bool = True) -> None:
        self.open = True

    def calibrate(self) -> None: ...

    def configure(self) -> None: ...

    def get_action(self) -> dict:
        action = dict(zip(self.action_features, HOME, strict=True))
        action["shoulder_pan.pos"] += self.config.away
        return action

    def send_feedback(self, feedback: dict) -> None: ...

    def disconnect(self) -> None:
        self.open = False


@TeleoperatorConfig.register_subclass("twin_pad")
@dataclass
class TwinPadConfig(TeleoperatorConfig):
    """seconds: from one end of an episode, as it says, to the next."""

    seconds: float = 1.0
    ends: str = "success"


class TwinPad(Teleoperator):
    """A pad as LeRobot's own is, with its ways; it is pushed up, and closes the gripper."""

    config_class = TwinPadConfig
    name = "twin_pad"

    def __init__(self, config: TwinPadConfig) -> None:
        super().__init__(config)
        self.config = config
        self.open = False
        self.told = 0.0

    @property
    def action_features(self) -> dict:
        names = {"delta_x": 0, "delta_y": 1, "delta_z": 2, "gripper": 3}
        return {"dtype": "float32", "shape": (4,), "names": names}

    @property
    def feedback_features(self) -> dict:
        return {}

    @property
    def is_connected(self) -> bool:
        return self.open

    def is_calibrated(self) -> bool:
        return True

    def connect(self) -> None:
        self.open, self.told = True, time.monotonic()

    def calibrate(self) -> None: ...

    def configure(self) -> None: ...

    def get_action(self) -> dict:
        return {"delta_x": 0.0, "delta_y": np.float32(0.0), "delta_z": 1.0, "gripper": 0}

    def get_teleop_events(self) -> dict:
        now = time.monotonic()
        ends = now - self.told > self.config.seconds
        self.told = now if ends else self.told
        said = dict.fromkeys(TeleopEvents, False)
        return said | {
            TeleopEvents.IS_INTERVENTION: True,
            TeleopEvents(self.config.ends): ends,
        }

    def send_feedback(self, feedback: dict) -> None: ...

    def disconnect(self) -> None:
        self.open = False
