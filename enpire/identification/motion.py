"""Motions that begin and end at rest at home, within an arm's limits: sums of sines in its joints.

After Swevers et al. 1997 (Optimal robot excitation and identification, IEEE T-RA 13-5), with a
smooth beginning and end. Each joint is scaled down until its own limits hold, and then all together
until those of the hands do.
"""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np

from enpire.errors import UsageError
from enpire.twin import Scene
from enpire.types import FloatArray

FREQUENCIES = np.array([0.15, 0.4, 0.9, 1.7, 3.0])  # [Hz]
RAMP = 1.0  # in which it comes to its amplitude, and again to rest [s]
REST = 0.5  # before and after [s]
SHARE = 0.95  # of the limits that is used
RANGE = 0.05  # kept from the ends of a joint's range [rad]
LARGEST = 0.6  # amplitude of a sine [rad]
STEP = 0.5  # of a servo's limit, its gain times a setpoint's step: it saturates at no step
SHRINK = 0.93  # of a motion that breaks a limit, again and again
SMALLEST = 1e-3  # of what was asked for: no smaller motion is worth playing


@dataclass(frozen=True, slots=True, eq=False)
class ExcitationMotion:
    """Setpoints (T, axes) at stamps (T,) [s], grippers open."""

    stamps: FloatArray
    sent: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Waves:
    """Amplitudes [rad] and phases [rad] of the sines, each (joints, frequencies)."""

    amplitudes: FloatArray
    phases: FloatArray


def draw(scene: Scene, rng: np.random.Generator, rate: float) -> Waves:
    """A random motion: what each frequency may at most, by speed and acceleration, at random."""
    largest = greatest(scene, rate)
    share = rng.uniform(0.0, 1.0, largest.shape)
    return Waves(share * largest, rng.uniform(0, 2 * np.pi, largest.shape))


def greatest(scene: Scene, rate: float) -> FloatArray:
    """The amplitude at which a sine alone meets a joint's limits, (joints, frequencies) [rad]."""
    omega = 2 * np.pi * FREQUENCIES
    speed, acceleration = fastest(scene, rate)
    result: FloatArray = np.minimum(speed[:, None] / omega, acceleration[:, None] / omega**2)
    return result.clip(max=LARGEST)


def motion(scene: Scene, waves: Waves, seconds: float, rate: float) -> ExcitationMotion:
    """Setpoints at `rate` [Hz], as large as asked for if the limits allow it.

    Raises:
        UsageError: too short, or an arm that may not even be at home.
    """
    if seconds < 2 * (RAMP + REST):
        raise UsageError(f"a motion takes at least {2 * (RAMP + REST):g} s")
    robot = scene.robot
    stamps = np.arange(round(seconds * rate)) / rate
    inside = np.clip(np.minimum(stamps - REST, stamps[-1] - REST - stamps) / RAMP, 0.0, 1.0)
    ramp = inside**3 * (10 - 15 * inside + 6 * inside**2)
    angle = 2 * np.pi * FREQUENCIES[:, None] * stamps
    waved = waves.amplitudes[:, :, None] * np.sin(angle + waves.phases[:, :, None])
    way = (ramp * waved.sum(1)).T  # (T, joints)
    home = np.concatenate([arm.home for arm in robot.arms])
    way = way * _room(scene, home, way, 1.0 / rate)
    size = 1.0
    while not allowed(scene, home + size * way, 1.0 / rate):
        size *= SHRINK
        if size < SMALLEST:
            raise UsageError(f"{robot.name} has no room to move in at home, within its limits")
    joints = (home + size * way).reshape(len(stamps), len(robot.arms), -1)
    opened = np.array([arm.gripper_range[1] for arm in robot.arms])
    grippers = np.broadcast_to(opened[:, None], (len(stamps), len(robot.arms), 1))
    sent = np.concatenate([joints, grippers], axis=2).reshape(len(stamps), -1)
    return ExcitationMotion(stamps, sent)


def _room(scene: Scene, home: FloatArray, way: FloatArray, period: float) -> FloatArray:
    """The factors (joints,), at most 1, by which joints' ways (T, joints) from home fit in."""
    ids = np.concatenate([arm.joints for arm in scene.arms])
    low, high = scene.model.jnt_range[ids].T
    most_speed, most_acceleration = fastest(scene, 1.0 / period)
    speed = np.diff(way, axis=0) / period
    acceleration = np.diff(speed, axis=0) / period
    rooms = [
        (home - low - RANGE) / np.maximum(-way.min(0), 1e-9),
        (high - RANGE - home) / np.maximum(way.max(0), 1e-9),
        most_speed / np.maximum(abs(speed).max(0), 1e-9),
        most_acceleration / np.maximum(abs(acceleration).max(0), 1e-9),
    ]
    result: FloatArray = np.clip(np.min(rooms, axis=0), 0.0, 1.0)
    return result


def fastest(scene: Scene, rate: float) -> tuple[FloatArray, FloatArray]:
    """Speeds [rad/s] and accelerations [rad/s^2] that a motion may have, (joints,)."""
    limits, model = scene.robot.limits, scene.model
    servos = np.concatenate([arm.actuators for arm in scene.arms])
    step = STEP * model.actuator_forcerange[servos, 1] / model.actuator_gainprm[servos, 0]
    speed = np.minimum(SHARE * np.tile(limits.joint_speed, len(scene.arms)), step * rate)
    return speed, SHARE * np.tile(limits.joint_acceleration, len(scene.arms))


def allowed(scene: Scene, joints: FloatArray, period: float) -> bool:
    """Whether with setpoints (T, joints) the hands keep to their boxes and speeds."""
    limits = scene.robot.limits
    at = hands(scene, joints)
    if (at < limits.workspace_low).any() or (at > limits.workspace_high).any():
        return False
    hand_speed = np.linalg.norm(np.diff(at, axis=0), axis=2) / period
    return bool((hand_speed <= SHARE * limits.cartesian_speed).all())


def hands(scene: Scene, joints: FloatArray) -> FloatArray:
    """Grasp points (T, arms, 3) [m] of joints (T, joints)."""
    data = mujoco.MjData(scene.model)
    qpos = np.concatenate([arm.qpos for arm in scene.arms])
    grasps = [arm.grasp for arm in scene.arms]
    found = np.empty((len(joints), len(grasps), 3))
    for row, at in enumerate(joints):
        data.qpos[qpos] = at
        mujoco.mj_kinematics(scene.model, data)
        found[row] = data.site_xpos[grasps]
    return found
