"""Tracker, fixture and simulator of a simulated station on this machine."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import numpy as np

from enpire.drivers.commands import Caller
from enpire.drivers.driver import Clock, Picture, Site
from enpire.drivers.mailbox import Beats, Mailbox
from enpire.drivers.twin import messages
from enpire.drivers.wire import Fault, Objects
from enpire.errors import DriverError, ResetFailed, SafetyError, UsageError
from enpire.types import FloatArray

TRIES = 5


class _CameraMailbox:
    """A camera's mailbox, and its newest picture, which is read and decoded once."""

    def __init__(self, folder: Path, camera: str, clock: Clock) -> None:
        self._box = Mailbox(folder / f"{messages.PICTURES}{camera}")
        self._looked, self._clock = Beats(folder / f"{messages.WATCHED}{camera}", 1), clock
        self._newest: tuple[int, Picture] | None = None

    def picture(self) -> Picture | None:
        self._looked.beat(0, self._clock())
        if self._newest is None or self._box.number() != self._newest[0]:
            found = self._box.newest()
            if found is not None:
                self._newest = found[0], messages.decode_picture(found[1])
        return None if self._newest is None else self._newest[1]


class TwinWire:
    """See `Wire`. A simulated station that is away for a while is called again."""

    simulated = True

    def __init__(self, site: Site, clock: Clock) -> None:
        """Raises DriverError if no simulated station runs."""
        self._clock = clock
        self._cameras: dict[str, _CameraMailbox] = {}
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
        """See `Wire`; as long as its pictures are asked for, a camera takes some."""
        for camera in cameras:
            try:
                self._cameras[camera] = _CameraMailbox(self._folder, camera, self._clock)
            except OSError:
                raise UsageError(
                    f"the simulated station has no camera {camera}: it has those that its file "
                    "named when it was started; start it again"
                ) from None

    def picture(self, camera: str) -> Picture | None:
        """See `Wire`."""
        watched = self._cameras.get(camera)
        return None if watched is None else watched.picture()

    def faults(self) -> list[Fault]:
        """See `Wire`."""
        try:
            told = self._ask("faults", since=self._faults)["faults"]
        except DriverError:  # it is away: another time
            return []
        found = [Fault(**one) for one in told]
        self._faults = max((fault.number for fault in found), default=self._faults)
        return found

    def set_initial_state(self, variation: FloatArray) -> None:
        """See `Wire`."""
        self._ask("set_initial_state", variation=np.asarray(variation).tolist())

    def randomize_physics(self, variation: FloatArray) -> None:
        """See `Wire`."""
        self._ask("randomize_physics", variation=np.asarray(variation).tolist())

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
