"""What the simulator knows of a cut and of a cutter that was put back.

It goes by the simulator's own state: the bond, the slides, the shapes in their bodies' frames, and
what happens on a copy whose hands are gone. It shares nothing with the verifier: neither a measure
nor a number, so that neither has the other's blind spots.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence

import mujoco
import numpy as np

from enpire.twin import Twin
from enpire.types import FloatArray, Predicate

# A tool that stands has both tips at the pocket's floor. One that leans as far as the walls let it
# lifts one of them by 4.0 mm (900 drops at random); one that is jammed or held is higher.
FLOOR = 4.7  # of the higher tip over the floor [mm]
# The pocket's inside is 12 x 22 mm, and contacts are a little soft.
POCKET, SOFT = (6.0, 11.0), 0.7  # half of it, and how far a tip may be in a wall [mm]
# Tips of open blades are 10 mm apart. Across the pocket they are not apart at all along it.
ALONG = 6.0  # of the tips from each other along the pocket [mm]
# A tool that stands by itself moves by less than 0.1 mm when hands are gone; one that a hand
# steadies, lifts or leans on falls over to the next wall, which is 2 mm and more.
GONE, FALLS = 0.5, 1.0  # so long without hands [s]; of its pivot meanwhile [mm]
# Handles of a tool that rocks in its pocket move by 9 mm, and a soft arm sways by 2 mm. A hand that
# is nearer than that may touch what it has put back.
NEAR = 12.0  # of any part of a hand from cutter and tie [mm]
MOVED = 3.0  # of the bundle, which rubs in its clamp by more [mm]
FAR = 0.1  # to which distances are computed [m]


def ground_truth(twin: Twin, row: int) -> tuple[Predicate, ...]:
    """The conditions of success.

    A strap is cut when its bond is open, however wide it gapes.
    """
    model, data = twin.simulation(row)
    cut = 1.0 - float(data.eq_active[model.equality("task_strap").id])
    slides = [model.joint(f"task_bundle_{axis}").qposadr[0] for axis in "xy"]
    moved = 1e3 * float(np.linalg.norm(data.qpos[slides]))
    stand = model.body("task_stand").id
    frame = data.xmat[stand].reshape(3, 3)
    floor = model.site("task_stand").pos
    tips = 1e3 * (np.array([_tip(model, data, side) for side in "ab"]) - data.xpos[stand]) @ frame
    tips -= 1e3 * floor
    beside = float((np.abs(tips[:, :2]) - POCKET).max())
    along = float(abs(tips[0, 1] - tips[1, 1]))
    hands, things = _hands(model), _things(model)
    near = 1e3 * _distance(model, data, hands, things)
    pivot = data.body("task_cutter").xpos.copy()
    alone = copy.copy(model)
    alone.geom_contype[hands] = alone.geom_conaffinity[hands] = 0
    mujoco.mj_step(alone, data, nstep=round(GONE / model.opt.timestep))
    falls = 1e3 * float(np.linalg.norm(data.body("task_cutter").xpos - pivot))
    stays = float(falls < FALLS)  # yes or no: how little it falls says nothing of how near it was
    return (
        Predicate("cut", cut, 1.0, ""),
        _most("bundle_moved", moved, MOVED),
        _most("tips_over_floor", float(tips[:, 2].max()), FLOOR),
        _most("tips_beside_pocket", beside, SOFT),
        Predicate("tips_along_pocket", along, ALONG, "mm"),
        Predicate("stays_without_hands", stays, 1.0, ""),
        Predicate("hands_near", near, NEAR, "mm"),
    )


def _tip(model: mujoco.MjModel, data: mujoco.MjData, side: str) -> FloatArray:
    """The middle of a blade's end (3,), world frame [m]."""
    edge = model.geom(f"task_edge_{side}")
    frame = data.geom_xmat[edge.id].reshape(3, 3)
    result: FloatArray = data.geom_xpos[edge.id] - edge.size[2] * frame[:, 2]
    return result


def _hands(model: mujoco.MjModel) -> list[int]:
    """The shapes of both arms that touch something."""
    bodies = [model.body(i).name for i in model.geom_bodyid]
    return [
        i
        for i, name in enumerate(bodies)
        if name.startswith(("left_", "right_")) and model.geom_contype[i]
    ]


def _things(model: mujoco.MjModel) -> list[int]:
    """The shapes of cutter, bundle and strap that touch something."""
    names = {f"task_{name}" for name in ("cutter", "jaw", "bundle", "end_a", "end_b")}
    bodies = [model.body(i).name for i in model.geom_bodyid]
    touching = model.geom_contype | model.geom_conaffinity
    return [i for i, name in enumerate(bodies) if name in names and touching[i]]


def _distance(
    model: mujoco.MjModel, data: mujoco.MjData, hands: Sequence[int], things: Sequence[int]
) -> float:
    """Of the nearest two of these shapes, at most `FAR`; less than zero within each other [m]."""
    return min(
        mujoco.mj_geomDistance(model, data, hand, thing, FAR, None)
        for hand in hands
        for thing in things
    )


def _most(name: str, value: float, threshold: float) -> Predicate:
    return Predicate(name, value, threshold, "mm", at_least=False)
