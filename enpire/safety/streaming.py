"""A station's streamer: a setpoint a control period in, one for every period of the supervisor out.

`python -m enpire.safety.streaming STATION.toml` is a process of its own, so that a harness that is
busy with something else for a while lets no heartbeat lapse. It vouches for nobody: when the next
setpoint does not come it brings the arms to rest at the last one, and once they rest there is no
heartbeat to miss. It ends with its owner.
"""

from __future__ import annotations

import argparse
import select
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

from enpire.child_environment import child_environment
from enpire.drivers.mailbox import Mailbox
from enpire.errors import EnpireError, SafetyError
from enpire.safety.blend import Segment
from enpire.safety.client import LEAD_S, RESTS, StationClient, wait_after_look, wait_for_look
from enpire.safety.machine import Mode
from enpire.safety.messages import SupervisorStatus, TimedSetpoint
from enpire.safety.pace import prepare
from enpire.safety.pursuit import Pursuit
from enpire.safety.station import StationFile, load_station
from enpire.types import FloatArray

KNOTS = "knots"
READY = "ready"
WAITS = 100  # periods that the supervisor, which may slow down, has to come to the end
LATE = 2.0  # times a knot's own seconds, after which it moves nothing any more


class Curve:
    """What is to be sent, given the supervisor's status and the newest knot."""

    def __init__(self, pursuit: Pursuit) -> None:
        self._pursuit = pursuit
        self._segment: Segment | None = None
        self._epoch, self._rests, self._waits = 0, 0, 0

    def next(
        self, status: SupervisorStatus, knot: TimedSetpoint | None, now: int
    ) -> tuple[FloatArray, bool] | None:
        """The setpoint of now, and whether it asks for rest; None while there is nothing to send.

        knot: one that has not been seen before.
        """
        if status.mode not in (Mode.ARMED, Mode.MOVING) or status.epoch != self._epoch:
            self._segment, self._epoch = None, status.epoch
            self._pursuit.rest()
        if knot is not None and self._counts(knot, status, now):
            before = self._segment or Segment.at_rest(status.sent)
            self._segment = before.towards(now, knot.setpoint, knot.seconds)
            self._rests = self._waits = 0
        segment = self._segment
        if segment is None:
            return None
        if segment.over(now):
            if segment.still:
                return self._rest(segment, status)
            segment = self._segment = segment.to_rest(now)
        return self._pursuit.next(segment.at(now)[0], status.sent, status.deadline), False

    def _counts(self, knot: TimedSetpoint, status: SupervisorStatus, now: int) -> bool:
        fresh = 0 <= now - knot.stamp < LATE * knot.seconds * 1e9
        return knot.epoch == status.epoch and status.mode in (Mode.ARMED, Mode.MOVING) and fresh

    def _rest(self, segment: Segment, status: SupervisorStatus) -> tuple[FloatArray, bool] | None:
        """Stand at the end until the supervisor has come to rest there, too."""
        if self._rests >= RESTS and status.mode is Mode.ARMED:
            self._segment = None
            self._pursuit.rest()
            return None
        self._waits += 1
        there = abs(status.sent - segment.end).max() < 1e-9 or self._waits > WAITS
        self._rests += there
        return self._pursuit.next(segment.end, status.sent, status.deadline), there


def run(station: StationFile) -> None:
    """Stream until the owner is gone."""
    client = StationClient(station.runtime)
    knots = Mailbox(station.runtime / KNOTS)
    owner = select.poll()
    owner.register(sys.stdin, select.POLLIN | select.POLLHUP)
    curve, seen, done = Curve(Pursuit(station.limits, station.period)), 0, 0
    while not owner.poll(0):
        try:
            status = client.status()
        except SafetyError:  # between two supervisors
            time.sleep(station.period)
            continue
        if status.deadline == done:  # one setpoint for each of its looks
            time.sleep(LEAD_S)
            continue
        done = status.deadline
        wait_for_look(status)
        newest = knots.newest()
        fresh = newest is not None and newest[0] != seen
        knot = TimedSetpoint.decoded(newest[1]) if newest is not None and fresh else None
        seen = newest[0] if newest is not None else 0
        wanted = curve.next(status, knot, time.monotonic_ns())
        if wanted is not None:
            client.send(status.epoch, *wanted)
        wait_after_look(status)


class Streaming:
    """A streamer's process, as its owner has it; the supervisor must be up."""

    def __init__(self, station: StationFile) -> None:
        """Start it; raises SafetyError with what it says if it does not come up."""
        Mailbox.make(station.runtime / KNOTS)
        self._knots = Mailbox(station.runtime / KNOTS)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "enpire.safety.streaming", str(station.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=child_environment(),
            start_new_session=True,  # Ctrl-C is for its owner
        )
        said = self.process.stdout.readline().strip() if self.process.stdout else ""
        if said != READY:
            self.close()
            raise SafetyError(f"the streamer of {station.path} does not start: {said}")

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return self.process.poll() is None

    def put(self, knot: TimedSetpoint) -> None:
        """Go to a setpoint next."""
        self._knots.put(knot.encoded())

    def close(self) -> None:
        """End it; the arms come to rest by the supervisor."""
        try:
            self.process.communicate(timeout=5.0)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()


def main(argv: list[str]) -> int:
    """Run one; prints a line when it is ready, or what is wrong and ends with 1."""
    parser = argparse.ArgumentParser()
    parser.add_argument("station", type=Path)
    options = parser.parse_args(argv)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        station = load_station(options.station)
        prepare(replace(station.realtime, cpu=None))  # the core is the supervisor's
    except EnpireError as error:
        print(error, flush=True)
        return 1
    print(READY, flush=True)
    run(station)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
