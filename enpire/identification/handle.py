"""Motions that tell an object's mass and its sliding friction: pushed to and fro, then carried.

Fingers around the object shut once, which puts it in their middle, and open. Then the arm turns
about its first joint, to and fro, and they push the object over the bench: what the joint bears is
friction times weight, of which a slow push tells the product alone. Then they grip it and lift it,
which tells the weight; what the arm does with it in the air, no bench takes part in.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import mujoco
import numpy as np
from scipy.optimize import least_squares

from enpire.errors import UsageError
from enpire.identification.motion import RANGE, REST, SHARE, Motion, allowed, fastest
from enpire.twin import Scene, objects
from enpire.twin.scene import ArmIndex
from enpire.types import FloatArray

OPEN = 0.24  # of a gripper's range: some 3 mm on each side of what is 25 mm wide
ABOVE = 0.004  # of the hand over the object's middle when it grips [m]
GRIP_S = 0.6  # in which fingers shut or open
REACHED = 1e-3  # from where the hand is to be [m]
STEEPEST, CURVED = 1.875, 5.774  # of a quintic from rest to rest: speed, acceleration


@dataclass(frozen=True, slots=True)
class Moves:
    """What a motion does with an object.

    turn: to each side about the first joint [rad]; stroke: duration of one such turn at least [s];
    pushes: turns there and back on the bench, and as many in the air; lift: height [m]; lifts: how
    often it is lifted, and put down half as far.
    """

    turn: float = 0.12
    stroke: float = 0.8
    pushes: int = 2
    lift: float = 0.06
    lifts: int = 1


def handling(scene: Scene, moves: Moves, rate: float) -> Motion:
    """Setpoints at `rate` [Hz] that begin and end at rest, with open fingers around the object.

    scene: of `arms.with_task`, of one arm; the object lies where the scene has it.

    Raises:
        UsageError: more arms than one, or its limits, or its reach, do not allow it.
    """
    if len(scene.arms) != 1:
        raise UsageError(f"{scene.robot.name} has {len(scene.arms)} arms: one handles an object")
    (arm,), (of_pack,) = scene.arms, scene.robot.arms
    shut, wide = of_pack.gripper_range
    opened = shut + OPEN * (wide - shut)
    thing = next(iter(objects.things(scene).values()))
    address = scene.model.jnt_qposadr[scene.model.body_jntadr[thing.body]]
    point = scene.model.qpos0[address : address + 3] + ABOVE * np.eye(3)[2]
    low = _posture(scene, arm, point, np.array(of_pack.home))
    high = _posture(scene, arm, point + moves.lift * np.eye(3)[2], low)
    middle = 0.5 * (low + high)
    aside = moves.turn * np.eye(len(low))[0]
    route: list[tuple[FloatArray, float]] = [(low, opened), (low, shut), (low, opened)]
    for _ in range(moves.pushes):
        route += [(low + aside, opened), (low - aside, opened)]
    route += [(low, opened), (low, shut)]
    for _ in range(moves.lifts):
        route += [(high, shut), (middle, shut)]
    for _ in range(moves.pushes):
        route += [(middle + aside, shut), (middle - aside, shut)]
    route += [(middle, shut), (low, shut), (low, opened)]
    made = _along(scene, route, moves.stroke, rate)
    if not allowed(scene, made.sent[:, :-1], 1.0 / rate):
        raise UsageError(f"{scene.robot.name} may not handle what lies at {point[:2]} [m]: limits")
    return made


def _along(
    scene: Scene, route: list[tuple[FloatArray, float]], least: float, rate: float
) -> Motion:
    """From rest to rest along a route of postures and grippers, each way as long as limits say."""
    speed, acceleration = fastest(scene, rate)
    hand = SHARE * scene.robot.limits.cartesian_speed
    reach = np.linalg.norm(scene.robot.limits.workspace_high)  # of a turn at most [m/rad]
    rows = [np.tile([*route[0][0], route[0][1]], (round(REST * rate), 1))]
    for (q0, g0), (q1, g1) in pairwise(route):
        way = abs(q1 - q0)
        seconds = max(
            GRIP_S if g0 != g1 else least,
            float((STEEPEST * way / speed).max()),
            float(np.sqrt(CURVED * way / acceleration).max()),
            float(STEEPEST * reach * way.max() / hand),
        )
        s = np.arange(1, round(seconds * rate) + 1)[:, None] / round(seconds * rate)
        part = s**3 * (10 - 15 * s + 6 * s**2)
        rows.append(np.append(q0, g0) + part * np.append(q1 - q0, g1 - g0))
    rows.append(np.tile(rows[-1][-1], (round(REST * rate), 1)))
    sent = np.concatenate(rows)
    return Motion(np.arange(len(sent)) / rate, sent)


def _posture(scene: Scene, arm: ArmIndex, point: FloatArray, near: FloatArray) -> FloatArray:
    """Joints with the hand at a point, pointing down, its fingers to the left and right of it."""
    model, data = scene.model, mujoco.MjData(scene.model)
    low, high = model.jnt_range[arm.joints].T
    base = model.body_pos[model.body_parentid[model.jnt_bodyid[arm.joints[0]]]]
    radial = (point - base) * (1.0, 1.0, 0.0)
    radial /= np.linalg.norm(radial)

    def miss(q: FloatArray) -> FloatArray:
        data.qpos[arm.qpos] = q
        mujoco.mj_kinematics(model, data)
        frame = data.site_xmat[arm.grasp].reshape(3, 3)
        off = 10.0 * (data.site_xpos[arm.grasp] - point)
        turned = [*frame[:2, 2], frame[:, 0] @ radial]
        return np.concatenate([off, turned, 1e-4 * (q - near)])

    bounds = low + RANGE, high - RANGE
    found = least_squares(miss, np.clip(near, *bounds), bounds=bounds, x_scale=0.1).x
    if np.linalg.norm(miss(found)[:3]) > 10.0 * REACHED:
        raise UsageError(f"{scene.robot.name} does not reach {point} [m] with its hand down")
    return np.asarray(found, np.float64)
