"""A simulated station behind the wire of its own machine: mailboxes, and a socket for the rest."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from enpire.drivers.commands import Commands
from enpire.drivers.mailbox import Mailbox
from enpire.drivers.twin import messages
from enpire.errors import SafetyError
from enpire.simulation.cell import Cell
from enpire.simulation.faults import Faults

AT_ONCE = 16  # faults in an answer, which is not endless


class LocalWire:
    """The station's end of `enpire.drivers.twin`."""

    def __init__(self, cell: Cell, runtime: Path, faults: Faults) -> None:
        """Serve in a station's runtime folder."""
        folder = messages.folder(runtime)
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

    def close(self) -> None:
        """Hang up."""
        self._commands.close()

    def _answer(self, word: str) -> dict[str, object]:
        try:
            asked = json.loads(word)
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
            "operate": lambda: _done(lambda: cell.operate(tuple(asked["on"]))),
            "place": lambda: _done(lambda: cell.place(np.array(asked["variation"], np.float64))),
            "vary": lambda: _done(lambda: cell.vary(np.array(asked["variation"], np.float64))),
            "placed": lambda: {"placed": cell.placed, "failed": cell.failed},
            "emergency": lambda: _done(lambda: cell.emergency(bool(asked["pressed"]))),
            "faults": faults,
        }


def _done(do: Callable[[], None]) -> dict[str, object]:
    do()
    return {}
