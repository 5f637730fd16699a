"""Pictures of stations, drawn when somebody looks."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from enpire.dashboard import lazy_thread, live_pictures
from enpire.dashboard.lazy_thread import LazyThread
from enpire.dashboard.live_pictures import LivePictures, ScenePainter
from enpire.errors import EnpireError
from enpire.store import Run

RUN = Path("run")
LONG_S = 60.0  # more than a busy machine takes


@pytest.fixture(autouse=True)
def no_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lazy_thread, "SHARE", 1.0)


@pytest.fixture
def drawn() -> list[int]:
    return []


@pytest.fixture
def pictures(drawn: list[int]) -> Iterator[LivePictures]:
    def draw(folder: Path, station: int) -> bytes | None:
        drawn.append(station)
        return f"{station}".encode() if station < 2 else None

    thread = LazyThread()
    yield LivePictures(thread, draw)
    thread.close()


def test_who_asks_soon_after_another_gets_the_same_picture(
    pictures: LivePictures, drawn: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert [pictures.picture(RUN, 0).result(LONG_S) for _ in range(3)] == [b"0"] * 3
    assert pictures.picture(RUN, 1).result(LONG_S) == b"1"
    assert pictures.picture(RUN, 2).result(LONG_S) is None
    assert drawn == [0, 1, 2]
    monkeypatch.setattr(live_pictures, "FRESH_S", -1.0)
    assert pictures.picture(RUN, 0).result(LONG_S) == b"0"
    assert drawn == [0, 1, 2, 0]


def test_what_is_being_drawn_is_not_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_pictures, "FRESH_S", -1.0)
    go = threading.Event()
    thread = LazyThread()
    pictures = LivePictures(thread, lambda folder, station: b"x" if go.wait(LONG_S) else None)
    first, second = pictures.picture(RUN, 0), pictures.picture(RUN, 0)
    assert first is second
    go.set()
    assert first.result(LONG_S) == b"x"
    thread.close()


def test_the_thread_rests_for_its_share_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lazy_thread, "SHARE", 0.25)
    clock = iter([0.1, 0.5])  # it begins, and ends
    rested: list[float] = []
    monkeypatch.setattr(lazy_thread.time, "monotonic", lambda: next(clock))
    thread = LazyThread()
    monkeypatch.setattr(thread._over, "wait", rested.append)
    assert thread.submit(lambda: 3).result(LONG_S) == 3
    thread._thread.shutdown()
    assert rested == [lazy_thread.MOST_S * 3.0]


def test_what_fails_is_said_to_who_asked() -> None:
    thread = LazyThread()
    with pytest.raises(ZeroDivisionError):
        thread.submit(lambda: 1 // 0).result(LONG_S)
    assert thread.submit(lambda: 3).result(LONG_S) == 3
    thread.close()


def test_who_waits_is_told_when_the_thread_ends() -> None:
    go, begun = threading.Event(), threading.Event()
    thread = LazyThread()
    under_way = thread.submit(lambda: begun.set() or go.wait(LONG_S))
    waiting = thread.submit(lambda: 3)
    begun.wait(LONG_S)
    thread.close()
    for future in (under_way, waiting):
        with pytest.raises(EnpireError, match="ends"):
            future.result(LONG_S)
    go.set()


def test_what_is_drawn_with_is_given_back_by_the_thread_that_took_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """OpenGL has it so."""
    threads: list[int] = []
    ended = threading.Event()

    class Camera:
        def close(self) -> None:
            threads.append(threading.get_ident())
            ended.set()

    def draw(self: ScenePainter, folder: Path, station: int) -> bytes:
        threads.append(threading.get_ident())
        self._loaded[folder] = live_pictures.LoadedScene(copy=None, camera=Camera())  # type: ignore[arg-type]
        return b"x"

    monkeypatch.setattr(ScenePainter, "__call__", draw)
    pictures = LivePictures(LazyThread())
    pictures.picture(RUN, 0).result(LONG_S)
    pictures.close()
    assert ended.wait(LONG_S)
    assert threads[0] == threads[1] != threading.get_ident()


def test_a_run_without_scenes_has_no_picture(tmp_path: Path) -> None:
    with Run.create(tmp_path / "run", {"loop": {"task": "pick_cube"}}) as run:
        assert ScenePainter()(run.folder, 0) is None
