"""The simulated stations of one process, each stepping by itself on a few threads.

A `Twin` is n copies of one scene. It knows physics only: joint setpoints in, live state out.
Episodes, sensors' noise and verdicts belong to `enpire.environment`.

What a station is stands in arrays over all of them. Each thread has one simulation, MuJoCo's model
and data: it loads a station into it, runs it and saves it again. So some stations can be under way
while others are looked at, one that takes longer holds nobody up, and the simulations' memory stays
in the processors' caches however many stations there are.
"""

from __future__ import annotations

import copy
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import mujoco
import numpy as np
from mujoco.batch import MODEL_FIELDS, Batch
from numpy.typing import NDArray

from enpire.twin.scene import Scene
from enpire.twin.thread_pool import ThreadPool
from enpire.types import FloatArray

Rows = NDArray[np.int64]
POSES = ("qpos", "mocap_pos", "mocap_quat")  # of a state, that say where everything is
SEEN = ("body_", "geom_", "site_", "mat_", "light_", "tendon_width", "tendon_rgba")
"""How the names of model fields begin that a picture may depend on."""

_WRITTEN = frozenset(getattr(mujoco.MjModel, "_setconst_outputs", MODEL_FIELDS))
DERIVED = tuple(name for name in MODEL_FIELDS if name in _WRITTEN and "." not in name)
"""The model fields that `mj_setConst` may write, as MuJoCo says; else all but the options."""

STATE = int(mujoco.mjtState.mjSTATE_INTEGRATION)
_DIVERGED = [
    int(warning)
    for warning in (
        mujoco.mjtWarning.mjWARN_BADQPOS,
        mujoco.mjtWarning.mjWARN_BADQVEL,
        mujoco.mjtWarning.mjWARN_BADQACC,
    )
]


class _Stations:
    """What the threads share: the stations' arrays, and who is under way."""

    def __init__(self, model: mujoco.MjModel, count: int) -> None:
        self.model = model
        self.default = Batch(model, 1, nthread=1)
        self.state: FloatArray = self.default.state.repeat(count, axis=0)
        self.warning = np.zeros((count, len(self.default.warning[0])), np.int32)
        self.derived: dict[str, NDArray[Any]] = {}
        self.fields: dict[str, NDArray[Any]] = {}
        self.under_way = [threading.Lock() for _ in range(count)]  # held from launch to landing
        self.errors: list[Exception | None] = [None] * count
        self.substeps_done = [0] * count


class Simulation:
    """One thread's own: any station is loaded into it, run, and saved again."""

    def __init__(self, stations: _Stations) -> None:
        self._stations = stations
        self.model = copy.copy(stations.model)
        self.data = mujoco.MjData(self.model)
        self.warning: NDArray[np.int32] = self.data.warning.number
        self._before: list[tuple[NDArray[Any], NDArray[Any]]] = [(self.warning, stations.warning)]
        self._after = [*self._before]
        self._fields = self._derived = 0  # how many of the stations' are in these lists

    def load(self, row: int) -> None:
        """Make it the station `row`."""
        stations = self._stations
        # Copied at once: another thread may add to them.
        for name, values in list(stations.fields.items())[self._fields :]:
            self._before.append((getattr(self.model, name), values))
            self._fields += 1
        for name, values in list(stations.derived.items())[self._derived :]:
            self._after.append((getattr(self.data, name), values))
            self._derived += 1
        mujoco.mj_setState(self.model, self.data, stations.state[row], STATE)
        for mine, all_values in self._before:
            mine[...] = all_values[row]

    def save(self, row: int) -> None:
        """Keep it as the station `row`."""
        mujoco.mj_getState(self.model, self.data, self._stations.state[row], STATE)
        for mine, all_values in self._after:
            all_values[row] = mine


Run = Callable[[Simulation], int]  # runs the station that is loaded; returns the substeps done


class Twin:
    """n simulated stations of one scene.

    All arrays have a row per station. State arrays (`qpos`, `qvel`, `ctrl`, `eq_active`) are live:
    a write is the station's state at its next step. Derived ones (`site_xpos`, ...) are as of the
    last substep. `expand` gives a model field a value per station. While a station is under way
    its rows are the physics'.
    """

    def __init__(self, scene: Scene, stations: int, threads: int = 0) -> None:
        """Make `stations` copies on `threads` threads, the caller's too (0: one a processor)."""
        self.scene = scene
        self.model = scene.model
        self.stations = stations
        self.pool = ThreadPool(threads or os.cpu_count() or 1)
        self.threads = self.pool.threads  # on which stations are under way at one time
        self._all = _Stations(scene.model, stations)
        self._threads = threading.local()
        self._bound: dict[str, NDArray[Any]] = {}
        self.state = self._all.state
        self.qpos: FloatArray = self.bind("qpos")
        for name in POSES[1:]:
            self.bind(name)
        self.qvel: FloatArray = self.bind("qvel")
        self.ctrl: FloatArray = self.bind("ctrl")
        self.eq_active: FloatArray = self.bind("eq_active")
        self.site_xpos: FloatArray = self.bind("site_xpos")
        self.site_xmat: FloatArray = self.bind("site_xmat")
        self.xanchor: FloatArray = self.bind("xanchor")
        self.xaxis: FloatArray = self.bind("xaxis")
        self.actuator_length: FloatArray = self.bind("actuator_length")
        self.history: FloatArray = self.bind("history")

    @property
    def _own(self) -> Simulation:
        """The simulation of the thread that asks."""
        own: Simulation | None = getattr(self._threads, "simulation", None)
        if own is None:
            own = self._threads.simulation = Simulation(self._all)
        return own

    @property
    def substeps_done(self) -> int:
        """The substeps by all stations together, since they were made."""
        return sum(self._all.substeps_done)

    def bind(self, field: str) -> NDArray[Any]:
        """Values of an MjData field by station, shape (stations, ...)."""
        if field not in self._bound:
            batch = self._all.default
            one = batch.bind(field)
            shape = (self.stations, *one.shape[1:])
            if np.may_share_memory(one, batch.state):
                start = (one.ctypes.data - batch.state.ctypes.data) // batch.state.itemsize
                values = self.state[:, start : start + one.size].reshape(shape)
            else:
                values = np.zeros(shape, one.dtype)
                self._all.derived[field] = values
            self._bound[field] = values
        return self._bound[field]

    def expand(self, field: str) -> NDArray[Any]:
        """Per-station values of a model field, live, shape (stations, ...)."""
        fields = self._all.fields
        if field not in fields:
            fields[field] = np.repeat(getattr(self.model, field)[None], self.stations, axis=0)
        return fields[field]

    def set_const(self, row: int) -> None:
        """Compute anew what MuJoCo derives from masses and the like that `expand` varies."""
        own = self._own
        own.load(row)
        mujoco.mj_setConst(own.model, own.data)
        for name in DERIVED:
            values = getattr(own.model, name)
            if not np.array_equal(values, getattr(self.model, name)):
                self.expand(name)[row] = values

    def variation(self, row: int) -> dict[str, NDArray[Any]]:
        """Copies of one station's values of the model fields that vary."""
        return {name: values[row].copy() for name, values in list(self._all.fields.items())}

    def drawn(self) -> dict[str, NDArray[Any]]:
        """Copies of what a picture of each station needs: poses, and what varies of the model.

        It may be called from any thread, meanwhile too: a station under way is then as it was
        before its step or after it.
        """
        poses = {name: self._bound[name].copy() for name in POSES}
        fields = list(self._all.fields.items())
        return poses | {name: values.copy() for name, values in fields if name.startswith(SEEN)}

    def draw_as(self, row: int, drawn: Mapping[str, NDArray[Any]]) -> None:
        """Have a station lie as one of the same scene does; drawn: its part of `drawn()`.

        Raises:
            ValueError, AttributeError: it is of another scene.
        """
        for name, values in drawn.items():
            (self._bound[name] if name in POSES else self.expand(name))[row] = values

    def reset(self, row: int) -> None:
        """Put one station back to the model's default state; nothing is computed yet."""
        own = self._own
        own.load(row)
        mujoco.mj_resetData(own.model, own.data)
        own.save(row)

    def forward(self, row: int) -> None:
        """Make one station's derived arrays current."""
        own = self._own
        own.load(row)
        mujoco.mj_forward(own.model, own.data)
        own.save(row)

    def simulation(self, row: int) -> tuple[mujoco.MjModel, mujoco.MjData]:
        """One station as it stands; for looking at, until the next call."""
        own = self._own
        own.load(row)
        mujoco.mj_forward(own.model, own.data)
        return own.model, own.data

    def run(self, row: int, run: Run) -> None:
        """Have a station run on this thread; what goes wrong is kept for `diverged`."""
        own, stations = self._own, self._all
        try:
            own.load(row)
            try:
                stations.substeps_done[row] += run(own)
            except mujoco.FatalError:
                own.warning[_DIVERGED[0]] += 1  # raised, instead of a warning
            own.save(row)
        except Exception as error:
            stations.errors[row] = error

    def advance(self, row: int, substeps: int) -> None:
        """Carry a station over `substeps` on this thread."""

        def step(own: Simulation) -> int:
            mujoco.mj_step(own.model, own.data, nstep=substeps)
            return substeps

        self.run(row, step)

    def start(self, rows: Sequence[int] | Rows, substeps: int) -> None:
        """Set the stations `rows` on their way over `substeps`, on the pool's threads."""
        for row in rows:
            self._all.under_way[row].acquire()
            self.pool.put(partial(self._advance_task, int(row), substeps))

    def wait(self, rows: Sequence[int] | Rows) -> list[int]:
        """Wait until the stations `rows` have done what they were started for; at once if none.

        The thread that waits works too. Returns and raises what `diverged` does.
        """
        for row in rows:
            while self._all.under_way[row].locked() and self.pool.help():
                pass
            with self._all.under_way[row]:
                pass
        return self.diverged(rows)

    def diverged(self, rows: Sequence[int] | Rows) -> list[int]:
        """The stations of `rows`, none of them under way, whose physics diverged.

        That is: MuJoCo raised, or reset itself for a bad state. What else went wrong is raised.
        """
        for row in rows:
            error = self._all.errors[row]
            if error is not None:
                raise error
        warned = self._all.warning
        if not np.count_nonzero(warned):  # as nearly always
            return []
        return [int(row) for row in rows if warned[row, _DIVERGED].any()]

    def _advance_task(self, row: int, substeps: int) -> None:
        try:
            self.advance(row, substeps)
        finally:
            self._all.under_way[row].release()

    def step(self, rows: Sequence[int] | Rows, substeps: int) -> list[int]:
        """`start` and `wait`."""
        self.start(rows, substeps)
        return self.wait(rows)
