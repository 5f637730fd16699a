"""How the scenes of a loop's stations lie right now, in a file of its run, to be drawn elsewhere.

A loop draws nothing. It keeps what a picture needs, poses and what varies of its models, in a
mailbox of the run's folder, some times a second. Another process loads the same task, takes these
over, and draws. Stations with arms are shown where they were measured; what they handle is not.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import safetensors.numpy
from numpy.typing import NDArray
from safetensors import SafetensorError

from enpire.drivers.mailbox import Mailbox
from enpire.environment import StationBackend, Stations, build_stations
from enpire.errors import StoreError, UsageError
from enpire.packs.finder import GYM
from enpire.store import Run
from enpire.store.layout import SCENES
from enpire.twin import Twin

EVERY_S = 0.1  # between two messages
FRESH_S = 3.0  # age from which on scenes are those of a process that has died or hangs
ROOM = 4096  # bytes beside the first message, twice as long: later ones may say more
AT = "at"


@dataclass(frozen=True, slots=True)
class LiveScenes:
    """The scenes of all stations at one moment."""

    at: float  # when, Unix time [s]
    # What a picture needs, as `Twin.drawn` has it, a row per station.
    drawn: Mapping[str, NDArray[Any]]

    @property
    def stations(self) -> int:
        """How many there are."""
        return len(self.drawn["qpos"])


class ScenePublisher:
    """Keeps the scenes of stations in a file of a run, from a thread of its own; a `with` block.

    It does nothing for stations without a twin in this process. A disk without room ends it.
    """

    def __init__(self, folder: Path, stations: StationBackend) -> None:
        """folder: of the run."""
        twin = getattr(stations, "twin", None)
        self._twin = twin if isinstance(twin, Twin) else None
        self._path = folder / SCENES
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._publish, name="scenes", daemon=True)

    def __enter__(self) -> Self:
        if self._twin is not None:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        if self._thread.is_alive():
            self._thread.join()
        self._path.unlink(missing_ok=True)

    def _publish(self) -> None:
        try:
            Mailbox.make(self._path, 2 * len(self._message()) + ROOM)
            box = Mailbox(self._path)
        except OSError:
            return
        while not self._over.wait(EVERY_S):
            message = self._message()
            if len(message) <= box.body:
                box.put(message)
        box.close()

    def _message(self) -> bytes:
        if self._twin is None:
            return b""
        return safetensors.numpy.save(self._twin.drawn() | {AT: np.array([time.time()])})


def read_scenes(folder: Path) -> LiveScenes | None:
    """Return the scenes of a run's stations; None where no loop says any, or they are old."""
    try:
        box = Mailbox(folder / SCENES)
    except (OSError, ValueError):  # there is no loop, or its file is not made yet
        return None
    newest = box.newest()
    box.close()
    if newest is None:
        return None
    try:
        drawn = safetensors.numpy.load(newest[1])
    except SafetensorError:
        return None
    at = float(drawn.pop(AT, np.zeros(1))[0])
    return LiveScenes(at, drawn) if time.time() - at < FRESH_S else None


class SceneCopy:
    """One station of a run's task, that takes over how another one lies."""

    def __init__(self, run: Run) -> None:
        """Load the task of a run, as `build_stations` does and raising what it raises.

        Raises:
            UsageError: the run is of no task pack.
        """
        task = str(run.asked.get("task", ""))
        if not task or task.startswith(GYM):
            raise UsageError(f"{run.folder} is of no task pack: its stations cannot be shown")
        self.stations: Stations = build_stations(task, 1, 1, world=str(run.asked.get("world", "")))

    def take(self, scenes: LiveScenes, station: int) -> None:
        """Lie as `station` does.

        Raises:
            StoreError: it is a station of other packs than those that are here.
        """
        try:
            self.stations.twin.draw_as(0, {name: v[station] for name, v in scenes.drawn.items()})
        except (IndexError, ValueError, AttributeError) as error:
            raise StoreError(
                f"station {station} is of other packs than are here: {error}"
            ) from error
