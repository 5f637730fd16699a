"""What of a task's loose objects no data sheet tells, by name, and where it stands in the model.

| name | unit | what it is |
|---|---|---|
| OBJECT/mass | kg | its inertia goes with it |
| OBJECT/friction | 1 | sliding friction of its geoms, the first one's; the others' go with it |

An object is a free body of the task's. Where its geoms have no priority over what they touch,
MuJoCo takes the greater friction of the two, and what is written here may not be what acts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from enpire.twin.scene import Scene

PREFIX = "task_"  # of what is a task's in a scene
KINDS = MASS, SLIDING = "mass", "friction"

Fields = Callable[[str], NDArray[Any]]
"""A field of MuJoCo's model by name, with a leading axis over simulations; live."""


@dataclass(frozen=True, slots=True, eq=False)
class Thing:
    """The place of one parameter of an object: its body, the geoms that touch, the kind."""

    body: int
    geoms: NDArray[np.int64]
    kind: str


def things(scene: Scene) -> dict[str, Thing]:
    """All parameters of a scene's loose objects, by name."""
    model, found = scene.model, dict[str, Thing]()
    for joint in np.flatnonzero(model.jnt_type == mujoco.mjtJoint.mjJNT_FREE):
        body = int(model.jnt_bodyid[joint])
        touching = (model.geom_contype | model.geom_conaffinity) != 0
        geoms = np.flatnonzero((model.geom_bodyid == body) & touching)
        name = model.body(body).name.removeprefix(PREFIX)
        if len(geoms):
            found |= {f"{name}/{kind}": Thing(body, geoms, kind) for kind in (MASS, SLIDING)}
    return found


def read(thing: Thing, fields: Fields) -> NDArray[np.float64]:
    """A parameter's values, (simulations,)."""
    if thing.kind == MASS:
        return np.array(fields("body_mass")[:, thing.body], np.float64)
    return np.array(fields("geom_friction")[:, thing.geoms[0], 0], np.float64)


def write(
    scene: Scene,
    thing: Thing,
    fields: Fields,
    values: NDArray[np.float64] | np.float64,
    row: Any = slice(None),
) -> None:
    """Set a parameter of the simulations `row` to values, (simulations,) or one number.

    Of masses MuJoCo derives constants: `mj_setConst` comes after it.
    """
    model = scene.model
    if thing.kind == MASS:
        inertia = model.body_inertia[thing.body] / model.body_mass[thing.body]
        fields("body_mass")[row, thing.body] = values
        fields("body_inertia")[row, thing.body] = np.asarray(values)[..., None] * inertia
        return
    ratios = model.geom_friction[thing.geoms, 0] / model.geom_friction[thing.geoms[0], 0]
    for geom, ratio in zip(thing.geoms, ratios, strict=True):
        fields("geom_friction")[row, geom, 0] = values * ratio
