"""The simulated stations of one process, stepped together on one thread pool.

A `Twin` is n copies of one scene on `mujoco.batch.Batch`. It knows physics only: joint setpoints
in, live state out. Episodes, sensors' noise and verdicts belong to `enpire.environment`.
"""

from __future__ import annotations

from collections.abc import Sequence

import mujoco
import numpy as np
from mujoco.batch import Batch, SimulationError
from numpy.typing import NDArray

from enpire.twin.scene import Scene
from enpire.types import FloatArray

Rows = NDArray[np.int64]


class Twin:
    """n simulated stations of one scene.

    All arrays have a row per station. State arrays (`qpos`, `qvel`, `ctrl`, `eq_active`) are live:
    a write is the station's state at its next step. Derived ones (`site_xpos`, ...) are as of the
    last substep. `expand` gives a model field a value per station.
    """

    def __init__(self, scene: Scene, stations: int, threads: int = 0) -> None:
        """Make `stations` copies on `threads` threads (0: one a processor)."""
        self.scene = scene
        self.model = scene.model
        self.stations = stations
        self.batch = Batch(scene.model, stations, threads)
        self.qpos: FloatArray = self.batch.bind("qpos")
        self.qvel: FloatArray = self.batch.bind("qvel")
        self.ctrl: FloatArray = self.batch.bind("ctrl")
        self.eq_active: FloatArray = self.batch.bind("eq_active")
        self.site_xpos: FloatArray = self.batch.bind("site_xpos")
        self.site_xmat: FloatArray = self.batch.bind("site_xmat")
        self.xanchor: FloatArray = self.batch.bind("xanchor")
        self.xaxis: FloatArray = self.batch.bind("xaxis")
        self.actuator_length: FloatArray = self.batch.bind("actuator_length")
        self.sensordata: FloatArray = self.batch.bind("sensordata")
        self._warnings: NDArray[np.int32] = self.batch.warning
        self.substeps_done = 0

    def expand(self, field: str) -> NDArray[np.float64]:
        """Per-station values of a model field, live, shape (stations, ...)."""
        values: FloatArray = self.batch.expand(field)
        return values

    def reset(self, row: int) -> None:
        """Put one station back to the model's default state; nothing is computed yet."""
        self.batch.reset(np.array([row]), stage=mujoco.mjtStage.mjSTAGE_NONE.value)
        self._warnings[row] = 0

    def forward(self, row: int) -> None:
        """Make one station's derived arrays current."""
        self.batch.forward(np.array([row]))

    def step(self, rows: Rows, substeps: int) -> Sequence[int]:
        """Advance the stations `rows` (sorted) by `substeps`.

        Returns:
            The stations whose physics diverged (MuJoCo raised, or reset itself for a bad state).
        """
        failed: set[int] = set()
        try:
            self.batch.step(None if len(rows) == self.stations else rows, nstep=substeps)
        except SimulationError as error:
            failed.update(int(i) for i in error.ids)
        self.substeps_done += substeps * len(rows)
        bad = self._warnings[rows][:, _DIVERGED, NUMBER].any(axis=1)
        failed.update(int(row) for row in rows[bad])
        return sorted(failed)


NUMBER = 1  # column of a warning that counts how often it came (0: the last info)
_DIVERGED = [
    int(warning)
    for warning in (
        mujoco.mjtWarning.mjWARN_BADQPOS,
        mujoco.mjtWarning.mjWARN_BADQVEL,
        mujoco.mjtWarning.mjWARN_BADQACC,
    )
]
