"""A driver's stand-in for a dry run: it reads where the arms are, once, and sends them nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from enpire.drivers.driver import Clock, Driver, Reading
from enpire.types import FloatArray


class Dry:
    """A driver that moves nothing: the arms are taken to be where the last setpoint leads."""

    def __init__(self, driver: Driver, clock: Clock, show: Callable[[FloatArray], None]) -> None:
        """show: is given each setpoint, (axes,), that would have been sent."""
        self._driver, self._clock, self._show = driver, clock, show
        self._reading: Reading | None = None

    def connect(self) -> None:
        """Connect to the arms."""
        self._driver.connect()

    def read(self) -> Reading:
        """The reading of arms that would be there."""
        if self._reading is None:
            first = self._driver.read()
            self._reading = replace(first, velocity=np.zeros_like(first.velocity))
        self._reading = replace(self._reading, stamp=self._clock())
        return self._reading

    def send(self, setpoint: FloatArray) -> None:
        """Show it."""
        self._show(setpoint)
        self._reading = replace(self.read(), position=setpoint)

    def stop(self) -> None:
        """The arms do not move."""

    def disconnect(self) -> None:
        """Disconnect from the arms."""
        self._driver.disconnect()
