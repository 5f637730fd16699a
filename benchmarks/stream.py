"""A process that writes its setpoints itself, from a thread: what a supervisor is measured with.

Whoever has arms move has a streamer's process for it (`enpire/safety/streaming.py`). Here who
writes is who is killed, is frozen or errs, and says when it wrote what.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass

import numpy as np

from enpire.errors import SafetyError
from enpire.safety.client import LEAD_S, RESTS, StationClient, wait_after_look, wait_for_look
from enpire.safety.machine import ACTIVE, Mode
from enpire.safety.messages import SupervisorStatus
from enpire.types import FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Chunk:
    """Setpoints, (n, axes), one every `interval` seconds, the first of them at `begin` [ns]."""

    begin: int
    interval: float
    setpoints: FloatArray

    def at(self, now: int) -> FloatArray:
        """The setpoint of a time, straight between two; before the first it, after the last it."""
        place = (now - self.begin) * 1e-9 / self.interval
        place = min(max(place, 0.0), len(self.setpoints) - 1.0)
        first = min(int(place), len(self.setpoints) - 2) if len(self.setpoints) > 1 else 0
        last = min(first + 1, len(self.setpoints) - 1)
        way = self.setpoints[last] - self.setpoints[first]
        result: FloatArray = self.setpoints[first] + (place - first) * way
        return result


class Stream:
    """Streams chunks to an armed station, from a thread, until the station stops or it is closed.

    Between chunks the last setpoint stands.
    """

    def __init__(self, client: StationClient) -> None:
        """Begin at the setpoint where the arms are; raises SafetyError if they are not armed."""
        status = client.status()
        if status.mode is not Mode.ARMED:
            raise SafetyError(f"the station is {status.mode.name.lower()}, not armed")
        self._client, self._epoch = client, status.epoch
        self._chunk = Chunk(0, 1.0, status.sent[None].copy())
        self._resting = threading.Event()
        self.latencies: list[int] = []
        self.ended: SupervisorStatus | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def play(self, setpoints: FloatArray, interval: float) -> None:
        """Go through setpoints, (n, axes), the first now, one every `interval` seconds.

        They take the place of what is left of the chunk before. Raises SafetyError if the station
        has stopped: a new stream begins after somebody has recovered it.
        """
        if self.ended is not None:
            raise SafetyError(f"the station stopped: {', '.join(self.ended.rules.names)}")
        self._chunk = Chunk(time.monotonic_ns(), interval, np.array(setpoints, np.float64))

    @property
    def running(self) -> bool:
        """Whether it still sends: the station has not stopped."""
        return self._thread.is_alive()

    def close(self) -> None:
        """Come to rest; returns once the arms stand still."""
        self._resting.set()
        self._thread.join()

    def _run(self) -> None:
        seen, done, asked = 0, 0, 0
        while True:
            try:
                status = self._client.status()
            except SafetyError:
                return
            if status.latency >= 0 and status.stamp != seen:
                seen = status.stamp
                self.latencies.append(status.latency)
            rested = asked >= RESTS and status.mode is Mode.ARMED
            if status.epoch != self._epoch or status.mode not in ACTIVE or rested:
                self.ended = status
                return
            if status.deadline == done:  # one setpoint for each of its looks
                time.sleep(LEAD_S)
                continue
            done = status.deadline
            wait_for_look(status)
            now = time.monotonic_ns()
            rest = self._resting.is_set()
            asked += rest
            self._client.send(self._epoch, self._chunk.at(now), rest)
            wait_after_look(status)
