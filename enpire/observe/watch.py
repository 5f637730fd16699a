"""A station of a loop that runs, watched as it goes: in a window, or as a video."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from enpire.errors import UsageError
from enpire.observe.contact_sheet import captioned
from enpire.observe.filming import TwinCamera, VideoFile
from enpire.observe.live_scene import EVERY_S, SceneCopy, read_scenes
from enpire.observe.picture import Viewpoint
from enpire.observe.status import read_status
from enpire.observe.viewer import TwinViewer, WindowClosed
from enpire.store import Run


def watch_live(
    run: Run, station: int, view: Viewpoint, video: Path | None, advance: Callable[[], None]
) -> None:
    """Show a station until its loop ends, its window is closed, or Ctrl-C.

    Args:
        run: open for reading.
        station: its number.
        view: of the scene.
        video: where a video of it goes; None opens a window.
        advance: called after each picture.

    Raises:
        UsageError: no loop runs there, it has no such station, or there is no display.
        NoGraphics: there is no OpenGL by EGL for a video.
    """
    scenes = read_scenes(run.folder)
    if scenes is None:
        raise UsageError(
            f"{run.folder} has no station to watch: no loop runs there, or its stations are "
            "on other machines"
        )
    if station >= scenes.stations:
        raise UsageError(f"{run.folder} has no station {station}: 0 to {scenes.stations - 1}")
    copy = SceneCopy(run)
    copy.take(scenes, station)
    if video is not None:
        _film(run, copy, station, view, video, advance)
        return
    with TwinViewer(copy.stations, view) as viewer, suppress(WindowClosed, KeyboardInterrupt):
        for _ in _moments(run, copy, station):
            viewer.show(EVERY_S)
            advance()


def _moments(run: Run, copy: SceneCopy, station: int) -> Iterator[None]:
    """Yield whenever the copy lies as the station does now, until its loop ends."""
    while (scenes := read_scenes(run.folder)) is not None:
        copy.take(scenes, station)
        yield


def _film(
    run: Run,
    copy: SceneCopy,
    station: int,
    view: Viewpoint,
    path: Path,
    advance: Callable[[], None],
) -> None:
    rate = 1.0 / EVERY_S
    with (
        TwinCamera(copy.stations, view) as camera,
        VideoFile(path, rate, view.width, view.height) as video,
        suppress(KeyboardInterrupt),
    ):
        began, shown, job = time.monotonic(), 0, None
        for _ in _moments(run, copy, station):
            caption, now = _caption(run, station)
            if now != job:  # the camera stays for an episode
                camera.aim()
                job = now
            image = captioned(camera.picture(), caption)
            # As often as it takes to keep the video in time, however long a picture takes.
            due = int((time.monotonic() - began) * rate) + 1
            for _ in range(due - shown):
                video.add(image)
            shown = max(shown, due)
            time.sleep(max(0.0, began + shown * EVERY_S - time.monotonic()))
            advance()


def _caption(run: Run, station: int) -> tuple[str, str]:
    """Return what a station does, for a person, and the id of its episode."""
    status = read_status(run.folder)
    found = [one for one in status.stations if one.number == station] if status else []
    if not found or not found[0].job:
        return f"station {station}: {found[0].doing if found else 'unknown'}", ""
    one = found[0]
    return f"station {station}: {one.policy}, {one.purpose}, {one.since_s:.1f} s", one.job
