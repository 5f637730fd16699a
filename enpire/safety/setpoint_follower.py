"""An armed station that is told where to go, a setpoint at a time, by who is no loop.

As in the loop, what it is told goes to a streamer's process, which sends the supervisor setpoints:
whoever tells may be held up, and the arms come to rest meanwhile.
"""

from __future__ import annotations

import time
from contextlib import ExitStack

import numpy as np

from enpire.drivers import WIRES
from enpire.drivers.mailbox import Beats
from enpire.errors import SafetyError
from enpire.safety.cameras import Showing, opened
from enpire.safety.client import StationClient
from enpire.safety.machine import Mode
from enpire.safety.messages import SupervisorStatus, TimedSetpoint
from enpire.safety.process import BEATS
from enpire.safety.station import StationFile
from enpire.safety.streaming import LATE, Streaming
from enpire.types import FloatArray

EVERY_S = 0.02  # between two setpoints that are told
REST_S = 10.0  # in which the arms come to rest
POLL_S = 0.01


class SetpointFollower:
    """Follows setpoints up to a stop; a new one begins after somebody has recovered the station."""

    def __init__(self, station: StationFile, client: StationClient) -> None:
        """Start its streamer.

        Raises:
            SafetyError: the arms are not armed.
            DriverError, UsageError: the station's file names cameras that are not there.
        """
        status = client.status()
        if status.mode is not Mode.ARMED:
            raise SafetyError(f"the station is {status.mode.name.lower()}, not armed")
        self._client, self._epoch, self._told = client, status.epoch, 0
        self._period, self._cameras = station.period, station.cameras
        self._showing: Showing | None = None
        with ExitStack() as opening:
            if station.cameras and station.wire in WIRES:  # else they are the driver's
                self._showing = opening.enter_context(opened(station))
            self._beats = Beats(station.runtime / BEATS, len(station.cameras) + 1)
            self._streaming = Streaming(station)
            opening.callback(self._streaming.close)
            self._opened = opening.pop_all()

    def go(self, setpoint: FloatArray) -> None:
        """Go to a setpoint, (axes,), within EVERY_S, and on to the next if it comes by then.

        Raises:
            SafetyError: the station has stopped, and why.
        """
        self._status()
        self._told = time.monotonic_ns()
        self._beats.beat(len(self._cameras), self._told)  # nobody judges: who tells is there
        if self._showing is not None:
            for k, camera in enumerate(self._cameras):
                picture = self._showing.picture(camera)
                self._beats.beat(k, 0 if picture is None else picture.stamp)
        self._streaming.put(TimedSetpoint(self._epoch, self._told, EVERY_S, np.asarray(setpoint)))

    def rest(self) -> None:
        """Wait until the arms stand still where they were told to go; raises as `go`."""
        # What the streamer has not begun by then it never does; the supervisor then moves soon.
        begin = self._told + round((LATE * EVERY_S + 5 * self._period) * 1e9)
        end = time.monotonic_ns() + round(REST_S * 1e9)
        while self._status().mode is not Mode.ARMED or time.monotonic_ns() < begin:
            if time.monotonic_ns() > end:
                raise SafetyError(f"the arms do not come to rest in {REST_S:g} s")
            time.sleep(POLL_S)

    def close(self) -> None:
        """End the streamer; arms that still move come to rest by the supervisor."""
        self._opened.close()

    def _status(self) -> SupervisorStatus:
        status = self._client.status()
        if status.epoch != self._epoch or status.mode not in (Mode.ARMED, Mode.MOVING):
            said = ", ".join(status.rules.names) or status.mode.name.lower()
            raise SafetyError(f"the station stopped: {said}")
        if not self._streaming.alive:
            raise SafetyError("the streamer has ended")
        return status
