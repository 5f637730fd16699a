"""Pictures of stations as they are now, drawn by the dashboard when somebody looks.

Who asks waits in turn, and all who ask for one picture wait for it together.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import cv2

from enpire.closing import Closing
from enpire.dashboard.lazy_thread import LazyThread
from enpire.errors import EnpireError
from enpire.store import Run

if TYPE_CHECKING:
    from enpire.observe.filming import TwinCamera
    from enpire.observe.live_scene import LiveScenes, SceneCopy

SIZE = (384, 240)  # width and height [px]
DISTANCE, LIFT = 0.5, 0.04  # of the camera from what is tracked; above it, for the hand [m]
FRESH_S = 1.5  # age up to which a picture is shown again
QUALITY = 85  # of JPEG
MOST = 4  # tasks that are kept loaded

Draw = Callable[[Path, int], bytes | None]


@dataclass(slots=True)
class LoadedScene:
    """A task, loaded to be drawn."""

    copy: SceneCopy
    camera: TwinCamera


class ScenePainter(Closing):
    """Draws stations; all of it belongs to the thread that calls, `close` too."""

    def __init__(self) -> None:
        """Nothing is loaded yet."""
        self._loaded: dict[Path, LoadedScene | None] = {}

    def __call__(self, folder: Path, station: int) -> bytes | None:
        """Return a station of a run as a JPEG file; None where there is nothing to be seen."""
        from enpire.observe.live_scene import read_scenes

        scenes = read_scenes(folder)
        if scenes is None or not 0 <= station < scenes.stations:
            return None
        try:
            return self._drawn(folder, scenes, station)
        except EnpireError:  # other packs than those that are here, or no OpenGL
            if folder in self._loaded:
                self._unload(folder)
            self._loaded[folder] = None
            return None

    def close(self) -> None:
        """Let go of all that is loaded."""
        while self._loaded:
            self._unload(next(iter(self._loaded)))

    def _unload(self, folder: Path) -> None:
        loaded = self._loaded.pop(folder)
        if loaded is not None:
            loaded.camera.close()

    def _drawn(self, folder: Path, scenes: LiveScenes, station: int) -> bytes | None:
        if folder not in self._loaded:
            while len(self._loaded) >= MOST:
                self._unload(next(iter(self._loaded)))
            self._loaded[folder] = self._load(folder)
        loaded = self._loaded[folder]
        if loaded is None:
            return None
        loaded.copy.take(scenes, station)
        loaded.camera.aim()
        bgr = loaded.camera.picture()[..., ::-1]  # OpenCV takes blue first
        return cv2.imencode(".jpg", bgr, [cv2.IMWRITE_JPEG_QUALITY, QUALITY])[1].tobytes()

    def _load(self, folder: Path) -> LoadedScene:
        from enpire.observe.filming import TwinCamera
        from enpire.observe.live_scene import SceneCopy
        from enpire.observe.picture import Viewpoint

        with Run.glance(folder) as run:
            copy = SceneCopy(run)
        width, height = SIZE
        view = Viewpoint(distance=DISTANCE, width=width, height=height, lift=LIFT)
        return LoadedScene(copy, TwinCamera(copy.stations, view))


class LivePictures(Closing):
    """Has pictures drawn for who asks."""

    def __init__(self, thread: LazyThread, draw: Draw | None = None) -> None:
        """thread: that draws. draw: by a `ScenePainter`, unless given."""
        self._painter = ScenePainter()
        self._draw = draw or self._painter
        self._lock = threading.Lock()
        self._newest: dict[tuple[Path, int], tuple[float, Future[bytes | None]]] = {}
        self._thread = thread

    def close(self) -> None:
        """Let go of what pictures are drawn with, and of the thread, which does so itself."""
        self._thread.close(self._painter.close)

    def picture(self, folder: Path, station: int) -> Future[bytes | None]:
        """Return a JPEG file of a station of a run, once it is drawn; None for none."""
        key, now = (folder, station), time.monotonic()
        with self._lock:
            known = self._newest.get(key)
            if known is None or (known[1].done() and now - known[0] > FRESH_S):
                drawn = self._thread.submit(lambda: self._draw(folder, station))
                known = self._newest[key] = now, drawn
        return known[1]
