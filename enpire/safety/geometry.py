"""Where the arms may be: workspace, keep-out boxes, and clear of themselves, by MuJoCo's distances.

All geoms of the arms count, those too that are only drawn on the twin.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import mujoco
import numpy as np

from enpire.errors import PackError
from enpire.packs import Robot
from enpire.safety.limits import SafetyLimits
from enpire.safety.rules import GateRule
from enpire.types import FloatArray

LOOKS = 64  # on one way at most: a longer one cannot be looked through in time, and is not free


@dataclass(frozen=True, slots=True)
class Box:
    """A keep-out box that no part of an arm enters: low and high corner, world frame [m]."""

    name: str
    low: tuple[float, float, float]
    high: tuple[float, float, float]


class Geometry:
    """The arms of a robot pack among keep-out boxes; a `Space` for the gate."""

    def __init__(self, robot: Robot, limits: SafetyLimits, boxes: Sequence[Box] = ()) -> None:
        """Compile the arms; raises PackError if that fails.

        `touching`: pairs of bodies that are near at home already, so that shapes say nothing of
        them: they are not looked at, nor is a body with its parent or its sibling.
        """
        self._low, self._high = limits.workspace_low, limits.workspace_high
        self._clearance = limits.clearance
        self._boxes = len(boxes)
        spec = _scene(robot, limits, boxes)
        self._take(_compiled(spec, robot), robot)
        _exclude(spec, _overlapping(self._model))
        self._take(_compiled(spec, robot), robot)
        self._place(np.concatenate([[*arm.home, arm.gripper_range[1]] for arm in robot.arms]))
        self.touching = self._touch()
        _exclude(spec, self.touching)
        self._take(_compiled(spec, robot), robot)

    def _take(self, model: mujoco.MjModel, robot: Robot) -> None:
        self._model, self._data = model, mujoco.MjData(model)
        names = [arm.name for arm in robot.arms]
        self._grasp = np.array([model.site(f"{name}_grasp").id for name in names])
        axes = [_axis_of(model, f"{n}_{a}") for n in names for a in _actuators(robot)]
        self._qpos = np.concatenate([qpos for qpos, _, _ in axes])
        self._coef = np.concatenate([coef for _, coef, _ in axes])
        self._of = np.repeat(np.arange(len(axes)), [len(qpos) for qpos, _, _ in axes])
        self._reach = np.array([_reach(model, body) for _, _, body in axes])

    def forbidden(self, posture: FloatArray) -> GateRule:
        """The rule that a posture, (axes,), breaks, or NONE."""
        self._place(posture)
        hands = self._data.site_xpos[self._grasp]
        if (hands < self._low).any() or (hands > self._high).any():
            return GateRule.WORKSPACE
        mujoco.mj_collision(self._model, self._data)
        if not self._data.ncon:
            return GateRule.NONE
        near = self._data.contact.geom[self._data.contact.dist < self._clearance]
        if not len(near):
            return GateRule.NONE
        # A world of arms and boxes: the boxes are its first geoms.
        return GateRule.KEEP_OUT if (near < self._boxes).any() else GateRule.SELF_COLLISION

    def blocked(self, start: FloatArray, end: FloatArray) -> GateRule:
        """The rule broken on the straight way to a posture from one that is free, or NONE.

        Between two looks nothing moves farther than the clearance, towards anything else.
        """
        farthest = float(abs(end - start) @ self._reach)
        looks = int(np.ceil(farthest / self._clearance)) if farthest > 1e-9 else 0
        if looks > LOOKS:
            return GateRule.BRAKING_WAY
        for look in range(1, looks + 1):
            rule = self.forbidden(start + (end - start) * (look / looks))
            if rule:
                return rule
        return GateRule.NONE

    def hands(self, posture: FloatArray) -> FloatArray:
        """Grasp points, (arms, 3), world frame [m]."""
        self._place(posture)
        hands: FloatArray = self._data.site_xpos[self._grasp]  # an index array: copied
        return hands

    def _place(self, posture: FloatArray) -> None:
        self._data.qpos[self._qpos] = posture[self._of] * self._coef
        mujoco.mj_kinematics(self._model, self._data)

    def _touch(self) -> tuple[tuple[str, str], ...]:
        """Bodies nearer to one another than the clearance, at the posture placed last."""
        mujoco.mj_collision(self._model, self._data)
        contact = self._data.contact
        near = contact.geom[contact.dist < self._clearance]
        near = near[(near >= self._boxes).all(1)]
        pairs = {tuple(sorted(pair)) for pair in self._model.geom_bodyid[near].tolist()}
        return tuple(
            (str(self._model.body(a).name), str(self._model.body(b).name)) for a, b in sorted(pairs)
        )


def _actuators(robot: Robot) -> list[str]:
    return [*(f"joint{i + 1}" for i in range(len(robot.arms[0].home))), "gripper"]


def _scene(robot: Robot, limits: SafetyLimits, boxes: Sequence[Box]) -> mujoco.MjSpec:
    spec = mujoco.MjSpec()
    for index, box in enumerate(boxes):
        low, high = np.array(box.low), np.array(box.high)
        spec.worldbody.add_geom(
            name=f"keep_out_{index}",
            type=mujoco.mjtGeom.mjGEOM_BOX,
            pos=(low + high) / 2,
            size=(high - low) / 2,
        )
    for arm in robot.arms:
        frame = spec.worldbody.add_frame(pos=arm.position, quat=arm.quaternion)
        spec.attach(mujoco.MjSpec.from_file(str(arm.model)), prefix=f"{arm.name}_", frame=frame)
    for geom in spec.geoms:
        geom.contype = geom.conaffinity = 1
        geom.margin, geom.gap = limits.clearance, 0.0
    return spec


def _compiled(spec: mujoco.MjSpec, robot: Robot) -> mujoco.MjModel:
    try:
        return spec.compile()
    except (ValueError, mujoco.FatalError) as error:
        raise PackError(f"the arms of {robot.name} do not compile: {error}") from error


def _exclude(spec: mujoco.MjSpec, pairs: Iterable[tuple[str, str]]) -> None:
    for first, second in pairs:
        exclude = spec.add_exclude()
        exclude.bodyname1, exclude.bodyname2 = first, second


def _axis_of(model: mujoco.MjModel, name: str) -> tuple[FloatArray, FloatArray, int]:
    """Joint positions that an actuator's setpoint stands for: addresses, factors, first body."""
    actuator = model.actuator(name).id
    target = int(model.actuator_trnid[actuator, 0])
    if model.actuator_trntype[actuator] == mujoco.mjtTrn.mjTRN_JOINT:
        joints, coef = np.array([target]), np.ones(1)
    else:  # a fixed tendon: its length is the sum of coef * joint; all joints move alike
        first, count = model.tendon_adr[target], model.tendon_num[target]
        joints = model.wrap_objid[first : first + count]
        given = model.wrap_prm[first : first + count]
        coef = given / (given @ given)
    return model.jnt_qposadr[joints], coef, int(model.jnt_bodyid[joints[0]])


def _reach(model: mujoco.MjModel, body: int) -> float:
    """How far, at most, anything carried by a body's joint is from the joint's axis [m].

    For a sliding joint one metre a metre; both are bounds of what a unit of the joint moves.
    """
    joint = int(model.body_jntadr[body])
    if model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_SLIDE:
        return 1.0
    farthest = _extent(model, body)
    for child in range(body + 1, model.nbody):
        way, at = 0.0, child
        while at > body:
            way += float(np.linalg.norm(model.body_pos[at]))
            at = int(model.body_parentid[at])
        if at == body:
            farthest = max(farthest, way + _extent(model, child))
    return farthest


def _extent(model: mujoco.MjModel, body: int) -> float:
    geoms = [g for g in range(model.ngeom) if model.geom_bodyid[g] == body]
    return max(
        (float(np.linalg.norm(model.geom_pos[g])) + float(model.geom_rbound[g]) for g in geoms),
        default=0.0,
    )


def _overlapping(model: mujoco.MjModel) -> list[tuple[str, str]]:
    """A body with its parent, and bodies of one parent (two fingers): their shapes overlap."""
    parent = model.body_parentid.tolist()
    pairs = [(parent[b], b) for b in range(1, model.nbody) if parent[b]]
    pairs += [
        (a, b)
        for b in range(1, model.nbody)
        for a in range(1, b)
        if parent[a] == parent[b] and parent[a]
    ]
    return [(str(model.body(a).name), str(model.body(b).name)) for a, b in pairs]
