"""What the simulator knows of a zip tie: where its tail is, and what a weight on it does."""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray

from enpire.twin import Twin
from enpire.types import FloatArray, Predicate

from .frames import BUNDLE_HALF, RIGHT, crossing
from .strap import GRASPED, LENGTHS, SLOT_END
from .verify import CLOSED

OPEN = 0.04  # gripper setpoint of a hand that has let go [m]
FREE = 50  # simulation steps from when the hand opens to the first pull
PULL = 5.0  # on the tail, back along the slot [N]
STIFF, SPEED = 1000.0, 0.02  # of the spring balance that pulls [N/m], drawn at so much [m/s]
TRAVEL = 0.030  # that it is drawn at most: a tail that nothing holds is out by then [m]
LEFT = 12.0  # of the tail beyond the head under the pull: the 15 less the pawl's slack [mm]


def truth(twin: Twin, row: int, sites: NDArray[np.int64]) -> tuple[Predicate, ...]:
    """The conditions of success. sites: of head, tip and bundle, and others.

    Whether the ratchet holds is tried on a copy of the station that the hand has left.
    """
    model, copy = twin.simulation(row)
    positions, frame = copy.site_xpos, copy.site_xmat[sites[0]].reshape(3, 3).copy()
    head, end, bundle = positions[sites[:3]].copy()
    tip = frame.T @ (end - head)
    links = [model.body(f"task_link{i}").id for i in range(len(LENGTHS))]
    chain = np.vstack([head, copy.xpos[links], end]) - bundle
    loop = winding(chain[:, 1:]) if abs(crossing(chain)) < BUNDLE_HALF else 0.0
    copy.ctrl[twin.scene.arms[RIGHT].gripper] = OPEN
    mujoco.mj_step(model, copy, nstep=FREE)
    weigh(model, copy, model.body(f"task_link{GRASPED}").id, -frame[:, 0])
    hung = frame.T @ (positions[sites[1]] - positions[sites[0]])  # as they are now
    return (
        Predicate("through", 1e3 * float(tip[0] - SLOT_END), 15.0, "mm"),
        Predicate("in_line", 1e3 * float(np.linalg.norm(tip[1:])), 6.0, "mm", at_least=False),
        Predicate("loop_closed", loop, CLOSED, "turns"),
        Predicate("holds", 1e3 * float(hung[0] - SLOT_END), LEFT, "mm"),
    )


def weigh(model: mujoco.MjModel, copy: mujoco.MjData, body: int, along: FloatArray) -> None:
    """Draw a body with a spring balance until that shows the pull, or has been drawn all its way.

    Not a force without a mass behind it: the strap weighs some grams, and such a force throws it
    past the pawl faster than the pawl's spring can turn that.
    """
    place, force = copy.xpos[body], copy.xfrc_applied[body, :3]
    start = float(along @ place)
    for drawn in np.arange(0.0, TRAVEL, SPEED * model.opt.timestep):
        shown = STIFF * (start + drawn - float(along @ place))
        if shown >= PULL:
            return
        force[:] = max(shown, 0.0) * along
        mujoco.mj_step(model, copy)


def winding(chain: FloatArray) -> float:
    """How often a chain goes round the origin [turns].

    chain: every joint of the strap, in the plane across the bundle, shape (joints, 2) [m]. A link
    does not pass through the bundle: between its ends lies less than half a turn.
    """
    a, b = chain[:-1].T, chain[1:].T
    steps = np.arctan2(a[0] * b[1] - a[1] * b[0], (a * b).sum(axis=0))
    return float(abs(steps.sum()) / (2 * np.pi))
