"""The process of a simulated station, and what starts it anew when a fault has killed it."""

from __future__ import annotations

import argparse
import json
import select
import signal
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path
from types import FrameType
from typing import Protocol

from enpire.child_environment import child_environment
from enpire.drivers.twin import messages
from enpire.drivers.wire import Fault
from enpire.environment import load_task
from enpire.errors import EnpireError, UsageError
from enpire.json_text import loads
from enpire.packs import find, load_world
from enpire.packs.finder import unknown
from enpire.safety.pace import Pace, prepare
from enpire.safety.station import RealTimeSettings, StationFile, load_station
from enpire.simulation.cell import SimulatedCell
from enpire.simulation.faults import Faults, Plan

WIRES = ("local", "ros2")
PERIOD = 0.005  # between two looks at the wire [s]
RESTART_S = 2.0  # until a killed station is there again
READY = "ready"
TOLD = "faults.jsonl"  # in its runtime folder: what was told, over all starts


class Server(Protocol):
    """The station's end of a wire."""

    def serve(self, now: int) -> None:
        """Take what has come, and say how things are; now: monotonic ns."""

    def close(self) -> None:
        """Hang up."""


def start(station: StationFile, task: str, wire: str, plan: Plan, seed: int) -> Server:
    """A simulated station that serves; raises PackError, UsageError."""
    pack = find("tasks", task)
    loaded = load_task(pack)
    if loaded.robot != station.robot.name:
        raise UsageError(
            f"{pack.name} is for robot {loaded.robot}, {station.path.name} has {station.robot.name}"
        )
    cell = SimulatedCell(
        loaded, load_world(find("sim", loaded.world)), station.robot, seed, time.monotonic_ns
    )
    told = _told_faults(station)
    first = max((fault.number for fault in told), default=0) + 1
    faults = Faults(plan, seed, time.monotonic_ns(), first, lambda fault: _tell(station, fault))
    faults.told += told
    return _SimulatedStation(cell, faults, _server(wire, cell, station, faults))


class _SimulatedStation:
    """All of it together."""

    def __init__(self, cell: SimulatedCell, faults: Faults, server: Server) -> None:
        self._cell, self._faults, self._server = cell, faults, server

    def serve(self, now: int) -> None:
        self._faults.tick(now)
        self._cell.advance()
        self._server.serve(now)

    def close(self) -> None:
        self._server.close()


def _server(wire: str, cell: SimulatedCell, station: StationFile, faults: Faults) -> Server:
    if wire == "local":
        from enpire.simulation.local import LocalWire

        return LocalWire(cell, station, faults)
    if wire == "ros2":
        from enpire.simulation.ros2 import Ros2Server

        return Ros2Server(cell, station, faults)
    raise UsageError(unknown("wire", wire, list(WIRES)))


def _below(wish: RealTimeSettings) -> RealTimeSettings:
    """The settings for any core, and a little less urgent: the supervisor must not be held up."""
    return RealTimeSettings(None, None if wish.priority is None else max(wish.priority - 1, 1))


def _told_faults(station: StationFile) -> list[Fault]:
    path = messages.folder(station.runtime) / TOLD
    if not path.is_file():
        return []
    return [Fault(**loads(line)) for line in path.read_text().splitlines()]


def _tell(station: StationFile, fault: Fault) -> None:
    """Write it down: a station that is killed for it tells it when it is there again."""
    with (messages.folder(station.runtime) / TOLD).open("a") as file:
        file.write(json.dumps(asdict(fault)) + "\n")
    print(f"fault {fault.number}: {fault.text}", flush=True)


def keep_up(station: StationFile, task: str, wire: str, faults: str, seed: int) -> int:
    """Run a station until it ends by itself; killed, it is started again. Returns its exit code."""
    station.runtime.mkdir(mode=0o700, exist_ok=True)
    folder = messages.folder(station.runtime)
    folder.mkdir(mode=0o700, exist_ok=True)
    (folder / TOLD).unlink(missing_ok=True)
    child: subprocess.Popen[bytes] | None = None
    ended = False

    def end(number: int, frame: FrameType | None) -> None:
        nonlocal ended
        ended = True
        if child is not None:
            child.terminate()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)
    for start in range(10**9):
        words = [str(station.path), "--task", task, "--wire", wire, "--faults", faults]
        words += ["--seed", str(seed + start)]
        child = subprocess.Popen(
            [sys.executable, "-m", "enpire.simulation.process", *words],
            stdin=subprocess.PIPE,
            env=child_environment(),
            start_new_session=True,  # Ctrl-C is for this process
        )
        code = child.wait()
        if ended or code != -signal.SIGKILL:
            return 0 if ended else code
        print(f"killed; again in {RESTART_S:g} s", flush=True)
        time.sleep(RESTART_S)
    return 1


def main(argv: list[str]) -> int:
    """Run one; prints a line when it is ready, or what is wrong and ends with 1."""
    parser = argparse.ArgumentParser()
    parser.add_argument("station", type=Path)
    for name in ("task", "wire", "faults", "seed"):
        parser.add_argument(f"--{name}", required=True)
    options = parser.parse_args(argv)
    ended = False

    def end(number: int, frame: FrameType | None) -> None:
        nonlocal ended
        ended = True

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)
    try:
        station = load_station(options.station)
        server = start(
            station, options.task, options.wire, Plan.read(options.faults), int(options.seed)
        )
        prepare(_below(station.realtime))
    except EnpireError as error:
        print(f"enpire: {error}", file=sys.stderr, flush=True)
        return 1
    server.serve(time.monotonic_ns())  # the first time takes long, and no reader should see it
    print(READY, flush=True)
    owner = select.poll()
    owner.register(sys.stdin, select.POLLIN | select.POLLHUP)
    pace = Pace(PERIOD)
    while not ended and not owner.poll(0):
        pace.wait()
        server.serve(time.monotonic_ns())
    server.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
