"""A policy's process that misbehaves on command, for `enpire bench safety`: words in, stamps out.

`python -m benchmarks.faulty_policy FOLDER` moves the first joint to and fro on `go`. On a
fault's name it does that, and prints when it began; on `rest` it comes to rest, and prints how long
its setpoints took to the driver.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import numpy as np

from benchmarks.stream import Stream
from enpire.errors import SafetyError
from enpire.safety.client import StationClient
from enpire.safety.messages import SetpointRequest
from enpire.types import FloatArray

AMPLITUDE, PERIOD_S, LENGTH_S, INTERVAL_S = 0.03, 2.0, 60.0, 0.05
STALE_NS, STEP_NS = 60 * 10**6, 3600 * 10**9
FLOOD_S = 0.1
FAULTS = ("nan", "stale", "clock forward", "clock back", "flood")


class Faulty(StationClient):
    """A client whose setpoints have a fault, once one is asked for."""

    fault = ""
    began = 0

    def send(self, epoch: int, setpoint: FloatArray, rest: bool = False) -> None:
        """Write a setpoint, or what the fault makes of it."""
        now = time.monotonic_ns()
        if not self.fault:
            super().send(epoch, setpoint, rest)
            return
        self.began = self.began or now
        off = {"stale": -STALE_NS, "clock forward": STEP_NS, "clock back": -STEP_NS}
        if self.fault == "nan":
            setpoint = setpoint * np.nan
        self._wanted.put(
            SetpointRequest(epoch, now + off.get(self.fault, 0), setpoint, rest).encoded()
        )
        while self.fault == "flood" and time.monotonic_ns() - now < FLOOD_S * 1e9:
            super().send(epoch, setpoint)


def main(folder: Path) -> None:
    """Do as told until there is no more to read."""
    client = Faulty(folder)
    stream: Stream | None = None
    for line in sys.stdin:
        word = line.strip()
        if word == "go":
            client.fault, client.began = "", 0
            try:
                stream = Stream(client)
                start = client.status().sent
                times = np.arange(0, LENGTH_S, INTERVAL_S)
                # Begins at rest: half of a cosine's way to either side of nothing.
                way = AMPLITUDE * (1 - np.cos(2 * np.pi / PERIOD_S * times)) / 2
                stream.play(start + way[:, None] * np.eye(len(start))[0], INTERVAL_S)
            except SafetyError as error:  # stopped again meanwhile
                print(error, flush=True)
                continue
            print("going", flush=True)
        elif word in FAULTS:
            client.fault = word
            # A station that stops by itself meanwhile ends the stream: then nothing has begun.
            while not client.began and stream is not None and stream.running:
                time.sleep(0.001)
            print(client.began or time.monotonic_ns(), flush=True)
        elif word == "rest" and stream is not None:
            stream.close()
            print(json.dumps(stream.latencies), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
