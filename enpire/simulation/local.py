"""A simulated station behind the wire of its own machine: mailboxes, and a socket for the rest."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from enpire.drivers.commands import Commands
from enpire.drivers.driver import Picture
from enpire.drivers.mailbox import Beats, Mailbox
from enpire.drivers.twin import messages
from enpire.environment.cameras.camera import Camera, CameraView
from enpire.errors import SafetyError
from enpire.json_text import loads
from enpire.safety.station import StationFile
from enpire.simulation.cell import SimulatedCell
from enpire.simulation.faults import Faults
from enpire.simulation.pictures import Pictures

AT_ONCE = 16  # faults in an answer, which is not endless
LOOKED_S = 2.0  # after a look at a camera, in which it takes pictures

Sent = tuple[str, bytes]  # a camera, and its message


class LocalWire:
    """The station's end of `enpire.drivers.twin`."""

    def __init__(self, cell: SimulatedCell, station: StationFile, faults: Faults) -> None:
        """Serve in the station's runtime folder.

        Raises:
            NoGraphics, UsageError: its file names cameras, and there is no OpenGL or no such one.
        """
        folder = messages.folder(station.runtime)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        names = (messages.READINGS, messages.SETPOINTS, messages.OBJECTS)
        for name in names:
            if not (folder / name).exists():  # else a driver may still hold it
                Mailbox.make(folder / name)
        self._readings, self._setpoints, self._objects = (Mailbox(folder / n) for n in names)
        newest = self._setpoints.newest()
        self._seen = newest[0] if newest else 0
        self._cell, self._faults = cell, faults
        self._period = -1
        self._boxes: dict[str, Mailbox] = {}
        self._looked: dict[str, Beats] = {}
        self._pictures: Pictures[list[Sent]] | None = None
        if station.cameras:
            self._pictures = Pictures(cell.twin, station.cameras, self._pictured)
            for camera in station.cameras:
                self._open(folder, self._pictures.cameras[camera])
        self._commands = Commands(folder, self._answer)

    def serve(self, now: int) -> None:
        """Take what has come, and say how things are; now: monotonic ns."""
        self._commands.serve()
        newest = self._setpoints.newest()
        if newest is not None and newest[0] != self._seen:
            self._seen = newest[0]
            self._faults.commands.put(now, messages.decode_setpoint(newest[1])[1])
        for setpoint in self._faults.commands.due(now):
            if setpoint is None:
                self._cell.stop()
            else:
                self._cell.send(setpoint)
        self._faults.readings.put(now, self._cell.reading())
        for reading in self._faults.readings.due(now):
            self._readings.put(messages.encode_reading(self._faults.lied(reading)))
        period = now // round(self._cell.period * 1e9)
        if period != self._period:
            self._period = period
            self._faults.objects.put(now, self._cell.objects())
        for objects in self._faults.objects.due(now):
            self._objects.put(messages.encode_objects(objects))
        if self._pictures is not None and any(map(self._watched, self._boxes)):
            for sent in self._pictures.take(now, self._cell.measured) or ():
                self._faults.pictures.put(now, sent)
        for camera, message in self._faults.pictures.due(now):
            self._boxes[camera].put(message)

    def close(self) -> None:
        """Hang up."""
        if self._pictures is not None:
            self._pictures.close()
        self._commands.close()

    def _open(self, folder: Path, camera: Camera) -> None:
        """Open its mailbox, and see when somebody last looked; who looks may hold them already."""
        name = camera.name
        box, looked = folder / f"{messages.PICTURES}{name}", folder / f"{messages.WATCHED}{name}"
        size = messages.picture_size(camera.height, camera.width)
        if not box.exists() or Mailbox(box).body != size:
            Mailbox.make(box, size)
        if not looked.exists():
            Beats.make(looked, 1)
        self._boxes[name], self._looked[name] = Mailbox(box), Beats(looked, 1)

    def _watched(self, camera: str) -> bool:
        return time.monotonic_ns() - self._looked[camera].stamp(0) < LOOKED_S * 1e9

    def _pictured(self, views: list[CameraView], measured: int) -> list[Sent]:
        """Messages for those who look, in the renderer's thread."""
        return [
            (view.camera.name, messages.encode_picture(Picture(measured, view.image)))
            for view in views
            if view.camera.name in self._boxes and self._watched(view.camera.name)
        ]

    def _answer(self, word: str) -> dict[str, object]:
        try:
            asked = loads(word)
            return self._does(asked)[asked["ask"]]()
        except (ValueError, KeyError, TypeError) as error:
            raise SafetyError(f"a simulated station cannot do {word!r}: {error}") from error

    def _does(self, asked: dict[str, Any]) -> dict[str, Callable[[], dict[str, object]]]:
        cell = self._cell

        def faults() -> dict[str, object]:
            told = [asdict(f) for f in self._faults.told if f.number > asked["since"]]
            return {"faults": told[:AT_ONCE]}

        return {
            "hello": lambda: {"task": cell.task.name},
            "operate": lambda: _done_answer(lambda: cell.operate(tuple(asked["on"]))),
            "set_initial_state": lambda: _done_answer(
                lambda: cell.set_initial_state(np.array(asked["variation"], np.float64))
            ),
            "randomize_physics": lambda: _done_answer(
                lambda: cell.randomize_physics(np.array(asked["variation"], np.float64))
            ),
            "placed": lambda: {"placed": cell.placed, "failed": cell.failed},
            "emergency": lambda: _done_answer(lambda: cell.emergency(bool(asked["pressed"]))),
            "faults": faults,
        }


def _done_answer(do: Callable[[], None]) -> dict[str, object]:
    do()
    return {}
