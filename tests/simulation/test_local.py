"""A simulated station's pictures through shared memory, while somebody looks."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from enpire.drivers.twin import messages
from enpire.drivers.twin.wire import TwinWire
from enpire.environment.cameras.camera import coloured
from enpire.environment.cameras.twin_cameras import NoGraphics
from enpire.errors import UsageError
from enpire.safety.station import StationFile
from enpire.simulation import local
from enpire.simulation.cell import SimulatedCell
from enpire.simulation.faults import Faults, Plan
from enpire.simulation.local import LocalWire
from tests.simulation.running import written
from tests.simulation.test_cell import cell

WAIT_S = 120.0


@pytest.fixture
def station(tmp_path, monkeypatch) -> StationFile:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    made = written(tmp_path, "left", "twin", 'cameras = ["front"]')
    made.runtime.mkdir(mode=0o700)
    return made


@pytest.fixture
def served(station) -> Iterator[tuple[SimulatedCell, LocalWire]]:
    """Its end of the wire, that a thread serves."""
    one, _ = cell()
    try:
        server = LocalWire(one, station, Faults(Plan(), 0, time.monotonic_ns()))
    except NoGraphics as error:
        pytest.skip(str(error))
    server.serve(time.monotonic_ns())  # the first time takes long
    over = threading.Event()

    def serve() -> None:
        while not over.wait(0.005):
            server.serve(time.monotonic_ns())

    thread = threading.Thread(target=serve)
    thread.start()
    yield one, server
    over.set()
    thread.join()
    server.close()


def until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + WAIT_S
    while not holds():
        assert time.monotonic() < end, "it never came about"
        time.sleep(0.01)


def quiet(wire: TwinWire) -> bool:
    """Whether no picture comes for a while."""
    box = wire._cameras["front"]._box
    before = box.number()
    time.sleep(0.5)
    return box.number() == before


def test_pictures_come_while_somebody_looks(station, served, monkeypatch) -> None:
    one, server = served
    wire = TwinWire(station.scenery, time.monotonic_ns)
    try:
        assert wire.picture("front") is None  # nobody watches
        wire.watch(("front",))
        until(lambda: wire.picture("front") is not None)
        first = wire.picture("front")
        assert first is not None
        assert first.stamp == one.measured
        (view,) = [c for c in server._pictures.verifier_cameras.cameras if c.name == "front"]
        cube = view.project(one.twin.site_xpos[0, one.twin.model.site("task_cube").id])
        shown = coloured(local.CameraView(view, first.image, 0.0), (-15.0, 15.0), 100.0)
        assert shown.points.mean(axis=0) == pytest.approx(cube, abs=4.0)
        assert not first.image.flags.writeable
        until(lambda: wire.picture("front") is not first)
        with pytest.raises(UsageError, match="no camera side"):
            wire.watch(("side",))
        monkeypatch.setattr(local, "LOOKED_S", 0.0)
        until(lambda: quiet(wire))
    finally:
        wire.close()


def test_a_camera_that_the_world_has_not_is_refused(station, tmp_path) -> None:
    other = written(tmp_path, "other", "twin", 'cameras = ["fornt"]')
    other.runtime.mkdir(mode=0o700)
    try:
        with pytest.raises(UsageError, match="did you mean front"):
            LocalWire(cell()[0], other, Faults(Plan(), 0, time.monotonic_ns()))
    except NoGraphics as error:
        pytest.skip(str(error))


def test_a_picture_is_the_same_after_the_way() -> None:
    image = np.random.default_rng(0).integers(0, 256, (3, 5, 3), dtype=np.uint8)
    body = messages.encode_picture(local.Picture(7, image))
    assert len(body) == messages.picture_size(3, 5)
    there = messages.decode_picture(body)
    assert (there.stamp, there.ahead) == (7, 0)
    assert (there.image == image).all()
