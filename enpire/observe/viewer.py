"""MuJoCo's own viewer on a station of a twin; it needs a display."""

from __future__ import annotations

import os
import sys
import threading
import time

from enpire.closing import Closing
from enpire.environment import Stations
from enpire.errors import UsageError
from enpire.observe.picture import Viewpoint, around

CLOSE_S = 5.0  # that a window may take to be gone


class WindowClosed(Exception):
    """Somebody has closed the viewer's window."""


class TwinViewer(Closing):
    """A window on one station; a `with` block."""

    def __init__(self, stations: Stations, view: Viewpoint) -> None:
        """Open it, with what the task tracks in the middle; the mouse moves the camera from there.

        Raises:
            UsageError: there is no display.
        """
        screens = "DISPLAY", "WAYLAND_DISPLAY"
        if sys.platform.startswith("linux") and not any(os.environ.get(name) for name in screens):
            raise UsageError("there is no display for a window: give --video OUT.mp4")
        import mujoco.viewer

        self._stations = stations
        model, data = stations.twin.simulation(0)
        before = set(threading.enumerate())
        self._viewer = mujoco.viewer.launch_passive(
            model, data, show_left_ui=False, show_right_ui=False
        )
        self._drawing = set(threading.enumerate()) - before
        camera, mine = around(data, stations.task.tracked, view), self._viewer.cam
        mine.lookat[:] = camera.lookat
        mine.distance, mine.azimuth = camera.distance, camera.azimuth
        mine.elevation = camera.elevation
        self._due = time.monotonic()

    def close(self) -> None:
        """Close the window, if nobody has, and wait until it is gone."""
        self._viewer.close()
        for thread in self._drawing:  # one that is cut off while it draws has the process crash
            thread.join(CLOSE_S)

    def show(self, period: float = 0.0) -> None:
        """Show the station as it is now, `period` seconds after the last time, or at once.

        Raises:
            WindowClosed: nobody sees it any more.
        """
        if not self._viewer.is_running():
            raise WindowClosed
        with self._viewer.lock():
            self._stations.twin.simulation(0)
        self._viewer.sync()
        self._due = max(self._due + period, time.monotonic())
        time.sleep(max(0.0, self._due - time.monotonic()))
