"""What the simulator knows of a peg: where its shank is in the bore, and what becomes of it.

Shank and hole are measured on their collision shapes. What the hand does to the peg is told by
contacts, and by a copy of the station in which the peg meets no hand. Nothing is shared with the
verifier.
"""

from __future__ import annotations

import copy

import mujoco
import numpy as np
from numpy.typing import NDArray

from enpire.twin import Twin
from enpire.types import FloatArray, Predicate

GAP = 2.5  # of the shank's lower end over the hole's floor, at most [mm]
# The bore leaves the shank 0.3 mm each way; walls, which are stiff springs, yield by a tenth.
BESIDE = 0.6  # of the shank's axis from the bore's, at the lower end and at the mouth, at most [mm]
TOUCH = 0.2  # with which the hand may press on the peg, all contacts together [N]
ALONE = 0.5  # for which the peg is then left to itself, in the copy [s]


def ground_truth(twin: Twin, row: int) -> tuple[Predicate, ...]:
    """Return the conditions of success.

    The shank is at the hole's floor, and within the bore. The hand does not touch the peg. Where no
    hand is, the peg stays so. How hard the hand pressed before is past: a wrist above the force
    limit has ended the episode.
    """
    model, data = twin.simulation(row)
    arm = twin.scene.arms[0].name
    bodies = [model.body(model.geom_bodyid[geom]).name for geom in range(model.ngeom)]
    hand = np.array([name.startswith(f"{arm}_") for name in bodies])
    gap, beside = _seat(model, data)
    touch = _touch(model, data, hand)
    alone = copy.copy(model)
    alone.geom_contype[hand] = alone.geom_conaffinity[hand] = 0
    later = mujoco.MjData(alone)
    mujoco.mj_copyData(later, model, data)
    mujoco.mj_step(alone, later, round(ALONE / model.opt.timestep))
    left, _ = _seat(alone, later)
    return (
        Predicate("gap", gap, GAP, "mm", at_least=False),
        Predicate("beside", beside, BESIDE, "mm", at_least=False),
        Predicate("touch", touch, TOUCH, "N", at_least=False),
        Predicate("stays", left, GAP, "mm", at_least=False),
    )


def _seat(model: mujoco.MjModel, data: mujoco.MjData) -> tuple[float, float]:
    """Return how far the shank is over the hole's floor, and its axis from the bore's [mm]."""
    floor, shank = model.geom("task_floor").id, model.geom("task_shank").id
    walls = [i for i in range(model.ngeom) if model.geom(i).name.startswith("task_wall")]
    up = data.geom_xmat[floor].reshape(3, 3)[:, 2]
    axis = data.geom_xmat[shank].reshape(3, 3)[:, 2]
    half = model.geom_size[shank, 1]
    low = data.geom_xpos[shank] - half * axis
    over = float((low - data.geom_xpos[floor]) @ up) - model.geom_size[floor, 2]
    deep = 2 * model.geom_size[walls[0], 2]
    middle = data.geom_xpos[walls].mean(axis=0)
    off = np.stack([low, low + deep * axis]) - middle
    beside = np.linalg.norm(off - np.outer(off @ up, up), axis=1).max()
    return 1e3 * over, 1e3 * float(beside)


def _touch(model: mujoco.MjModel, data: mujoco.MjData, hand: NDArray[np.bool_]) -> float:
    """Return with what the hand presses on the peg, the sum over all contacts [N]."""
    peg, total = model.body("task_peg").id, 0.0
    force: FloatArray = np.zeros(6)
    for i in range(data.ncon):
        geoms = data.contact[i].geom
        if hand[geoms].any() and (model.geom_bodyid[geoms] == peg).any():
            mujoco.mj_contactForce(model, data, i, force)
            total += float(np.linalg.norm(force[:3]))
    return total
