"""Carries out what a policy has planned, period by period, with no Python in between."""

from __future__ import annotations

import threading

import numpy as np

from enpire.environment.control import kernels
from enpire.environment.control.sensing import Readings, Sensors
from enpire.twin.twin import Simulation
from enpire.types import Float32Array, FloatArray


class ChunkExecutor:
    """Flies stations along their plans; sensors and control are those of every other period."""

    def __init__(
        self, sensors: Sensors, substeps: int, force_limit: float, to_joints: bool = False
    ) -> None:
        """substeps: of a control period. force_limit: of a wrist, above which a plan ends [N].

        to_joints: actions say where joints are to be.
        """
        self._to_joints = to_joints
        self._sensors, self._control = sensors, sensors.control
        self._substeps, self._force_limit = substeps, force_limit
        self._own = threading.local()  # views of each thread's simulation

    def advance(self, row: int, plan: Float32Array, first: int) -> tuple[Readings, FloatArray]:
        """Carry a station over a period, and then over those of its plan (k, act).

        first: the control period since its reset in which the plan begins. Returns what was read in
        the periods of the plan that were begun, and what was then sent, (begun, axes): all, unless
        something must be looked at.
        """
        sensors, control, one = self._sensors, self._control, slice(row, row + 1)
        sensed, jacobian = sensors.blank(len(plan))
        sent = np.empty((len(plan), *control.command.shape[1:]))
        begun = 0

        def run(own: Simulation) -> int:
            nonlocal begun
            begun = kernels.carry_out(
                own.model._address,
                own.data._address,
                own.warning,
                self._substeps,
                plan,
                first,
                self._force_limit,
                control.command[one],
                own.data.ctrl[None],
                self._views(own),
                sensors.tables,
                tuple(errors[one] for errors in sensors.errors),
                control.limits,
                self._to_joints,
                jacobian[:1],
                sensed,
                sent,
            )
            return self._substeps * (begun + 1)

        sensors.twin.run(row, run)
        readings = Readings(*(values[:begun] for values in sensed))
        return readings, sent[:begun].reshape(begun, control.command[0].size)

    def _views(self, own: Simulation) -> tuple[FloatArray, ...]:
        views: tuple[FloatArray, ...] | None = getattr(self._own, "views", None)
        if views is None:
            names = self._sensors.READ
            views = self._own.views = tuple(getattr(own.data, name)[None] for name in names)
        return views
