"""What the simulator knows of a zip tie: where its tail is, and what a weight on it does."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from enpire.twin import Twin
from enpire.types import FloatArray, Predicate

from .strap import GRASPED, LENGTHS, SLOT_END
from .verify import CLOSED

RIGHT = 1
OPEN = 0.04  # gripper setpoint of a hand that has let go [m]
WEIGHT = 5.0  # on the tail, back along the slot [N]
FREE, LOWERED, HANGS = 50, 125, 50  # simulation steps without it, until all of it hangs, and more
LEFT = 12.0  # of the tail beyond the head after that: the 15 less the pawl's slack [mm]


def truth(twin: Twin, row: int, sites: NDArray[np.int64]) -> tuple[Predicate, ...]:
    """The conditions of success. sites: of head, tip and bundle, and others.

    Whether the ratchet holds is tried on a copy of the station: no wrist is asked.
    """
    copy, model = twin.simulation(row), twin.model
    copy.forward()
    positions, frame = copy.bind("site_xpos")[0], copy.bind("site_xmat")[0, sites[0]].reshape(3, 3)
    head, end, bundle = positions[sites[:3]].copy()
    tip = frame.T @ (end - head)
    links = [model.body(f"task_link{i}").id for i in range(len(LENGTHS))]
    chain = np.vstack([head, copy.bind("xpos")[0, links], end]) - bundle
    loop = winding(chain[:, 1:])
    copy.bind("ctrl")[0, twin.scene.arms[RIGHT].gripper] = OPEN
    copy.step(nstep=FREE)
    weight = copy.bind("xfrc_applied")[0, model.body(f"task_link{GRASPED}").id, :3]
    for share in np.linspace(0.0, 1.0, LOWERED):
        weight[:] = -WEIGHT * share * frame[:, 0]
        copy.step(nstep=1)
    copy.step(nstep=HANGS)
    hung = frame.T @ (positions[sites[1]] - positions[sites[0]])  # as they are now
    return (
        Predicate("through", 1e3 * float(tip[0] - SLOT_END), 15.0, "mm"),
        Predicate("in_line", 1e3 * float(np.linalg.norm(tip[1:])), 6.0, "mm", at_least=False),
        Predicate("loop_closed", loop, CLOSED, "turns"),
        Predicate("holds", 1e3 * float(hung[0] - SLOT_END), LEFT, "mm"),
    )


def winding(chain: FloatArray) -> float:
    """How often a chain goes round the origin [turns].

    chain: every joint of the strap, in the plane across the bundle, shape (joints, 2) [m]. A link
    does not pass through the bundle: between its ends lies less than half a turn.
    """
    a, b = chain[:-1].T, chain[1:].T
    steps = np.arctan2(a[0] * b[1] - a[1] * b[0], (a * b).sum(axis=0))
    return float(abs(steps.sum()) / (2 * np.pi))
