"""Motions that tell an object's mass and its sliding friction: pushed one way, carried back.

Fingers around the object shut, which puts it against the finger that does not move. They carry it
to one side, which tells its weight, whatever the bench is like; they put it down, open, and the arm
turns about its first joint: what that joint bears is friction times weight, of which a slow push
tells the product alone. Then they carry it back, to push it again.

The finger that does not move is the one that pushes. It stands upright, and meets the object's
whole side; one that turns open is aslant and meets its upper edge, over which what is rough tips.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import mujoco
import numpy as np
from scipy.optimize import least_squares

from enpire.errors import UsageError
from enpire.identification.arms import ArmsModel
from enpire.identification.motion import RANGE, REST, SHARE, ExcitationMotion, allowed, fastest
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
    """What a motion does with an object."""

    turn: float = 0.15  # to each side about the first joint [rad]
    push: float = 4.0  # duration of one at least [s]
    stroke: float = 0.8  # of every other way [s]
    pushes: int = 4  # how often it is carried to one side and pushed to the other
    lift: float = 0.04  # height [m]


def handling(scene: Scene, moves: Moves, rate: float) -> ExcitationMotion:
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
    aside = _turn_direction(scene, arm, low, opened, shut) * moves.turn * np.eye(len(low))[0]
    begin, end = low - aside, low + aside
    still, way = GRIP_S, moves.stroke
    route = [(low, opened, 0.0), (low, shut, still), (high, shut, way)]
    for _ in range(moves.pushes):
        route += [(high - aside, shut, way), (begin, shut, way), (begin, opened, still)]
        route += [(end, opened, moves.push), (end, shut, still), (high + aside, shut, way)]
    route += [(high, shut, way), (low, shut, way), (low, opened, still)]
    made = _along(scene, route, rate)
    if not allowed(scene, made.sent[:, :-1], 1.0 / rate):
        raise UsageError(f"{scene.robot.name} may not handle what lies at {point[:2]} [m]: limits")
    return made


def _turn_direction(
    scene: Scene, arm: ArmIndex, low: FloatArray, opened: float, shut: float
) -> float:
    """Whither the arm turns, -1 or 1, behind the finger that stands still when the other opens."""
    model, data = scene.model, mujoco.MjData(scene.model)
    axes = ArmsModel(scene, ())
    places = []
    for gripper in (shut, opened):
        data.qpos[:] = axes.at(np.append(low, gripper))
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        places.append(data.xipos.copy())
    joint = arm.joints[0]
    tangent = np.cross(data.xaxis[joint], data.site_xpos[arm.grasp] - data.xanchor[joint])
    return -1.0 if ((places[1] - places[0]) @ tangent).sum() < 0.0 else 1.0


def _along(
    scene: Scene, route: list[tuple[FloatArray, float, float]], rate: float
) -> ExcitationMotion:
    """The motion along a route of postures and grippers, from rest to rest, as limits allow.

    route: joints, gripper, and the least that the way there lasts [s].
    """
    speed, acceleration = fastest(scene, rate)
    hand = SHARE * scene.robot.limits.cartesian_speed
    reach = np.linalg.norm(scene.robot.limits.workspace_high)  # of a turn at most [m/rad]
    rows = [np.tile([*route[0][0], route[0][1]], (round(REST * rate), 1))]
    for (q0, g0, _), (q1, g1, least) in pairwise(route):
        way = abs(q1 - q0)
        seconds = max(
            least,
            float((STEEPEST * way / speed).max()),
            float(np.sqrt(CURVED * way / acceleration).max()),
            float(STEEPEST * reach * way.max() / hand),
        )
        s = np.arange(1, round(seconds * rate) + 1)[:, None] / round(seconds * rate)
        part = s**3 * (10 - 15 * s + 6 * s**2)
        rows.append(np.append(q0, g0) + part * np.append(q1 - q0, g1 - g0))
    rows.append(np.tile(rows[-1][-1], (round(REST * rate), 1)))
    sent = np.concatenate(rows)
    return ExcitationMotion(np.arange(len(sent)) / rate, sent)


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
