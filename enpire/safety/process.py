"""The supervisor's process: `python -m enpire.safety.process STATION.toml --dry-run`.

It ends when its standard input does, that is, with whoever started it: brakes, holds, then ends.
"""

from __future__ import annotations

import argparse
import select
import signal
import sys
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path
from types import FrameType

import numpy as np

from enpire.drivers import WIRES, CameraDriver, Driver, build
from enpire.drivers.commands import Commands
from enpire.drivers.dry import Dry
from enpire.drivers.mailbox import Beats, Mailbox
from enpire.errors import EnpireError, SafetyError
from enpire.safety.geometry import Geometry
from enpire.safety.lock import take
from enpire.safety.machine import ACTIVE
from enpire.safety.pace import Pace, prepare
from enpire.safety.permit import Permit, permit
from enpire.safety.recorder import Recorder
from enpire.safety.rules import GateRule
from enpire.safety.station import StationFile, load_station
from enpire.safety.supervisor import Liveness, Supervisor
from enpire.types import FloatArray

WANTED, STATUS, BEATS = "wanted", "status", "beats"
END_S = 5.0  # for braking, when all is to end
READY = "ready"
EMERGENCY = "emergency"


class SupervisorProcess:
    """One supervisor with its mailboxes, its socket and its pace."""

    def __init__(
        self, station: StationFile, driver: Driver, camera_driver: CameraDriver | None = None
    ) -> None:
        """Take the station; raises SafetyError if another supervisor has it.

        camera_driver: the driver, if the station's cameras are its own.
        """
        folder = station.runtime
        self._lock = take(station)
        watched = len(station.cameras) + 1
        Mailbox.make(folder / WANTED)
        Mailbox.make(folder / STATUS)
        Beats.make(folder / BEATS, watched)
        self._status = Mailbox(folder / STATUS)
        self._driver, self._station, self._camera_driver = driver, station, camera_driver
        self._beats = Beats(folder / BEATS, watched)
        geometry = Geometry(station.robot, station.limits, station.boxes)
        arms = len(station.robot.arms)
        self._recorder = Recorder(station.records, len(station.park), arms, station.period)
        driver.connect()
        self.supervisor = Supervisor(
            driver,
            station.limits,
            geometry,
            Mailbox(folder / WANTED),
            self._recorder,
            station.park,
            time.monotonic_ns,
            station.period,
            Liveness(
                station.ages,
                self._beats,
                tuple(range(len(station.cameras))),
                len(station.cameras) if station.verifier else None,
            ),
        )
        self.supervisor.tick()
        self._status.put(self.supervisor.status(time.monotonic_ns()).encoded())
        self._commands = Commands(folder, self._answer)
        self._ending = 0

    def run(self) -> None:
        """Run until the owner is gone or asks for the end, and the arms hold."""
        owner = select.poll()
        owner.register(sys.stdin, select.POLLIN | select.POLLHUP)
        pace = Pace(self._station.period)
        try:
            while not self._end_requested():
                pace.wait()
                if not self._ending and owner.poll(0):
                    self.end(GateRule.OWNER)
                self._commands.serve()
                self._see()
                self.supervisor.tick()
                self._status.put(self.supervisor.status(pace.deadline).encoded())
        finally:  # also of a fault of ours: the arms hold by their own means
            if self.supervisor.mode in ACTIVE:
                self._driver.stop()
            self._recorder.wait()
            self._commands.close()
            self._driver.disconnect()

    def end(self, rule: GateRule) -> None:
        """Stop for a rule, then end."""
        self._ending = self._ending or time.monotonic_ns()
        self.supervisor.stop(rule)

    def _end_requested(self) -> bool:
        if not self._ending:
            return False
        late = time.monotonic_ns() - self._ending > END_S * 1e9
        return late or self.supervisor.mode not in ACTIVE

    def _see(self) -> None:
        """Say when each camera of the driver's took its newest picture."""
        if self._camera_driver is None:
            return
        pictures = self._camera_driver.pictures()
        for k, camera in enumerate(self._station.cameras):
            if camera in pictures:
                self._beats.beat(k, pictures[camera].stamp)

    def _answer(self, word: str) -> dict[str, object]:
        supervisor = self.supervisor
        does: dict[str, Callable[[], None]] = {
            "arm": supervisor.arm,
            "recover": supervisor.recover,
            "park": supervisor.park,
            "disarm": supervisor.disarm,
            "episode": supervisor.episode,
            "clear": supervisor.clear,
            "stop": supervisor.stop,
            EMERGENCY: lambda: supervisor.stop(GateRule.EMERGENCY),
            "end": lambda: self.end(GateRule.ASKED),
        }
        if word != "status" and word not in does:
            raise SafetyError(f"a supervisor knows no {word!r}")
        if self._ending and word in ("arm", "recover", "park"):
            raise SafetyError("the supervisor is about to end")
        if word in does:
            does[word]()
        return {
            "mode": supervisor.mode.name.lower(),
            "rules": supervisor.rules.names,
            "epoch": supervisor.epoch,
        }


def main(argv: list[str]) -> int:
    """Run one; prints a line when it is ready, or what is wrong and ends with 1."""
    parser = argparse.ArgumentParser()
    parser.add_argument("station", type=Path)
    parser.add_argument("--confirm-motion", action="store_true")
    parser.add_argument("--dry-run", action="store_true")
    options = parser.parse_args(argv)
    try:
        station = load_station(options.station)
        # The local day is a person's: no time of the wall clock is used for anything else.
        may = permit(station, options.confirm_motion, options.dry_run, date.today())
        driver = build(station.driver, station.robot, time.monotonic_ns, station.site)
        camera_driver: CameraDriver | None = None
        if isinstance(driver, CameraDriver) and station.wire not in WIRES:
            camera_driver = driver
        if may is Permit.DRY:
            driver = Dry(driver, time.monotonic_ns, _show)
        process = SupervisorProcess(station, driver, camera_driver)
        prepare(station.realtime)
    except EnpireError as error:
        print(error, flush=True)
        return 1

    def asked(number: int, frame: FrameType | None) -> None:
        process.end(GateRule.ASKED)

    signal.signal(signal.SIGTERM, asked)
    signal.signal(signal.SIGINT, asked)
    print(READY, flush=True)
    process.run()
    return 0


def _show(setpoint: FloatArray) -> None:
    print(np.array2string(setpoint, precision=4, max_line_width=1000), file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
