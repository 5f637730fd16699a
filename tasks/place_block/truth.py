"""What the simulator knows of a block on a pad: where its shape is, what touches it, what happens.

It shares nothing with the verifier, which goes by places that a tracker gives. It reads the shapes'
own sizes, the forces on the block, and where a copy of the scene goes by itself.
"""

from __future__ import annotations

import copy

import mujoco
import numpy as np

from enpire.twin import Twin
from enpire.types import FloatArray, Predicate

INSIDE = 0.0  # of the lower face's outermost corner within the pad's rim [mm]
FLAT = 1.0  # of that face's highest corner over the bench [mm]
TOUCHED = 0.1  # by all but the bench, at most [N]
AHEAD, MOVED = 0.5, 1.0  # so long it is watched on a copy [s], in which it goes so far at most [mm]


def ground_truth(twin: Twin, row: int) -> tuple[Predicate, ...]:
    """Return the conditions of success: all of it on the pad, flat, untouched, staying."""
    model, data = twin.simulation(row)
    face = lower_face(model, data)
    pad = model.geom("task_pad").id
    off = np.linalg.norm((face - data.geom_xpos[pad])[:, :2], axis=1).max()
    block = model.body("task_block").id
    after = copy.copy(data)
    mujoco.mj_step(model, after, nstep=round(AHEAD / model.opt.timestep))
    went = np.linalg.norm(after.xpos[block] - data.xpos[block])
    return (
        Predicate("inside", 1e3 * float(model.geom_size[pad, 0] - off), INSIDE, "mm"),
        Predicate("flat", 1e3 * float(face[:, 2].max()), FLAT, "mm", at_least=False),
        Predicate("touched", force(model, data, block), TOUCHED, "N", at_least=False),
        Predicate("stays", 1e3 * float(went), MOVED, "mm", at_least=False),
    )


def lower_face(model: mujoco.MjModel, data: mujoco.MjData) -> FloatArray:
    """Return the four corners of the block's shape that are nearest to the bench, (4, 3) [m]."""
    geom = model.geom("task_block").id
    signs = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    frame = data.geom_xmat[geom].reshape(3, 3)
    corners = data.geom_xpos[geom] + (signs * model.geom_size[geom]) @ frame.T
    lowest: FloatArray = corners[np.argsort(corners[:, 2])[:4]]
    return lowest


def force(model: mujoco.MjModel, data: mujoco.MjData, block: int) -> float:
    """Return how hard all but the bench press the block, in sum [N]."""
    total, pressed = 0.0, np.zeros(6)
    for index in range(data.ncon):
        bodies = [int(model.geom_bodyid[geom]) for geom in data.contact[index].geom]
        if block in bodies and 0 not in bodies:
            mujoco.mj_contactForce(model, data, index, pressed)
            total += abs(float(pressed[0]))
    return total
