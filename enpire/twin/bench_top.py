"""Whether a world has a bench where arms work: something solid, whose top is at z = 0."""

from __future__ import annotations

import logging

import mujoco
import numpy as np

from enpire.errors import PackError
from enpire.packs import Robot, World
from enpire.types import Flags

LOG = logging.getLogger(__name__)
OFF, MOST = 0.005, 0.5  # from z = 0 [m]; share of the workspace from which it is told
YIELDS = 0.1  # longest time constant of a bench's contact [s]
HOLDS = 0.5  # least share of the force of a bench's contact, as in `solimp`
APART = 0.01  # at which things touch it [m]
CREEP = 1e-6  # past what a ray has hit [m]


def require_bench_top(model: mujoco.MjModel, robot: Robot, world: World) -> None:
    """See that what arms work above is solid; tell of a top that is not at z = 0.

    Raises:
        PackError: All that lies below the workspace touches nothing: things fall through it.
    """
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    still = model.body_weldid[model.geom_bodyid] == 0
    solid = still & _touched(model, ~still)
    places = np.array(robot.limits.workspace_places())
    columns = np.unique(places[:, :2], axis=0)
    found = [_below(model, data, [x, y, places[:, 2].max()], still) for x, y in columns]
    tops = [next(((z, geom) for z, geom in each if solid[geom]), None) for each in found]
    passed = [geom for each in found for _, geom in each]
    if passed and not any(tops):
        name = model.geom(passed[0]).name or passed[0]
        raise PackError(
            f"{world.model}: nothing below the workspace of {robot.name} touches anything, and "
            f"things fall through it: give geom {name} a contype and a conaffinity of 1"
        )
    off = [top for top in tops if top is not None and abs(top[0]) > OFF]
    if len(off) > MOST * len(columns):
        z, geom = off[0]
        LOG.warning(
            "%s: geom %s lies at z = %.3g m below %.0f%% of the workspace of %s, and a bench's top "
            "is at 0: a second bench, or one at another height?",
            *(world.model, model.geom(geom).name or geom, z),
            *(100 * len(off) / len(columns), robot.name),
        )
    for geom in sorted({top[1] for top in tops if top is not None}):
        name = model.geom(geom).name or geom
        if model.geom_solref[geom, 0] > YIELDS or model.geom_solimp[geom, :2].max() < HOLDS:
            LOG.warning(
                "%s: geom %s is soft, by its solref %s and solimp %s: things sink into it",
                *(world.model, name, model.geom_solref[geom], model.geom_solimp[geom]),
            )
        if model.geom_margin[geom] - model.geom_gap[geom] > APART:
            LOG.warning(
                "%s: geom %s pushes from %.3g m away, by its margin",
                *(world.model, name, model.geom_margin[geom] - model.geom_gap[geom]),
            )


def _touched(model: mujoco.MjModel, by: Flags) -> Flags:
    """Whether each geom touches any of these, (geoms,)."""
    types, affinities = model.geom_contype, model.geom_conaffinity
    their_type, their_affinity = (np.bitwise_or.reduce(each[by]) for each in (types, affinities))
    found: Flags = ((types & their_affinity) | (affinities & their_type)) != 0
    return found


def _below(
    model: mujoco.MjModel, data: mujoco.MjData, place: list[float], of: Flags
) -> list[tuple[float, int]]:
    """Height [m] and geom of all of these that lie below a place, from above."""
    found: list[tuple[float, int]] = []
    geom, at = np.zeros(1, np.int32), np.array(place)
    down = np.array([0.0, 0.0, -1.0])
    while (rest := mujoco.mj_ray(model, data, at, down, None, True, -1, geom)) >= 0.0:
        at = at + (rest + CREEP) * down
        if of[geom[0]]:
            found.append((float(at[2]), int(geom[0])))
    return found
