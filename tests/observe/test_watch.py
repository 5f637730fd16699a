"""A station of a loop that runs, watched as it goes."""

from __future__ import annotations

import threading
from pathlib import Path

import av
import pytest

from enpire.environment import Stations, build_stations
from enpire.environment.cameras.twin_cameras import NoGraphics
from enpire.errors import UsageError
from enpire.observe.live_scene import EVERY_S, ScenePublisher, read_scenes
from enpire.observe.picture import Viewpoint
from enpire.observe.viewer import TwinViewer
from enpire.observe.watch import watch_live
from enpire.store import Run

VIEW = Viewpoint(width=96, height=64)


@pytest.fixture(scope="module")
def stations() -> Stations:
    return build_stations("pick_cube", 1, 1)


def test_a_video_keeps_pace_with_the_loop_and_ends_with_it(
    stations: Stations, tmp_path: Path
) -> None:
    shown, enough = 0, threading.Event()

    def advance() -> None:
        nonlocal shown
        shown += 1
        if shown == 3:
            enough.set()

    with Run.create(tmp_path / "run", {"loop": {"task": "pick_cube"}}) as run:
        publisher = ScenePublisher(run.folder, stations)
        publisher.__enter__()
        end = threading.Thread(target=lambda: (enough.wait(60.0), publisher.__exit__()))
        end.start()
        while read_scenes(run.folder) is None:
            enough.wait(0.01)
        try:
            watch_live(run, 0, VIEW, tmp_path / "out.mp4", advance)
        except NoGraphics as error:
            pytest.skip(str(error))
        finally:
            enough.set()
            end.join()
    with av.open(str(tmp_path / "out.mp4")) as video:
        frames = list(video.decode(video=0))
        rate = float(video.streams.video[0].average_rate or 0)
    assert rate == 1.0 / EVERY_S
    assert len(frames) >= shown >= 3
    assert (frames[0].width, frames[0].height) == (96, 64)


def test_what_cannot_be_watched_is_said(stations: Stations, tmp_path: Path) -> None:
    with Run.create(tmp_path / "run", {"loop": {"task": "pick_cube"}}) as run:
        with pytest.raises(UsageError, match="no loop runs there"):
            watch_live(run, 0, VIEW, None, lambda: None)
        with ScenePublisher(run.folder, stations):
            while read_scenes(run.folder) is None:
                pass
            with pytest.raises(UsageError, match="no station 1: 0 to 0"):
                watch_live(run, 1, VIEW, None, lambda: None)


def test_without_a_display_there_is_no_window(
    stations: Stations, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(UsageError, match=r"no display.*--video"):
        TwinViewer(stations, VIEW)
