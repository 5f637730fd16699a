"""The arms of a simulated station on this machine.

[twin]
sent = "lab.sent.csv"           # what they are sent is written there, too; default: nowhere
"""

from __future__ import annotations

from typing import TextIO

from enpire.drivers.driver import Clock, Reading, Site
from enpire.drivers.mailbox import Mailbox
from enpire.drivers.twin import messages
from enpire.errors import DriverError
from enpire.packs import Robot
from enpire.types import FloatArray

SILENT_S = 1.0  # of a simulated station that is no more


class TwinArms:
    """Arms of a robot pack in another process's MuJoCo."""

    def __init__(self, robot: Robot, clock: Clock, site: Site) -> None:
        """Drive the arms of the station whose runtime folder `site` names."""
        self._clock, self._site = clock, site
        self._axes = sum(len(arm.home) + 1 for arm in robot.arms)
        self._robot = robot.name
        self._sent: TextIO | None = None
        self._readings: Mailbox | None = None
        self._setpoints: Mailbox | None = None
        self._last: Reading | None = None

    def connect(self) -> None:
        """Raises DriverError if no simulated station runs, or one of other arms."""
        folder = messages.folder(self._site.runtime)
        hint = f"start it: enpire station sim {self._site.name}.toml --task NAME"
        try:
            self._readings = Mailbox(folder / messages.READINGS)
            self._setpoints = Mailbox(folder / messages.SETPOINTS)
        except OSError:
            raise DriverError(f"no simulated station has run here; {hint}") from None
        if self._site.settings.has("sent"):
            self._sent = open(self._site.settings.text("sent"), "w", encoding="utf-8")  # noqa: SIM115
        reading = self.read()
        if self._clock() - reading.stamp > SILENT_S * 1e9:
            raise DriverError(f"the simulated station says nothing any more; {hint}")
        if len(reading.position) != self._axes:
            raise DriverError(
                f"the simulated station has {len(reading.position)} axes, {self._robot} has "
                f"{self._axes}: it simulates another robot"
            )

    def read(self) -> Reading:
        """What it said last."""
        newest = self._readings.newest() if self._readings else None
        if newest is None:
            raise DriverError("the simulated station has said nothing yet")
        reading = messages.decode_reading(newest[1])
        if self._last is None or reading.stamp > self._last.stamp:  # they may come out of order
            self._last = reading
        return self._last

    def send(self, setpoint: FloatArray) -> None:
        """Give it a setpoint."""
        self._put(setpoint)
        if self._sent is not None:
            axes = ",".join(f"{value:.5f}" for value in setpoint)
            self._sent.write(f"{self._clock() * 1e-9:.4f},{axes}\n")

    def stop(self) -> None:
        """Have it hold."""
        self._put(None)

    def disconnect(self) -> None:
        """It goes on holding."""
        for box in (self._readings, self._setpoints):
            if box is not None:
                box.close()
        if self._sent is not None:
            self._sent.close()
        self._readings = self._setpoints = self._sent = None

    def _put(self, setpoint: FloatArray | None) -> None:
        if self._setpoints is None:
            raise DriverError("not connected")
        self._setpoints.put(messages.encode_setpoint(self._clock(), setpoint))
