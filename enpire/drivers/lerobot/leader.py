"""A LeRobot teleoperator in a person's hand, read by a thread of its own.

[lerobot.teleoperator]          # in drivers.toml, or in the station's file
type = "so101_leader"
[lerobot.teleoperator.config]
port = "/dev/ttyACM1"
id = "leader"

A `Leader` is a leader arm, whose motors are called as the arm's. `Deltas` says how a hand is to
move, as LeRobot's `gamepad` does. Others are not understood.
"""

from __future__ import annotations

import inspect
import threading
from typing import Any, NoReturn

import numpy as np

from enpire.drivers.driver import Clock, Reading
from enpire.drivers.lerobot.axes import Axes
from enpire.drivers.lerobot.bus import Bus
from enpire.drivers.lerobot.making import make_teleoperator
from enpire.errors import DriverError, PackError
from enpire.packs import Robot
from enpire.packs.toml import Table
from enpire.types import FloatArray

MOVES = ("delta_x", "delta_y", "delta_z")  # of a full action, in [-1, 1]
GRIPPER = "gripper"  # 0 to close it, 1 to leave it, 2 to open it
STAY = 1.0
INTERVENES = "is_intervention"  # of LeRobot's TeleopEvents, one that lasts
EVENTS = ("success", "terminate_episode", "rerecord_episode")  # and those that are said once


class Teleoperator:
    """A device as a `Bus` reads a robot: what it wants is where it is."""

    def __init__(self, device: Any, axes: Axes, arms: int, clock: Clock) -> None:
        """device: LeRobot's, not connected. axes: that are read of it, of so many arms."""
        self.device, self._axes, self._arms, self._clock = device, axes, arms, clock
        self._bus: Bus | None = None

    def connect(self) -> None:
        """Open its bus and begin to read; raises DriverError."""
        device = self.device
        # LeRobot's gamepad takes no `calibrate`, and its keyboard says None of its calibration.
        takes = "calibrate" in inspect.signature(device.connect).parameters
        try:
            device.connect(**({"calibrate": False} if takes else {}))
            uncalibrated = device.is_calibrated is False
        except Exception as error:  # a vendor's library raises what it likes
            raise DriverError(f"{device} cannot be connected: {error}") from error
        if uncalibrated:
            device.disconnect()
            raise DriverError(f"{device} is not calibrated: lerobot-calibrate")
        grippers = np.zeros(len(self._axes.keys), bool)
        self._bus = Bus(self, self._axes, grippers, self._arms, self._clock)

    def read(self) -> Reading:
        """What it wants, (axes,); raises DriverError if it is lost."""
        if self._bus is None:
            raise DriverError(f"{self.device} is not connected")
        return self._bus.reading

    def disconnect(self) -> None:
        """Close its bus."""
        if self._bus is not None:
            bus, self._bus = self._bus, None
            bus.close()
            self.device.disconnect()

    def get_observation(self) -> dict[str, Any]:
        """For the bus."""
        wanted: dict[str, Any] = self.device.get_action()
        return wanted

    def send_action(self, action: dict[str, Any]) -> NoReturn:
        """For the bus, which is told to send nothing."""
        raise DriverError("a teleoperator is sent nothing")

    def __str__(self) -> str:
        return str(self.device)


class Leader(Teleoperator):
    """A leader arm, read by its motors; its axes are those of the arm that follows."""


class Deltas(Teleoperator):
    """How one hand is to move: dx, dy, dz, and -1 to close, 0 to leave, 1 to open the gripper."""

    def __init__(self, device: Any, clock: Clock) -> None:
        """Without a gripper it leaves it."""
        keys = (*MOVES, GRIPPER)
        super().__init__(device, Axes(keys, np.ones(4), np.array([0.0, 0.0, 0.0, -STAY])), 1, clock)
        self.speaks = hasattr(device, "get_teleop_events")  # whether it says what `EVENTS` are
        self.intervenes = False
        self._said: set[str] = set()
        self._lock = threading.Lock()

    def get_observation(self) -> dict[str, Any]:
        """For the bus; what is said meanwhile is kept."""
        wanted = {GRIPPER: STAY, **super().get_observation()}
        if self.speaks:
            events = {key.value: bool(is_so) for key, is_so in self._events().items()}
            with self._lock:
                self._said |= {name for name in EVENTS if events.get(name)}
                self.intervenes = events.get(INTERVENES, False)
        return {key: wanted[key] for key in self._axes.keys}

    def take_events(self) -> set[str]:
        """Those of `EVENTS` that came since it was last asked."""
        with self._lock:
            said, self._said = self._said, set()
            return said

    def _events(self) -> dict[Any, Any]:
        """The events by LeRobot's enumeration `TeleopEvents`."""
        found: dict[Any, Any] = self.device.get_teleop_events()
        return found


def make_leader(robot: Robot, clock: Clock, settings: Table) -> Leader:
    """The one of `settings`, a driver's; not connected.

    Raises:
        PackError: settings are wrong or missing.
        DriverError: it is no leader of this arm, or LeRobot cannot make it.
    """
    made = make_device(robot, clock, settings)
    if not isinstance(made, Leader):
        raise DriverError(f"{made} is no leader arm: it does not say where motors are")
    return made


def make_device(robot: Robot, clock: Clock, settings: Table) -> Leader | Deltas:
    """The one of `settings`, a driver's; robot: what a leader is built as. Raises as `make_leader`.

    A leader without `[[lerobot.axes]]`, of which nobody knows what its motors are, is a PackError.
    """
    if not settings.has("teleoperator"):
        raise PackError(f"{settings.where}: no table teleoperator: which one is it?")
    said = settings.table("teleoperator")
    config = said.mapping("config") if said.has("config") else {}
    device = make_teleoperator(said.text("type"), config, said.where)
    features = device.action_features
    says = features.get("names", features)
    if set(MOVES) <= set(says):
        return Deltas(device, clock)
    if not settings.has("axes"):
        raise PackError(
            f"{settings.where}: no [[lerobot.axes]]: what do the motors of {device} stand for? "
            "docs/lerobot-arms.md"
        )
    axes = Axes.read(settings.tables("axes"))
    missing = set(axes.keys) - set(says)
    if missing:
        raise DriverError(f"{device} does not say {', '.join(sorted(missing))}")
    return Leader(device, axes, len(robot.arms), clock)


def split(robot: Robot, axes: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Joint angles (arms, dof) and grippers (arms,) of `axes`, (axes,), as a `Leader` reads."""
    each = axes.reshape(len(robot.arms), -1)
    return each[:, :-1], each[:, -1]
