"""A scene in the mirror that a pack's `symmetry.toml` names, as sensors would read it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import mujoco
import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from enpire.environment import Mirror, Readings, Stations
from enpire.errors import PackError
from enpire.packs.finder import SYMMETRY
from enpire.twin.objects import PREFIX
from enpire.types import FloatArray

HAND = "hand"  # under [mirror.across]: all hands
RAYS = 400  # that look at an object from all around
ALIKE = 0.95  # of them see the same in the mirror; the others graze an edge
CLOSE = 0.02  # of an object's size: how near is the same
ASIDE, TILT = 0.02, 0.2  # how far hands and objects are moved before they are mirrored [m, rad]


@dataclass(frozen=True, slots=True)
class TrackedBody:
    """A loose object and what is tracked on it."""

    name: str
    body: int
    sites: NDArray[np.int64]  # which of the tracked ones
    # place, turn: theirs in its frame, (n, 3) [m] and (n, 3, 3)
    place: FloatArray
    turn: FloatArray
    middle: FloatArray  # its centre of mass there [m]


class MirroredScene:
    """Readings of a task in the mirror of its pack."""

    def __init__(self, stations: Stations, mirror: Mirror) -> None:
        """Find what moves there.

        Raises:
            PackError: `across` leaves out what moves, names what does not, or an object is not its
                own mirror image.
        """
        self.mirror = mirror
        cos, sin = np.cos(2.0 * mirror.axis), np.sin(2.0 * mirror.axis)
        self._plane = np.array([[cos, sin, 0.0], [sin, -cos, 0.0], [0.0, 0.0, 1.0]])
        self._through = np.array([*mirror.through, 0.0])
        model = stations.twin.scene.model
        self._bodies = _bodies(model, stations.task.tracked)
        self._across = dict(mirror.across)
        names = {HAND, *(each.name for each in self._bodies)}
        if wrong := names ^ self._across.keys():
            raise PackError(
                f"{stations.task.folder / SYMMETRY} [mirror.across]: it has to name "
                f"{', '.join(sorted(names))}, and nothing else; {', '.join(sorted(wrong))} is "
                f"{'left out' if wrong & names else 'none of them'}"
            )
        for each in self._bodies:
            _require_own_image(stations, each, self._across[each.name])

    def apart(self, readings: Readings, rng: np.random.Generator) -> Readings:
        """Return readings with hands and objects a little elsewhere: no entry is at rest."""

        def small(rows: int) -> tuple[FloatArray, FloatArray]:
            turns = Rotation.from_rotvec(rng.uniform(-TILT, TILT, (rows, 3))).as_matrix()
            return rng.uniform(-ASIDE, ASIDE, (rows, 3)), turns

        by, turn = small(readings.hand_position.shape[1])
        moved = replace(
            readings,
            hand_position=readings.hand_position + by,
            hand_rotation=turn @ readings.hand_rotation,
        )
        for each in self._bodies:
            (by,), (turn,) = small(1)
            at, turned = _pose(readings, each)
            moved = _put(moved, each, at + by, turn @ turned)
        return moved

    def mirrored(self, readings: Readings) -> Readings:
        """Return the readings (1 row) of the scene in the mirror."""
        plane, through = self._plane, self._through
        result = replace(
            readings,
            hand_position=(readings.hand_position - through) @ plane + through,
            hand_rotation=plane @ readings.hand_rotation @ _across(self._across[HAND]),
            wrist_force=readings.wrist_force @ plane,
            lead=readings.lead @ plane,
        )
        for each in self._bodies:
            at, turn = _pose(readings, each)
            middle = plane @ (at + turn @ each.middle - through) + through
            turn = plane @ turn @ _across(self._across[each.name])
            result = _put(result, each, middle - turn @ each.middle, turn)
        return result


def _across(axis: int) -> FloatArray:
    """Return what mirrors an object's own axis, (3, 3)."""
    signs = np.ones(3)
    signs[axis] = -1.0
    return np.diag(signs)


def _bodies(model: mujoco.MjModel, tracked: tuple[str, ...]) -> list[TrackedBody]:
    """Return the loose objects that are tracked; what is fixed to the world stays in a mirror."""
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    sites = np.array([model.site(name).id for name in tracked], np.int64)
    roots = model.body_rootid[model.site_bodyid[sites]]
    result = []
    for root in np.unique(roots):
        if not model.body_dofnum[root]:
            continue
        own = np.flatnonzero(roots == root)
        at, turn = data.xpos[root], data.xmat[root].reshape(3, 3)
        result.append(
            TrackedBody(
                model.body(root).name.removeprefix(PREFIX),
                int(root),
                own,
                (data.site_xpos[sites[own]] - at) @ turn,
                turn.T @ data.site_xmat[sites[own]].reshape(-1, 3, 3),
                (data.subtree_com[root] - at) @ turn,
            )
        )
    return result


def _pose(readings: Readings, each: TrackedBody) -> tuple[FloatArray, FloatArray]:
    """Return where an object is, (3,) [m] and (3, 3), by the first of its sites."""
    turn = readings.rotation[0, each.sites[0]] @ each.turn[0].T
    return readings.position[0, each.sites[0]] - turn @ each.place[0], turn


def _put(readings: Readings, each: TrackedBody, at: FloatArray, turn: FloatArray) -> Readings:
    """Return readings with an object elsewhere, (3,) [m] and (3, 3)."""
    position, rotation = readings.position.copy(), readings.rotation.copy()
    position[0, each.sites] = at + each.place @ turn.T
    rotation[0, each.sites] = turn @ each.turn
    return replace(readings, position=position, rotation=rotation)


def _require_own_image(stations: Stations, each: TrackedBody, axis: int) -> None:
    """Raise PackError unless rays see the same of an object and of its mirror image."""
    model = stations.twin.scene.model
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    turn = data.xmat[each.body].reshape(3, 3)
    middle = data.xpos[each.body] + turn @ each.middle
    touching = (model.geom_contype | model.geom_conaffinity) != 0
    geoms = np.flatnonzero((model.body_rootid[model.geom_bodyid] == each.body) & touching)
    size = max(
        (np.linalg.norm(data.geom_xpos[g] - middle) + model.geom_rbound[g] for g in geoms),
        default=0.0,
    )
    rng = np.random.default_rng(0)
    starts = rng.normal(size=(RAYS, 3))
    starts *= 2.0 * size / np.linalg.norm(starts, axis=1, keepdims=True)
    ways = 0.5 * rng.uniform(-size, size, (RAYS, 3)) - starts
    mirror = _across(axis)

    def seen(starts: FloatArray, ways: FloatArray) -> FloatArray:
        starts, ways = middle + starts @ turn.T, ways @ turn.T
        return np.array(
            [_nearest(model, data, geoms, *ray) for ray in zip(starts, ways, strict=True)]
        )

    off = abs(seen(starts, ways) - seen(starts @ mirror, ways @ mirror))
    if len(geoms) and np.mean(off < CLOSE) < ALIKE:
        raise PackError(
            f"{stations.task.folder / SYMMETRY} [mirror.across]: {each.name} is not its own mirror "
            f"image across its {'xyz'[axis]}"
        )


def _nearest(
    model: mujoco.MjModel,
    data: mujoco.MjData,
    geoms: NDArray[np.int64],
    start: FloatArray,
    way: FloatArray,
) -> float:
    """Return where a ray first meets one of the geoms, in ways; -1 where it meets none."""
    met = []
    for geom in geoms:
        at, turn = data.geom_xpos[geom], data.geom_xmat[geom]
        kind, size = model.geom_type[geom], model.geom_size[geom]
        if kind == mujoco.mjtGeom.mjGEOM_MESH:
            met.append(mujoco.mj_rayMesh(model, data, geom, start, way))
        else:
            met.append(mujoco.mju_rayGeom(at, turn, size, start, way, kind))
    return min((far for far in met if far >= 0.0), default=-1.0)
