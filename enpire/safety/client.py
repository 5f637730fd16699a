"""The policy's side: chunks in, a setpoint for every period of the supervisor out.

A thread writes each setpoint shortly before the supervisor looks, so that it waits for nothing, and
so that two looks after a policy's last sign of life its heartbeat has lapsed.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from enpire.drivers.mailbox import Mailbox
from enpire.errors import SafetyError
from enpire.safety.machine import ACTIVE, Mode
from enpire.safety.messages import Status, Wanted
from enpire.types import FloatArray

LEAD_S = 0.00025  # a setpoint is written before the supervisor looks
AFTER_S = 0.001  # after its look: by then it has said what it sent
RESTS = 3  # periods in which rest was asked for: the supervisor has seen the last setpoint before
GONE_S = 0.2  # without a status: no supervisor runs


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


class Client:
    """What a policy holds of a station: two mailboxes."""

    def __init__(self, folder: Path) -> None:
        """Open them; folder: of the station's runtime. Raises SafetyError if nothing is there."""
        try:
            self._wanted = Mailbox(folder / "wanted")
            self._status = Mailbox(folder / "status")
        except OSError as error:
            raise SafetyError(f"no supervisor has been on this station: {error}") from error

    def status(self) -> Status:
        """What the supervisor said last; raises SafetyError if it says nothing any more."""
        newest = self._status.newest()
        if newest is None:
            raise SafetyError("the supervisor has said nothing yet")
        status = Status.decoded(newest[1])
        if time.monotonic_ns() - status.stamp > GONE_S * 1e9:
            raise SafetyError("the supervisor has said nothing for a while")
        return status

    def send(self, epoch: int, setpoint: FloatArray, rest: bool = False) -> None:
        """Write one setpoint, (axes,), stamped now."""
        self._wanted.put(Wanted(epoch, time.monotonic_ns(), setpoint, rest).encoded())


def wait_for_look(status: Status) -> None:
    """Until shortly before the supervisor looks for a setpoint, the next time after `status`."""
    time.sleep(max(status.deadline * 1e-9 - LEAD_S - time.monotonic(), 0.0))


def wait_after_look(status: Status) -> None:
    """Until a little after that, when its next status is there."""
    time.sleep(max(status.deadline * 1e-9 - time.monotonic(), 0.0) + AFTER_S)


class Stream:
    """Streams chunks to an armed station, from a thread, until the station stops or it is closed.

    Between chunks the last setpoint stands.
    """

    def __init__(self, client: Client) -> None:
        """Begin at the setpoint where the arms are; raises SafetyError if they are not armed."""
        status = client.status()
        if status.mode is not Mode.ARMED:
            raise SafetyError(f"the station is {status.mode.name.lower()}, not armed")
        self._client, self._epoch = client, status.epoch
        self._chunk = Chunk(0, 1.0, status.sent[None].copy())
        self._resting = threading.Event()
        self.latencies: list[int] = []
        self.ended: Status | None = None
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
