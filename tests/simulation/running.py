"""A simulated station in a process of its own, for as long as a test wants it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from enpire.safety.station import StationFile, load_station
from enpire.simulation.process import READY


def written(folder: Path, name: str, driver: str, more: str = "") -> StationFile:
    """A station of the arm that tasks of the tests have."""
    path = folder / f"{name}.toml"
    path.write_text(f'driver = "{driver}"\nrobot = "so101"\n{more}\n')
    return load_station(path)


@contextmanager
def simulated(station: StationFile, faults: str = "", seed: int = 0) -> Iterator[subprocess.Popen]:
    """It, once it serves; it ends with the block, or with this process."""
    station.runtime.mkdir(mode=0o700, exist_ok=True)
    wire = "ros2" if station.driver == "ros2" else "local"
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
        process.kill()
        process.communicate()
