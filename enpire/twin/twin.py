"""The simulated stations of one process, each stepping by itself on a few threads.

A `Twin` is n copies of one scene. It knows physics only: joint setpoints in, live state out.
Episodes, sensors' noise and verdicts belong to `enpire.environment`.

Every station is a `mujoco.batch.Batch` of one, so that some can be on their way while others are
looked at, and a station that takes longer holds nobody up. What the stations' batches hold is
copied from and to arrays over all of them; next to 20 substeps of physics that costs nothing.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Sequence
from queue import Empty, SimpleQueue
from typing import Any

import mujoco
import numpy as np
from mujoco.batch import MODEL_FIELDS, Batch, SimulationError
from numpy.typing import NDArray

from enpire.twin.scene import Scene
from enpire.types import FloatArray

Rows = NDArray[np.int64]
NUMBER = 1  # column of a warning that counts how often it came (0: the last info)
_DIVERGED = [
    int(warning)
    for warning in (
        mujoco.mjtWarning.mjWARN_BADQPOS,
        mujoco.mjtWarning.mjWARN_BADQVEL,
        mujoco.mjtWarning.mjWARN_BADQACC,
    )
]


class _Station:
    """One simulation, and which arrays are copied to it before and from it after every call."""

    def __init__(self, model: mujoco.MjModel, state: FloatArray) -> None:
        self.batch = Batch(model, 1, nthread=1)
        self.under_way = threading.Lock()  # held from launch to landing
        self.error: Exception | None = None
        self.substeps_done = 0
        state[...] = self.batch.state[0]
        self.before: list[tuple[NDArray[Any], NDArray[Any]]] = [(self.batch.state[0], state)]
        self.after: list[tuple[NDArray[Any], NDArray[Any]]] = [(state, self.batch.state[0])]

    def load(self) -> None:
        for into, values in self.before:
            into[...] = values

    def save(self) -> None:
        for into, values in self.after:
            into[...] = values

    def step(self, substeps: int) -> None:
        """Carried out by a thread; what goes wrong is kept for `Twin.wait`."""
        try:
            self.load()
            try:
                self.batch.step(nstep=substeps)
            except SimulationError:
                self.batch.warning[0, _DIVERGED[0], NUMBER] += 1  # raised, instead of a warning
            self.save()
            self.substeps_done += substeps
        except Exception as error:
            self.error = error
        finally:
            self.under_way.release()


class Twin:
    """n simulated stations of one scene.

    All arrays have a row per station. State arrays (`qpos`, `qvel`, `ctrl`, `eq_active`) are live:
    a write is the station's state at its next step. Derived ones (`site_xpos`, ...) are as of the
    last substep. `expand` gives a model field a value per station. Between `launch` and `wait` a
    station's rows are the physics'.
    """

    def __init__(self, scene: Scene, stations: int, threads: int = 0) -> None:
        """Make `stations` copies on `threads` threads (0: one a processor)."""
        self.scene = scene
        self.model = scene.model
        self.stations = stations
        self.threads = threads or os.cpu_count() or 1
        size = mujoco.mj_stateSize(self.model, mujoco.mjtState.mjSTATE_INTEGRATION.value)
        self.state: FloatArray = np.zeros((stations, size))
        self._stations = [_Station(self.model, row) for row in self.state]
        self._warned = np.zeros((stations, mujoco.mjtWarning.mjNWARNING.value), np.int32)
        for station, warned in zip(self._stations, self._warned, strict=True):
            station.after.append((warned, station.batch.warning[0, :, NUMBER]))
        self._bound: dict[str, NDArray[Any]] = {}
        self._expanded: dict[str, FloatArray] = {}
        self.qpos: FloatArray = self.bind("qpos")
        self.qvel: FloatArray = self.bind("qvel")
        self.ctrl: FloatArray = self.bind("ctrl")
        self.eq_active: FloatArray = self.bind("eq_active")
        self.site_xpos: FloatArray = self.bind("site_xpos")
        self.site_xmat: FloatArray = self.bind("site_xmat")
        self.xanchor: FloatArray = self.bind("xanchor")
        self.xaxis: FloatArray = self.bind("xaxis")
        self.actuator_length: FloatArray = self.bind("actuator_length")
        self.sensordata: FloatArray = self.bind("sensordata")
        self._launched: SimpleQueue[tuple[_Station, int] | None] = SimpleQueue()
        for _ in range(self.threads - 1):  # the one that waits works too
            threading.Thread(target=_work, args=(self._launched,), name="twin", daemon=True).start()
        weakref.finalize(self, _dismiss, self._launched, self.threads - 1)

    @property
    def substeps_done(self) -> int:
        """By all stations together, since they were made."""
        return sum(station.substeps_done for station in self._stations)

    def bind(self, field: str) -> NDArray[Any]:
        """Values of an MjData field by station, shape (stations, ...)."""
        if field not in self._bound:
            views = [station.batch.bind(field) for station in self._stations]
            first, state = views[0], self._stations[0].batch.state
            shape = (self.stations, *first.shape[1:])
            if np.may_share_memory(first, state):
                start = (first.ctypes.data - state.ctypes.data) // state.itemsize
                ours = self.state[:, start : start + first.size].reshape(shape)
            else:
                ours = np.zeros(shape, first.dtype)
                for row, (station, view) in enumerate(zip(self._stations, views, strict=True)):
                    station.after.append((ours[row], view[0]))
            self._bound[field] = ours
        return self._bound[field]

    def expand(self, field: str) -> FloatArray:
        """Per-station values of a model field, live, shape (stations, ...)."""
        if field not in self._expanded:
            views = [station.batch.expand(field) for station in self._stations]
            ours = np.concatenate(views)
            for row, (station, view) in enumerate(zip(self._stations, views, strict=True)):
                station.before.append((view[0], ours[row]))
            self._expanded[field] = ours
        return self._expanded[field]

    def set_const(self, row: int) -> None:
        """Compute anew what MuJoCo derives from masses and the like that `expand` varies."""
        self._stations[row].load()
        self._stations[row].batch.set_const()

    def variation(self, row: int) -> dict[str, NDArray[Any]]:
        """Copies of one station's values of the model fields that vary, derived ones too."""
        fields = {name: self._stations[row].batch.expanded(name) for name in MODEL_FIELDS}
        return {name: values[0].copy() for name, values in fields.items() if values is not None}

    def reset(self, row: int) -> None:
        """Put one station back to the model's default state; nothing is computed yet."""
        station = self._stations[row]
        station.batch.reset(stage=mujoco.mjtStage.mjSTAGE_NONE.value)
        station.batch.warning[...] = 0
        station.save()

    def forward(self, row: int) -> None:
        """Make one station's derived arrays current."""
        station = self._stations[row]
        station.load()
        station.batch.forward()
        station.save()

    def simulation(self, row: int) -> Batch:
        """One station as a batch of one, as it stands; for looking at, not for stepping."""
        self._stations[row].load()
        return self._stations[row].batch

    def launch(self, rows: Sequence[int] | Rows, substeps: int) -> None:
        """Set the stations `rows` on their way over `substeps`."""
        for row in rows:
            self._stations[row].under_way.acquire()
            self._launched.put((self._stations[row], substeps))

    def wait(self, rows: Sequence[int] | Rows) -> list[int]:
        """Wait until the stations `rows` have done what they were launched to; at once if none.

        Returns:
            The stations whose physics diverged (MuJoCo raised, or reset itself for a bad state).
        """
        for row in rows:
            station = self._stations[row]
            while station.under_way.locked() and self._help():
                pass
            with station.under_way:
                if station.error is not None:
                    raise station.error
        if not self._warned.any():  # as nearly always
            return []
        return [int(row) for row in rows if self._warned[row, _DIVERGED].any()]

    def _help(self) -> bool:
        """Do one station's physics that no thread has begun; False if there is none."""
        try:
            flight = self._launched.get_nowait()
        except Empty:
            return False
        if flight is not None:
            station, substeps = flight
            station.step(substeps)
        return True

    def step(self, rows: Sequence[int] | Rows, substeps: int) -> list[int]:
        """`launch` and `wait`."""
        self.launch(rows, substeps)
        return self.wait(rows)


def _work(launched: SimpleQueue[tuple[_Station, int] | None]) -> None:
    while (flight := launched.get()) is not None:
        station, substeps = flight
        station.step(substeps)


def _dismiss(launched: SimpleQueue[tuple[_Station, int] | None], threads: int) -> None:
    for _ in range(threads):
        launched.put(None)
