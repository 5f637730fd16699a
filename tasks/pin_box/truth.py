"""What the simulator knows of the pins: whether each is home in its own hole, with no hand at it.

It goes by shapes and contacts: where the hole is, its walls say; whether a pin rests on the bottom,
what it does on a copy of the station without the hand. It shares nothing with the verifier, which
goes by a tracker's or cameras' poses: no measure, no threshold.
"""

from __future__ import annotations

import copy

import mujoco
import numpy as np

from enpire.twin import Twin
from enpire.types import Predicate

PINS = 3
RING, CORNERS = 8, 4  # spheres round a pin's flat end; walls of a hole that are set aslant
SETTLES = 0.3  # in which a pin that nobody holds drops home, or over [s]
# A pin at rest on the bottom is 0 from it; a hole is 14 mm deep.
HOME = 1.0  # of any point of the flat end from the bottom, at most [mm]
# A bore leaves a pin 0.15 mm; walls that give way leave it another tenth. Who is not in the bore is
# outside the box, 10 mm away, or in a neighbour's, 18 mm.
INSIDE = 0.5  # of the pin's axis from the bore's, at the bottom and at the mouth, at most [mm]
UNTOUCHED = 1.0  # of the hand from any pin, at least [mm]
FAR = 0.1  # beyond which distances need not be known [m]


def ground_truth(twin: Twin, row: int) -> tuple[Predicate, ...]:
    """The conditions of success, each that of the worst pin."""
    model, data = (copy.copy(part) for part in twin.simulation(row))
    hand = _hand(model, twin.scene.arms[0].name)
    gap = min(_gap(model, data, geom, pin) for geom in hand for pin in range(PINS))
    model.geom_contype[hand] = model.geom_conaffinity[hand] = 0
    mujoco.mj_step(model, data, nstep=int(SETTLES / model.opt.timestep))
    mujoco.mj_forward(model, data)
    stands = [_stands(model, data, pin) for pin in range(PINS)]
    home, aside = (1e3 * max(measures) for measures in zip(*stands, strict=True))
    return (
        Predicate("home", home, HOME, "mm", at_least=False),
        Predicate("inside", aside, INSIDE, "mm", at_least=False),
        Predicate("untouched", 1e3 * gap, UNTOUCHED, "mm"),
    )


def _hand(model: mujoco.MjModel, arm: str) -> list[int]:
    """Shapes of the arm that touch anything."""
    return [
        geom
        for geom in range(model.ngeom)
        if model.geom_contype[geom] | model.geom_conaffinity[geom]
        and model.body(model.geom_bodyid[geom]).name.startswith(f"{arm}_")
    ]


def _gap(model: mujoco.MjModel, data: mujoco.MjData, geom: int, pin: int) -> float:
    """How far a shape is from a pin's shaft [m]."""
    shaft = model.geom(f"task_pin{pin}").id
    return float(mujoco.mj_geomDistance(model, data, geom, shaft, FAR, None))


def _stands(model: mujoco.MjModel, data: mujoco.MjData, pin: int) -> tuple[float, float]:
    """How far a pin's flat end is from its hole's bottom, and its axis from the hole's [m].

    The four walls that are set aslant stand round the hole's axis; they are as high as it is deep.
    """
    walls = [model.geom(f"task_corner{pin}_{k}").id for k in range(CORNERS)]
    ring = [model.geom(f"task_edge{pin}_{k}").id for k in range(RING)]
    floor, shaft = model.geom("task_floor").id, model.geom(f"task_pin{pin}").id
    up = data.geom_xmat[floor].reshape(3, 3)[:, 2]
    over = (data.geom_xpos[ring] - data.geom_xpos[floor]) @ up
    above = over - model.geom_size[floor, 2] - model.geom_size[ring, 0]
    foot = data.geom_xpos[ring].mean(axis=0)
    deep = 2 * model.geom_size[walls[0], 2]
    head = foot + deep * data.geom_xmat[shaft].reshape(3, 3)[:, 2]
    off = np.stack([foot, head]) - data.geom_xpos[walls].mean(axis=0)
    beside = np.linalg.norm(off - np.outer(off @ up, up), axis=1)
    return float(abs(above).max()), float(beside.max())
