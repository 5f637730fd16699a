"""Whether the cameras of a world see where hands work."""

from __future__ import annotations

import math

import mujoco
import numpy as np

from enpire.errors import PackError
from enpire.packs import Robot, World
from enpire.pinhole import in_picture
from enpire.types import Flags, FloatArray

ASPECT = 4 / 3  # of a picture
HOUSING = 0.1  # radius of what a camera may be within, and see out of [m]


def require_sight(model: mujoco.MjModel, robot: Robot, world: World) -> None:
    """Refuse a world whose camera looks elsewhere, or stands below its bench or within it.

    Each camera that stands in the world is shown to policies and to the verifier.

    Raises:
        PackError: One sees no place of the robot's workspace, or has no name.
    """
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    mujoco.mj_camlight(model, data)
    places = np.array(robot.limits.workspace_places())
    for camera in np.flatnonzero(model.cam_bodyid == 0).tolist():
        at = data.cam_xpos[camera]
        if not model.camera(camera).name:
            raise PackError(
                f"{world.model}, or what stands on it: the camera at "
                f"{', '.join(f'{x:.3g}' for x in at)} m has no name: pictures are by their camera's"
            )
        shown = places[_in_picture(model, data, camera, places)]
        hidden_by = ""
        for place in shown:
            if not (hidden_by := _between(model, data, at, place)):
                break
        if len(shown) and not hidden_by:
            continue
        why = f"{hidden_by} stands between" if hidden_by else "it looks elsewhere"
        low, high = robot.limits.workspace_low, robot.limits.workspace_high
        raise PackError(
            f"{world.model}: camera {model.camera(camera).name}, at "
            f"{', '.join(f'{x:.3g}' for x in at)} m, sees nothing of the workspace of "
            f"{robot.name} from {list(low)} to {list(high)}: {why}. Look at its pos and its turn"
        )


def _in_picture(
    model: mujoco.MjModel, data: mujoco.MjData, camera: int, places: FloatArray
) -> Flags:
    """Which of these places (n, 3) a camera has before it; all of them if it is no pinhole."""
    if model.cam_projection[camera] == mujoco.mjtProjection.mjPROJ_ORTHOGRAPHIC:
        return np.ones(len(places), bool)
    seen = (places - data.cam_xpos[camera]) @ data.cam_xmat[camera].reshape(3, 3)
    most = np.array([ASPECT, 1.0]) * math.tan(math.radians(model.cam_fovy[camera]) / 2)
    return in_picture(seen * (1.0, -1.0, -1.0), -most, most)  # it looks along -z, y up


def _between(model: mujoco.MjModel, data: mujoco.MjData, at: FloatArray, place: FloatArray) -> str:
    """Return what of the world hides a place from a camera; empty if it is seen."""
    way, begin = place - at, 0.0
    geom = np.zeros(1, np.int32)
    while True:
        rest = mujoco.mj_ray(model, data, at + begin * way, way, None, True, -1, geom)
        begin += rest + 1e-6
        if rest < 0.0 or begin >= 1.0:
            return ""
        hit = int(geom[0])
        of_world = model.geom_bodyid[hit] == 0  # an arm moves out of the way
        large = not 0.0 < model.geom_rbound[hit] <= HOUSING  # a plane's is 0
        if of_world and large and model.geom_rgba[hit, 3] == 1.0:
            return model.geom(hit).name or f"geom {hit}"
