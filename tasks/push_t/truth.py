"""What the simulator knows of a T on its outline: where it has material, and what bears it.

It shares nothing with the verifier, which fits a flat T and clips polygons: points spread over the
drawn outline are covered where the block's boxes hold them just over the bench and just below
where its upper face is to be. A block that is tilted or in the air does not.
"""

from __future__ import annotations

import copy

import mujoco
import numpy as np

from enpire.twin import Twin
from enpire.types import FloatArray, Predicate

# The outline as it is drawn, in the goal's frame: half extents and middle of bar and stem [m].
PARTS = (((0.0500, 0.0125), (0.0, 0.02142857)), ((0.0125, 0.0375), (0.0, -0.02857143)))
LAYERS = 0.002, 0.018  # heights at which a block that lies on the bench has material [m]
POINTS = 8192  # for a share that is off by 0.0005
# The task asks for 0.9 of the outline. As much is open if the block is shifted by 4.375 mm along
# bar or stem: four units of 25 mm face either way, of an area of seven.
OPENED, SHIFTED = 4.375, 43.75  # of a tenth, of all of it [mm]
BORNE = 0.5  # of its weight that the bench bears, at least; the rest is the solver's noise
TOUCHED = 0.02  # with which a hand presses it, at most [N]
# So long it is watched on a copy [s], in which it moves by less than so much [mm]: more than the
# 2 mm within which the certification takes an episode for a near miss.
AHEAD, STAYS = 0.5, 3.0


def ground_truth(twin: Twin, row: int) -> tuple[Predicate, ...]:
    """Return the conditions of success: not open, on the bench, let go, staying there."""
    model, data = twin.simulation(row)
    block = model.body("task_block").id
    opened = SHIFTED * (1.0 - covered(model, data))
    by_bench, by_hand = forces(model, data, block)
    weight = float(model.body_mass[block]) * 9.81
    after, before = copy.copy(data), data.xpos[block].copy()
    mujoco.mj_step(model, after, nstep=round(AHEAD / model.opt.timestep))
    went = 1e3 * float(np.linalg.norm(after.xpos[block] - before))
    return (
        Predicate("open", opened, OPENED, "mm", at_least=False),
        Predicate("borne", by_bench / weight, BORNE, ""),
        Predicate("touched", by_hand, TOUCHED, "N", at_least=False),
        Predicate("stays", went, STAYS, "mm", at_least=False),
    )


def covered(model: mujoco.MjModel, data: mujoco.MjData) -> float:
    """Return the share of the outline over which the block has material in both layers."""
    goal = model.body("task_goal").id
    turn, at = data.xmat[goal].reshape(3, 3)[:2, :2], data.xpos[goal, :2]
    points = _spread() @ turn.T + at
    inside = np.ones(len(points), bool)
    for layer in LAYERS:
        there = np.column_stack([points, np.full(len(points), layer)])
        held = np.zeros(len(points), bool)
        for name in ("task_bar", "task_stem"):
            geom = model.geom(name).id
            local = (there - data.geom_xpos[geom]) @ data.geom_xmat[geom].reshape(3, 3)
            held |= (abs(local) <= model.geom_size[geom]).all(axis=1)
        inside &= held
    return float(inside.mean())


def _spread() -> FloatArray:
    """Return points (n, 2) evenly spread over bar and stem, in the goal's frame [m].

    They are those of Roberts' R2 sequence (2018), whose gaps are about alike.
    """
    root = 1.32471795724474602596
    steps = np.arange(POINTS)[:, None] * np.array([1 / root, 1 / root**2]) % 1.0
    areas = [4.0 * half[0] * half[1] for half, _ in PARTS]
    first = round(POINTS * areas[0] / sum(areas))
    parts = (steps[:first], steps[: POINTS - first])
    return np.concatenate(
        [
            np.array(middle) + (2.0 * share - 1.0) * half
            for share, (half, middle) in zip(parts, PARTS, strict=True)
        ]
    )


def forces(model: mujoco.MjModel, data: mujoco.MjData, block: int) -> tuple[float, float]:
    """Return how hard the bench bears the block, and anything of the arm presses it [N]."""
    bench = hand = 0.0
    force: FloatArray = np.zeros(6)
    for index in range(data.ncon):
        contact = data.contact[index]
        bodies = [int(model.geom_bodyid[geom]) for geom in contact.geom]
        if block in bodies:
            other = bodies[1] if bodies[0] == block else bodies[0]
            mujoco.mj_contactForce(model, data, index, force)
            if other == 0:  # the world: bench and rim
                bench += abs(float(force[0]) * contact.frame[2])
            else:
                hand += abs(float(force[0]))
    return bench, hand
