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
    """The places of one arm's quantities in the model's arrays."""

    name: str
    joints: IntArray  # joint ids, (dof,)
    qpos: IntArray  # addresses of the same joints, (dof,)
    dofs: IntArray
    actuators: IntArray  # addresses of the same joints, (dof,)
    gripper: int  # actuator id
    grasp: int  # site id
    wrist: int  # site id
    # Where the samples of which a reading of the wrist's force is the mean stand in MuJoCo's
    # history, (samples, 3).
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
