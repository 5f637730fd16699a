"""What the simulator knows of a zip tie: where its tail is, and what a weight on it does."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from enpire.twin import Twin
from enpire.types import FloatArray, Predicate

from .strap import GRASPED, SLOT_END
from .verify import CLOSED, turns

RIGHT = 1
OPEN = 0.04  # gripper setpoint of a hand that has let go [m]
WEIGHT = 5.0  # on the tail, back along the slot [N]
HANGS = 150  # simulation steps for which it does
LEFT = 12.0  # of the tail beyond the head after that: the 15 less the pawl's slack [mm]


def truth(twin: Twin, row: int, sites: NDArray[np.int64]) -> tuple[Predicate, ...]:
    """The conditions of success. sites: head, tip, bundle and marks, as `turns` wants them.

    Whether the ratchet holds is tried on a copy of the station: no wrist is asked.
    """
    frame = twin.site_xmat[row, sites[0]].reshape(3, 3)
    tip = _tip(twin.site_xpos[row], frame, sites)
    loop = turns(twin.site_xpos[row, sites])
    copy, model = twin.simulation(row), twin.model
    copy.bind("ctrl")[0, twin.scene.arms[RIGHT].gripper] = OPEN
    copy.bind("xfrc_applied")[0, model.body(f"task_link{GRASPED}").id, :3] = -WEIGHT * frame[:, 0]
    copy.step(nstep=HANGS)
    hung = _tip(copy.bind("site_xpos")[0], copy.bind("site_xmat")[0, sites[0]].reshape(3, 3), sites)
    return (
        Predicate("through", 1e3 * float(tip[0] - SLOT_END), 15.0, "mm"),
        Predicate("in_line", 1e3 * float(np.linalg.norm(tip[1:])), 6.0, "mm", at_least=False),
        Predicate("loop_closed", loop, CLOSED, "turns"),
        Predicate("holds", 1e3 * float(hung[0] - SLOT_END), LEFT, "mm"),
    )


def _tip(positions: FloatArray, frame: FloatArray, sites: NDArray[np.int64]) -> FloatArray:
    """The tip in the head's frame, shape (3,) [m]."""
    tip: FloatArray = frame.T @ (positions[sites[1]] - positions[sites[0]])
    return tip
