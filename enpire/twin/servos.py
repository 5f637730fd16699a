"""Whether an arm's servos can carry it: their gains and forces, held against its own weight."""

from __future__ import annotations

import logging

import mujoco
import numpy as np

from enpire.errors import PackError
from enpire.packs import Robot
from enpire.twin.scene import ArmIndex, IntArray

LOG = logging.getLogger(__name__)
GRAVITY = 9.81  # [m/s^2]
# Of a servo, by the torque of its arm's weight, stretched out. Arms of makers are at 3 to 15 a rad,
# and at 0.4 to 1.4: one whose gain is for a degree, or whose torque is in N mm, is far beyond.
SOFTEST, WEAKEST, STRONGEST = 0.5, 0.03, 30.0
WIDEST = 5.0  # radius of gyration of a part of an arm [m]


def require_servos(model: mujoco.MjModel, robot: Robot, arms: tuple[ArmIndex, ...]) -> None:
    """Tell of servos that hardly carry their arm, or that could throw it.

    Raises:
        PackError: one moves nothing, or a part of the arm has the inertia of a house.
    """
    for arm in arms:
        where = f"robot {robot.name}: {arm.name}"
        gains = model.actuator_gainprm[arm.actuators, 0] * model.actuator_gear[arm.actuators, 0]
        for joint, gain in zip(arm.joints, gains, strict=True):
            if gain == 0.0:
                raise PackError(
                    f"{where}'s servo of {model.joint(int(joint)).name} moves nothing: its kp or "
                    "its gear is 0"
                )
        bodies = model.body_rootid == model.body_rootid[model.jnt_bodyid[arm.joints[0]]]
        _require_inertia(model, where, np.flatnonzero(bodies))
        if (model.jnt_type[arm.joints] != mujoco.mjtJoint.mjJNT_HINGE).any():
            continue
        length = np.linalg.norm(model.body_pos[model.jnt_bodyid[arm.joints]], axis=1).sum()
        weight = model.body_mass[bodies].sum() * GRAVITY * length
        stiff, strong = float(np.abs(gains).max()), _strongest(model, arm)
        if stiff < SOFTEST * weight:
            LOG.warning(
                "%s's servos have a kp of %.3g N m/rad at most, and its weight turns it by %.3g "
                "N m: is kp for a degree?",
                *(where, stiff, weight),
            )
        if strong and not WEAKEST * weight <= strong <= STRONGEST * weight:
            LOG.warning(
                "%s's servos turn it by %.3g N m at most, and its weight by %.3g N m: is "
                "forcerange in N m?",
                *(where, strong, weight),
            )


def _strongest(model: mujoco.MjModel, arm: ArmIndex) -> float:
    """The largest torque of an arm's servos [N m]; 0 where one has no limit."""
    if not model.actuator_forcelimited[arm.actuators].all():
        return 0.0
    gear = np.abs(model.actuator_gear[arm.actuators, 0])
    return float((model.actuator_forcerange[arm.actuators, 1] * gear).max())


def _require_inertia(model: mujoco.MjModel, where: str, bodies: IntArray) -> None:
    masses = model.body_mass[bodies].clip(mujoco.mjMINVAL)
    radii = np.sqrt(model.body_inertia[bodies].max(axis=1) / masses)
    if radii.max() > WIDEST:
        body = int(bodies[radii.argmax()])
        raise PackError(
            f"{where}: body {model.body(body).name} has an inertia of "
            f"{model.body_inertia[body].max():.3g} kg m^2 and {model.body_mass[body]:.3g} kg, as "
            f"if it were {radii.max():.3g} m wide: kg m^2, no kg mm^2"
        )
