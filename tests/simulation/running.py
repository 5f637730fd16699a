"""A simulated station in a process of its own, for as long as a test wants it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from enpire.safety.station import StationFile, load_station
from enpire.simulation.process import READY

LONG_S = 60.0  # more than a busy machine takes to end a station


def written(folder: Path, name: str, driver: str, more: str = "") -> StationFile:
    """A station of the arm that tasks of the tests have."""
    path = folder / f"{name}.toml"
    path.write_text(f'driver = "{driver}"\nrobot = "so101"\n{more}\n')
    return load_station(path)


def realtime() -> str:
    """Of a station's file: before all others on a busy machine, where that is allowed."""
    before = os.sched_getscheduler(0), os.sched_getparam(0)
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
        os.sched_setscheduler(0, *before)
    except PermissionError:
        return ""
    return "[realtime]\npriority = 50\n"


def lerobots(folder: Path, more: str = "") -> StationFile:
    """A station whose simulated arm is reached through LeRobot's interface."""
    config = f'[lerobot.config]\nstation = "{folder / "lab.toml"}"\n'
    config += f'calibration_dir = "{folder / "calibration"}"\n'
    return written(
        folder,
        "lab",
        "lerobot",
        f'wire = "twin"\n[lerobot]\ntype = "enpire_simulated"\n{config}{more}{realtime()}',
    )


@contextmanager
def simulated(station: StationFile, faults: str = "", seed: int = 0) -> Iterator[subprocess.Popen]:
    """It, once it serves; it ends with the block, or with this process."""
    station.runtime.mkdir(mode=0o700, exist_ok=True)
    wire = "ros2" if station.wire == "ros2" else "local"
    words = ["--task", "pick_cube", "--wire", wire, "--faults", faults, "--seed", str(seed)]
    process = subprocess.Popen(
        [sys.executable, "-m", "enpire.simulation.process", str(station.path), *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline().strip() == READY
        yield process
    finally:
        try:
            process.communicate(timeout=LONG_S)  # without an owner it ends, and leaves nothing
        finally:
            process.kill()
            process.wait()
