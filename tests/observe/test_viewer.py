"""MuJoCo's viewer on a display that exists in memory only: Xvfb."""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from enpire.environment import Job, build_stations
from enpire.observe.filming import HoldStill
from enpire.store import Run
from enpire.types import Episode, Purpose

XVFB = shutil.which("Xvfb") or ""
LONG_S = 120.0  # more than a busy machine takes
SEEN = 30.0  # variation of grey from which on there is something to be seen

pytestmark = [
    pytest.mark.slow,  # what it cannot show is said: test_watch.py
    pytest.mark.skipif(not XVFB, reason="there is no Xvfb here: apt-get install xvfb"),
]


@dataclass(frozen=True, slots=True)
class Screen:
    """A display, and the file in which it keeps what it shows."""

    name: str
    memory: Path

    def picture(self) -> NDArray[np.uint8]:
        """Return what it shows now, in grey."""
        data = self.memory.read_bytes()  # an X window dump, whose header says how long it is
        head = struct.unpack(">25I", data[:100])
        size, width, height, line, colours = head[0], head[4], head[5], head[12], head[19]
        rows = np.frombuffer(data, np.uint8, height * line, size + 12 * colours)
        return rows.reshape(height, line)[:, : 4 * width].reshape(height, width, 4)[..., 1]

    def ask_to_close(self) -> None:
        """Do what a window manager does when somebody closes the viewer's window."""
        x = ctypes.CDLL("libX11.so.6")
        number = ctypes.c_ulong
        x.XOpenDisplay.restype = x.XGetInputFocus.restype = ctypes.c_void_p
        x.XInternAtom.restype = x.XDefaultRootWindow.restype = number
        display = ctypes.c_void_p(x.XOpenDisplay(self.name.encode()))
        root, parent, count = number(), number(), ctypes.c_uint()
        windows = ctypes.POINTER(number)()
        root_of = number(x.XDefaultRootWindow(display))
        x.XQueryTree(
            display,
            root_of,
            *map(ctypes.byref, (root, parent, windows, count)),
        )
        for window in windows[: count.value]:
            told = struct.pack(
                "@iLiPLLi5L",
                *(33, 0, 1, display.value or 0, window),  # a ClientMessage
                x.XInternAtom(display, b"WM_PROTOCOLS", 0),
                *(32, x.XInternAtom(display, b"WM_DELETE_WINDOW", 0), 0, 0, 0, 0),
            )
            x.XSendEvent(display, number(window), 0, ctypes.c_long(0), told.ljust(192, b"\0"))
        x.XCloseDisplay(display)


@pytest.fixture
def screen(tmp_path: Path) -> Iterator[Screen]:
    read, write = os.pipe()
    command = [XVFB, "-displayfd", str(write), "-fbdir", str(tmp_path), "-screen", "0"]
    quiet = subprocess.DEVNULL
    server = subprocess.Popen(
        [*command, "800x600x24"], pass_fds=[write], stdout=quiet, stderr=quiet
    )
    os.close(write)
    with os.fdopen(read) as told:
        name = f":{told.readline().strip()}"
    yield Screen(name, tmp_path / "Xvfb_screen0")
    server.terminate()
    server.wait(10)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with one episode, in which a policy did nothing."""
    stations = build_stations("pick_cube", 1, 1)
    stations.begin(0, Job(3, Purpose.EVALUATION, HoldStill(stations.task.actions.size), "policy-0"))
    done: list[Episode] = []
    while not done:
        done = stations.tick()
    folder = tmp_path_factory.mktemp("runs") / "run"
    with Run.create(folder, {"loop": {"task": "pick_cube", "robots": 1}}) as made:
        made.add_episodes([replace(done[0], packs=stations.packs)])
    return folder


def _close_its_window(screen: Screen, viewer: subprocess.Popen[str]) -> None:
    screen.ask_to_close()


def _press_ctrl_c(screen: Screen, viewer: subprocess.Popen[str]) -> None:
    viewer.send_signal(signal.SIGINT)


@pytest.mark.parametrize(
    ("end", "code"), [(_close_its_window, 0), (_press_ctrl_c, 130)], ids=["window", "ctrl-c"]
)
def test_an_episode_is_shown_in_a_window_until_somebody_closes_it(
    screen: Screen,
    run: Path,
    end: Callable[[Screen, subprocess.Popen[str]], None],
    code: int,
) -> None:
    environment = os.environ | {"DISPLAY": screen.name, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        [sys.executable, "-m", "enpire.cli", "replay", str(run), "evaluation"],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as viewer:
        try:
            limit = time.monotonic() + LONG_S
            while screen.picture().std() < SEEN:
                assert time.monotonic() < limit, "there was never anything to be seen"
                assert viewer.poll() is None
                time.sleep(0.2)
            said = viewer.stdout.readline() if viewer.stdout else ""
            assert said.startswith("failure"), "it has played to its end"
            assert viewer.poll() is None, "and the window stays"
            end(screen, viewer)
            _, complaints = viewer.communicate(timeout=LONG_S)
        finally:
            viewer.kill()
    assert viewer.returncode == code, complaints
    assert "Traceback" not in complaints
