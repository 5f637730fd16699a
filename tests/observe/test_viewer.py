"""MuJoCo's viewer on a display that exists in memory only: Xvfb."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

XVFB = shutil.which("Xvfb") or ""
SCRIPT = """
from enpire.environment import build_stations
from enpire.observe.picture import Viewpoint
from enpire.observe.viewer import TwinViewer

with TwinViewer(build_stations("pick_cube", 1, 1), Viewpoint()) as viewer:
    for _ in range(10):
        viewer.show(0.05)
print("shown")
"""

pytestmark = [
    pytest.mark.slow,  # what it cannot show is said: test_watching.py
    pytest.mark.skipif(not XVFB, reason="there is no Xvfb here: apt-get install xvfb"),
]


def test_a_window_shows_a_station_and_closes() -> None:
    read, write = os.pipe()
    command = [XVFB, "-displayfd", str(write), "-screen", "0", "800x600x24"]
    quiet = subprocess.DEVNULL
    server = subprocess.Popen(command, pass_fds=[write], stdout=quiet, stderr=quiet)
    os.close(write)
    try:
        with os.fdopen(read) as told:
            display = f":{told.readline().strip()}"
        environment = os.environ | {"DISPLAY": display, "PYTHONPATH": os.pathsep.join(sys.path)}
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    finally:
        server.terminate()
        server.wait(10)
    assert (done.returncode, done.stdout.strip()) == (0, "shown"), done.stderr
