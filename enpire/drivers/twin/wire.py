"""Tracker, fixture and simulator of a simulated station on this machine."""

from __future__ import annotations

import json
import threading
from typing import Any

import numpy as np

from enpire.drivers.commands import Caller
from enpire.drivers.driver import Site
from enpire.drivers.mailbox import Mailbox
from enpire.drivers.twin import messages
from enpire.drivers.wire import Fault, Objects
from enpire.errors import DriverError, ResetFailed, SafetyError, UsageError
from enpire.types import FloatArray, Image

TRIES = 5


class TwinWire:
    """See `Wire`. A simulated station that is away for a while is called again."""

    simulated = True

    def __init__(self, site: Site) -> None:
        """Raises DriverError if no simulated station runs."""
        self._folder = messages.folder(site.runtime)
        self._caller: Caller | None = None
        self._faults = 0
        self._asking = threading.Lock()
        self._on: tuple[str, ...] = ()
        try:
            self._objects = Mailbox(self._folder / messages.OBJECTS)
        except OSError:
            raise DriverError(
                f"no simulated station has run here: enpire station sim {site.name}.toml"
            ) from None
        self._greet()

    def objects(self) -> Objects | None:
        """See `Wire`."""
        newest = self._objects.newest()
        return None if newest is None else messages.decode_objects(newest[1])

    def operate(self, on: tuple[str, ...]) -> None:
        """See `Wire`."""
        if on != self._on:
            self._ask("operate", on=list(on))
            self._on = on

    def watch(self, cameras: tuple[str, ...]) -> None:
        """There are no cameras on this wire."""
        raise UsageError("shared memory carries no pictures: cameras need ros2")

    def picture(self, camera: str) -> tuple[int, Image] | None:
        """As above."""
        return None

    def faults(self) -> list[Fault]:
        """See `Wire`."""
        try:
            told = self._ask("faults", since=self._faults)["faults"]
        except DriverError:  # it is away: another time
            return []
        found = [Fault(**one) for one in told]
        self._faults = max((fault.number for fault in found), default=self._faults)
        return found

    def place(self, variation: FloatArray) -> None:
        """See `Wire`."""
        self._ask("place", variation=np.asarray(variation).tolist())

    def vary(self, variation: FloatArray) -> None:
        """See `Wire`."""
        self._ask("vary", variation=np.asarray(variation).tolist())

    @property
    def placed(self) -> bool:
        """See `Wire`."""
        answer = self._ask("placed")
        if answer["failed"]:
            raise ResetFailed(str(answer["failed"]))
        return bool(answer["placed"])

    def close(self) -> None:
        """See `Wire`."""
        if self._caller is not None:
            self._caller.close()
            self._caller = None

    def _greet(self) -> None:
        """A machine that is busy may have it answer late, at first."""
        for left in reversed(range(TRIES)):
            try:
                self._ask("hello")
                return
            except DriverError:
                if not left:
                    raise

    def _ask(self, what: str, **values: object) -> dict[str, Any]:
        with self._asking:
            try:
                if self._caller is None:
                    self._caller = Caller(self._folder, "simulated station")
                return self._caller.ask(json.dumps({"ask": what, **values}))
            except SafetyError as error:
                self.close()
                raise DriverError(str(error)) from error
