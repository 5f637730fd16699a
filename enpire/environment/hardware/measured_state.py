"""The scene of a station with arms, as its sensors say: a twin that never steps.

Kinematics, control and sensing read and write the arrays of a `Twin`. Here the joints are where the
arms were measured, the tracked sites where the tracker saw them, and setpoints go to the station.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from enpire.drivers.wire import Objects
from enpire.safety.messages import SupervisorStatus
from enpire.twin import Twin
from enpire.twin.scene import Scene
from enpire.twin.twin import Rows
from enpire.types import FloatArray


class MeasuredState(Twin):
    """n stations.

    send_setpoints: of each station, what has setpoints (axes,) reached in a control period, waits
    until it is over, and then has `show` called.
    """

    def __init__(self, scene: Scene, tracked: Sequence[str], stations: int) -> None:
        """tracked: names of sites; where there is nothing to be seen yet, they are as on a twin."""
        super().__init__(scene, stations, threads=stations + 1)
        self.send_setpoints: Sequence[Callable[[FloatArray], None]] = ()
        self._tracked = np.array([scene.model.site(name).id for name in tracked], np.int64)
        self._joints = np.array([arm.qpos for arm in scene.arms])
        self._grippers = np.array([arm.gripper for arm in scene.arms])
        self._forces = np.array([arm.force for arm in scene.arms])
        self._axes = np.array([[*arm.actuators, arm.gripper] for arm in scene.arms]).ravel()

    def advance(self, row: int, substeps: int) -> None:
        """Let a control period pass; a station keeps its own time."""
        self.send_setpoints[row](self.ctrl[row, self._axes])

    def diverged(self, rows: Sequence[int] | Rows) -> list[int]:
        """None: what cannot diverge does not. What goes wrong on a station is asked of it."""
        return []

    def show(self, row: int, status: SupervisorStatus, objects: Objects | None) -> None:
        """Take over what a station says. What it does not measure is nought; unseen is NaN."""
        measured = status.measured.reshape(len(self._grippers), -1)
        self.qpos[row, self._joints] = measured[:, :-1]
        self.forward(row)
        self.actuator_length[row, self._grippers] = measured[:, -1]
        self.history[row, self._forces] = np.nan_to_num(status.force)[:, None]
        position = np.nan if objects is None else objects.position
        rotation = np.nan if objects is None else objects.rotation.reshape(-1, 9)
        self.site_xpos[row, self._tracked] = position
        self.site_xmat[row, self._tracked] = rotation
