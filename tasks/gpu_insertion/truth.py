"""What the simulator knows of a card: where its edge is in the slot, and what becomes of it.

The slot and the edge are measured on their collision shapes, in the slot's own frame. What hands do
to the card is told by contacts, and by a copy of the station in which the card meets no hand.
Nothing is shared with the verifier.
"""

from __future__ import annotations

import copy

import mujoco
import numpy as np
from numpy.typing import NDArray

from enpire.twin import Twin
from enpire.types import FloatArray, Predicate

# Contacts touch the edge 3.5 mm over the slot's floor. A rim within 1 mm of the floor has them on
# the edge's middle; an end that is 2 mm up still reaches 1.5 mm below its contacts.
GAP, END_GAP = 1.0, 2.0  # of the rim over the floor, at most: between its ends, at either end [mm]
YIELDS = 0.3  # by which edge and walls, which are stiff springs, may be in one another [mm]
TOUCH = 0.2  # with which hands may press on the card, all contacts together [N]
ALONE = 0.5  # for which the card is then left to itself, in the copy [s]
TUG = (
    1.0  # upward force that it withstands there, beyond its weight; the weakest springs hold 3 [N]
)
TUGGED = 0.2  # for which it is pulled [s]


def ground_truth(twin: Twin, row: int) -> tuple[Predicate, ...]:
    """The conditions of success.

    The rim is on the slot's floor, each end at its own end of the slot and between the walls. No
    hand touches the card. Where no hand is, the card stays, and it withstands a slight pull. How
    hard hands pressed before is past: a wrist above the force limit has ended the episode.
    """
    model, data = twin.simulation(row)
    arms = [arm.name for arm in twin.scene.arms]
    hands = np.array([_of_arm(model, geom, arms) for geom in range(model.ngeom)])
    gaps, beside = _seat(model, data)
    touch = _touch(model, data, hands)
    alone = copy.copy(model)
    alone.geom_contype[hands] = alone.geom_conaffinity[hands] = 0
    later = mujoco.MjData(alone)
    mujoco.mj_copyData(later, model, data)
    mujoco.mj_step(alone, later, round(ALONE / model.opt.timestep))
    left, _ = _seat(alone, later)
    card = model.body("task_card").id
    weight = alone.body_mass[card] * np.linalg.norm(model.opt.gravity)
    later.xfrc_applied[card, 2] = weight + TUG
    mujoco.mj_step(alone, later, round(TUGGED / model.opt.timestep))
    tugged, _ = _seat(alone, later)
    return (
        _at_most("gap", gaps.mean(), GAP, "mm"),
        _at_most("end_gap", gaps.max(), END_GAP, "mm"),
        _at_most("beside", beside, YIELDS, "mm"),
        _at_most("touch", touch, TOUCH, "N"),
        _at_most("stays", left.mean(), GAP, "mm"),
        _at_most("withstands", tugged.mean(), GAP, "mm"),
    )


def _at_most(name: str, value: float, threshold: float, unit: str) -> Predicate:
    return Predicate(name, float(value), threshold, unit, at_least=False)


def _of_arm(model: mujoco.MjModel, geom: int, arms: list[str]) -> bool:
    """Whether a shape belongs to an arm or its hand."""
    name = model.body(model.geom_bodyid[geom]).name
    return any(name.startswith(f"{arm}_") for arm in arms)


def _seat(model: mujoco.MjModel, data: mujoco.MjData) -> tuple[FloatArray, float]:
    """The rim's two ends over the slot's floor (2,), and how far the edge is out of its walls [mm].

    Walls are where the slot has them: the left end's belongs to the left end of the edge.
    """
    slot, card = model.body("task_slot").id, model.body("task_card").id
    frame, mouth = data.xmat[slot].reshape(3, 3), data.xpos[slot]
    turned = frame.T @ data.xmat[card].reshape(3, 3)
    at = (data.xpos[card] - mouth) @ frame
    edge, rim = model.geom("task_edge"), model.geom("task_rim")
    low = rim.pos[2] - rim.size[0]
    ends = np.array([at + turned @ (0.0, side * edge.size[1], low) for side in (1, -1)])
    floor = model.geom("task_floor")
    gaps = ends[:, 2] - (floor.pos[2] + floor.size[2])
    out = []
    for name, axis, side in (
        ("task_front", 0, 1.0),
        ("task_back", 0, -1.0),
        ("task_end_left", 1, 1.0),
        ("task_end_right", 1, -1.0),
    ):
        wall = model.geom(name)
        face = side * wall.pos[axis] - wall.size[axis]
        if axis == 0:  # along the whole height of the wall
            up = (wall.pos[2] + wall.size[2] - ends[:, 2]) / max(turned[2, 2], 0.5)
            high = ends + up[:, None] * turned[:, 2]
            out += (side * np.concatenate([ends, high])[:, 0] + edge.size[0] - face).tolist()
        else:
            mine = ends[0 if side > 0 else 1]
            play = face - edge.size[1]
            out.append(abs(side * mine[1] - edge.size[1]) - play)
    return 1e3 * gaps, 1e3 * max(out)


def _touch(model: mujoco.MjModel, data: mujoco.MjData, hands: NDArray[np.bool_]) -> float:
    """With what hands press on the card, the sum over all contacts [N]."""
    card, total, force = model.body("task_card").id, 0.0, np.zeros(6)
    for i in range(data.ncon):
        geoms = data.contact[i].geom
        if hands[geoms].any() and (model.geom_bodyid[geoms] == card).any():
            mujoco.mj_contactForce(model, data, i, force)
            total += float(np.linalg.norm(force[:3]))
    return total
