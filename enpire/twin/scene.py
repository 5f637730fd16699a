"""One MuJoCo model of a station, with the places of its arms in the model's arrays."""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import NDArray

from enpire.packs import Robot, World

IntArray = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ArmIndex:
    """The places of one arm's quantities in the model's arrays.

    joints: joint ids, shape (dof,); qpos, actuators: addresses of the same joints, shape (dof,);
    gripper: actuator id; grasp, wrist: site ids; force: where the samples of which a reading of the
    wrist's force is the mean stand in MuJoCo's history, shape (samples, 3).
    """

    name: str
    joints: IntArray
    qpos: IntArray
    dofs: IntArray
    actuators: IntArray
    gripper: int
    grasp: int
    wrist: int
    force: IntArray


@dataclass(frozen=True, slots=True)
class Scene:
    """The compiled model of one station with the indices of its arms, and its home state."""

    model: mujoco.MjModel
    arms: tuple[ArmIndex, ...]
    robot: Robot
    world: World

    def finger_pads(self, arm: ArmIndex) -> IntArray:
        """Return the ids of an arm's finger pads: the geoms that its model calls `pad...`."""
        names = (self.model.geom(i).name for i in range(self.model.ngeom))
        pads = [i for i, name in enumerate(names) if name.startswith(f"{arm.name}_pad")]
        return np.array(pads, np.int64)
