"""A dry run of a whole loop: the station's own limits and supervisor, and a twin for its arms."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory

import tomli_w

from enpire.child_environment import child_environment
from enpire.drivers import DRIVERS, build
from enpire.errors import SafetyError
from enpire.safety.check import check
from enpire.safety.permit import write_passed
from enpire.safety.station import StationFile, load_station
from enpire.simulation.process import READY

LEFT_OUT = (*DRIVERS, "wire", "calibration")
CAMERAS = "cameras"
SENT = ".sent.csv"  # beside the station's file


@contextmanager
def rehearsal(station: StationFile, task: str, seen: bool = False) -> Iterator[StationFile]:
    """A simulated station with the limits of `station`, until the block ends.

    Nobody connects to the station's own arms. What they would be sent is in `.sent.csv` beside its
    file: monotonic seconds, then the axes [rad, or the gripper's unit]. seen: with the cameras that
    the file names, which are then those of the task's world.

    Raises:
        SafetyError: the simulation does not start, or the station's limits do not let it move.
    """
    with TemporaryDirectory(prefix="enpire-dry-") as folder:
        path = Path(folder) / station.path.name
        said = tomllib.loads(station.path.read_text())
        left_out = LEFT_OUT if seen else (*LEFT_OUT, CAMERAS)
        kept = {key: value for key, value in said.items() if key not in left_out}
        sent = str(station.path.with_suffix(SENT))
        path.write_text(tomli_w.dumps({**kept, "driver": "twin", "twin": {"sent": sent}}))
        simulated = load_station(path)
        with _simulated(simulated, task):
            arms = build("twin", simulated.robot, time.monotonic_ns, simulated.site)
            findings = check(simulated, arms)
            wrong = [f"{each.name}: {each.found}" for each in findings if not each.good]
            if wrong:
                raise SafetyError(f"{station.path}, on a twin, is not fit to move: {wrong[0]}")
            write_passed(simulated, date.today(), ())
            yield simulated


@contextmanager
def _simulated(station: StationFile, task: str) -> Iterator[None]:
    """Start its process, which ends with this one, too."""
    station.runtime.mkdir(mode=0o700, exist_ok=True)
    words = ["--task", task, "--wire", "local", "--faults", "", "--seed", "0"]
    process = subprocess.Popen(
        [sys.executable, "-m", "enpire.simulation.process", str(station.path), *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=child_environment(),
        start_new_session=True,  # Ctrl-C is for its owner
    )
    try:
        if process.stdout is None or process.stdout.readline().strip() != READY:
            raise SafetyError("the twin of a dry run does not start: see above")
        yield
    finally:
        process.communicate()  # its standard input ends, and so does it
        shutil.rmtree(station.runtime, ignore_errors=True)
