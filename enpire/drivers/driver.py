"""What a supervisor needs of an arm, or of two: to read it, to send it setpoints, to stop it.

Axes: arm after arm as in `robot.toml`, of each its joints [rad] and then its gripper, in the unit
of its `gripper_range`. All arrays over axes have the shape (axes,).
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, runtime_checkable

from enpire.packs.toml import Table
from enpire.real_path import real_path
from enpire.types import FloatArray, Image

Clock = Callable[[], int]  # nanoseconds of the machine's monotonic clock, which nobody can set


def runtime_folder(station: Path) -> Path:
    """Folder of a station's sockets and shared memory, of this user and boot; each process's."""
    root = os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir()
    name = hashlib.sha256(str(real_path(station)).encode()).hexdigest()[:16]
    return Path(root) / f"enpire-{os.getuid()}-{name}"


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """What the arms said of themselves."""

    stamp: int  # when it was measured, ns of the monotonic clock of this machine
    # position, velocity: (axes,)
    position: FloatArray
    velocity: FloatArray
    effort: FloatArray  # (axes,), torques [N m] or forces [N]
    force: FloatArray  # at each wrist, (arms, 3) [N]. What an arm does not measure is NaN


@dataclass(frozen=True, slots=True)
class Site:
    """The place where a driver works."""

    name: str = "station"
    runtime: Path = Path()  # folder of the station's sockets and shared memory
    # The driver's own, those of the robot's `drivers.toml` under those of the station file.
    settings: Table = field(default_factory=lambda: Table({}, "driver settings"))


class Driver(Protocol):
    """Arms that hold the last setpoint they were sent.

    Every call returns within a fraction of a control period, or raises DriverError: a driver that
    has to wait for its bus does so in a thread of its own, and `read` gives the newest that came.
    """

    def connect(self) -> None:
        """Open the bus; nothing moves. Raises DriverError."""

    def read(self) -> Reading:
        """The newest reading, with the stamp of its measurement, however old."""

    def send(self, setpoint: FloatArray) -> None:
        """Send a setpoint, (axes,)."""

    def stop(self) -> None:
        """Hold where the arms are, now, by their own means; earlier setpoints count no more."""

    def disconnect(self) -> None:
        """Close the bus; the arms go on holding."""


@dataclass(frozen=True, slots=True, eq=False)
class Picture:
    """What a camera saw."""

    stamp: int  # ns of the monotonic clock
    image: Image  # (height, width, 3), RGB
    # By how much the camera's clock had the picture later than it came [ns]; it counts as taken
    # when it came then.
    ahead: int = 0


@runtime_checkable
class CameraDriver(Protocol):
    """A driver whose arms come with cameras."""

    def pictures(self) -> Mapping[str, Picture]:
        """The newest picture of each camera, by its name, however old; returns at once."""
