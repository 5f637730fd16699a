"""The thread that owns a LeRobot robot: its calls wait for a bus, and no two may be made at once.

It reads as often as the bus allows, at most at `RATE`, and sends the newest setpoint as soon as the
read under way is over. To hold, it reads where the arms are and sends them that.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import Any

import numpy as np

from enpire.drivers.driver import Clock, Picture, Reading
from enpire.drivers.lerobot.axes import Axes
from enpire.errors import DriverError
from enpire.types import Flags, FloatArray

RATE = 200.0  # of readings at most [Hz]
PATIENCE_S = 0.5  # a bus that errs for longer is broken; watchdogs stop the arms long before
VELOCITY_S = 0.04  # velocities are differences over it: a servo counts 4096 steps a turn
END_S = 2.0  # for the read under way, when all is to end


class Bus:
    """A connected LeRobot robot, read and sent to by a thread of its own."""

    def __init__(self, robot: Any, axes: Axes, grippers: Flags, arms: int, clock: Clock) -> None:
        """Read once, so that there is a reading; raises DriverError if that fails.

        grippers: which axes are theirs, (axes,); they go on holding what they hold.
        """
        self._robot, self._axes, self._grippers, self._arms = robot, axes, grippers, arms
        self._clock = clock
        self._changed = threading.Condition()
        self._wanted: FloatArray | None = None
        self._sent: FloatArray | None = None
        self._holding = self._ending = False
        self._error: Exception | None = None
        self._since = clock()  # when something last went well
        self._past: deque[tuple[int, FloatArray]] = deque()
        self.pictures: dict[str, Picture] = {}  # the newest of each of the robot's cameras, by name
        try:
            self._look()
        except Exception as error:  # a vendor's library raises what it likes
            raise DriverError(f"{robot} is connected, but cannot be read: {error}") from error
        self._thread = threading.Thread(target=self._run, name="lerobot bus", daemon=True)
        self._thread.start()

    @property
    def reading(self) -> Reading:
        """The newest; raises DriverError once the bus has erred, or hung, for `PATIENCE_S`."""
        late = self._clock() - self._since > PATIENCE_S * 1e9
        if late or not self._thread.is_alive():
            raise DriverError(f"{self._robot}: {self._error or 'the bus does not answer'}")
        return self._reading

    def send(self, setpoint: FloatArray) -> None:
        """Send it, (axes,), after the read under way, unless a newer one comes before."""
        with self._changed:
            self._wanted = np.array(setpoint, np.float64)
            self._changed.notify()

    def hold(self) -> None:
        """Send the arms where they are; what was to be sent before is not."""
        with self._changed:
            self._wanted, self._holding = None, True
            self._changed.notify()

    def close(self) -> None:
        """End the thread, after what was asked for; raises DriverError if the bus hangs."""
        with self._changed:
            self._ending = True
            self._changed.notify()
        self._thread.join(END_S)
        if self._thread.is_alive():
            raise DriverError(f"{self._robot} does not answer: its bus is left open")

    def _run(self) -> None:
        next_look = 0
        while True:
            with self._changed:
                while not (self._holding or self._ending or self._wanted is not None):
                    left = (next_look - self._clock()) * 1e-9
                    if left <= 0:
                        break
                    self._changed.wait(left)
                holding, wanted = self._holding, self._wanted
                self._holding, self._wanted = False, None
                if self._ending and not holding and wanted is None:
                    return
            next_look = self._clock() + round(1e9 / RATE)
            try:
                if holding:
                    self._hold()
                if wanted is not None:
                    self._send(wanted)
                self._look()
            except Exception as error:  # a vendor's library raises what it likes
                self._error = error
                with self._changed:  # a hold is tried until it was sent, or something newer wanted
                    self._holding |= holding and self._wanted is None
                    self._changed.wait(1 / RATE)
            else:
                self._error, self._since = None, self._clock()

    def _hold(self) -> None:
        try:
            self._look()
        finally:  # if it cannot be read now, where it was a moment ago
            here = self._reading.position
            last = here if self._sent is None else self._sent
            self._send(np.where(self._grippers, last, here))

    def _send(self, setpoint: FloatArray) -> None:
        self._robot.send_action(self._axes.theirs(setpoint))
        self._sent = setpoint

    def _look(self) -> None:
        stamp = self._clock()  # before it: nothing read is older than it says
        seen = self._robot.get_observation()
        position = self._axes.ours(seen)
        self._past.append((stamp, position))
        while len(self._past) > 2 and stamp - self._past[1][0] > VELOCITY_S * 1e9:
            self._past.popleft()
        first, before = self._past[0]
        elapsed = (stamp - first) * 1e-9
        velocity = (position - before) / elapsed if elapsed > 0 else np.zeros_like(position)
        unknown = np.full_like(position, np.nan)
        force = np.full((self._arms, 3), np.nan)
        self.pictures = {
            name: Picture(stamp, value)
            for name, value in seen.items()
            if isinstance(value, np.ndarray) and value.ndim == 3 and value.shape[2] == 3
        }
        self._reading = Reading(stamp, position, velocity, unknown, force)
