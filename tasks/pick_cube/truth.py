"""What the simulator knows of a cube that is held: forces on it, and what happens next.

It shares nothing with the verifier, which goes by places: a cube is in the fingers if they press it
from both sides and nothing else touches it, and it stays up if it does on a copy of the scene.
"""

from __future__ import annotations

import copy

import mujoco
import numpy as np

from enpire.twin import Twin
from enpire.types import FloatArray, Predicate

# The task says: lifted by 60 mm. At rest its middle is half of its edge of 25 mm high.
RISE, AT_REST = 60.0, 12.5  # [mm]
# The cube weighs 0.2 to 0.5 N; friction of 0.4 holds that from two sides with 0.6 N each.
SQUEEZE = 0.6  # with which either finger presses it, at least [N]
OTHERS = 0.05  # of its weight that anything but the fingers may bear [N]
AHEAD, DROP = 0.3, 15.0  # so long it is watched on a copy [s], in which it would fall 440 [mm]


def ground_truth(twin: Twin, row: int) -> tuple[Predicate, ...]:
    """Return the conditions of success: risen, squeezed by both fingers, borne by them, staying."""
    model, data = twin.simulation(row)
    cube = model.body("task_cube").id
    rise = 1e3 * float(data.xipos[cube, 2]) - AT_REST
    by_hand, by_jaw, by_others = forces(model, data, cube)
    after = copy.copy(data)
    before = data.xipos[cube].copy()
    mujoco.mj_step(model, after, nstep=round(AHEAD / model.opt.timestep))
    went = 1e3 * float(np.linalg.norm(after.xipos[cube] - before))
    return (
        Predicate("rise", rise, RISE, "mm"),
        Predicate("squeeze", min(by_hand, by_jaw), SQUEEZE, "N"),
        Predicate("others", by_others, OTHERS, "N", at_least=False),
        Predicate("stays", went, DROP, "mm", at_least=False),
    )


def forces(model: mujoco.MjModel, data: mujoco.MjData, cube: int) -> tuple[float, float, float]:
    """Return how hard the hand, the jaw and all else press the cube [N], each in sum."""
    hand, jaw = model.body("arm_link5").id, model.body("arm_jaw").id
    pressed = {hand: 0.0, jaw: 0.0, -1: 0.0}
    force: FloatArray = np.zeros(6)
    for index in range(data.ncon):
        bodies = [int(model.geom_bodyid[geom]) for geom in data.contact[index].geom]
        if cube in bodies:
            other = bodies[1] if bodies[0] == cube else bodies[0]
            mujoco.mj_contactForce(model, data, index, force)
            pressed[other if other in pressed else -1] += abs(float(force[0]))
    return pressed[hand], pressed[jaw], pressed[-1]
