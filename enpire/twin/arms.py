"""An arm's model in a scene: the pack's own, or MuJoCo Menagerie's with the pack's hand on it."""

from __future__ import annotations

import mujoco
import numpy as np

from enpire.errors import PackError
from enpire.packs import Arm
from enpire.packs.menagerie import Menagerie
from enpire.twin.unused_options import tell_of_unused

DYNAMICS = ("armature", "damping", "frictionloss", "range", "limited")
LEAST_OPENED = 0.05  # of what the model's gripper can, that a range is
ROUNDING = 1e-3  # by which a number of a pack may be off its model's: rad, or a share
POSTURES, NEAR = 8, 0.02  # looked at; how far apart [m] the two models' hands may be


def require_reachable(arm: Arm) -> None:
    """See whether an arm's own model can be where its pack says that it is at home, and open.

    Its task may narrow these ranges later: it is held against the model as the pack has it.

    Raises:
        PackError: a joint or the gripper cannot: degrees, per cent, or another arm's numbers.
        ValueError: MuJoCo's, for a model that does not compile.
    """
    model = mujoco.MjSpec.from_file(str(arm.model)).compile()
    joints = {model.joint(i).name: model.joint(i) for i in range(model.njnt)}
    for number, home in enumerate(arm.home, 1):
        joint = joints.get(f"joint{number}")
        if joint is None or not joint.limited[0]:
            continue
        low, high = joint.range
        if not low - ROUNDING <= home <= high + ROUNDING:
            raise PackError(
                f"{arm.name}: joint {number} of home is {home:g}, and {arm.model} has it from "
                f"{low:g} to {high:g}"
            )
    for i in range(model.nu):
        if model.actuator(i).name != "gripper" or not model.actuator_ctrllimited[i]:
            continue
        low, high = model.actuator_ctrlrange[i]
        slack = ROUNDING * (high - low)
        for end in arm.gripper_range:
            if not low - slack <= end <= high + slack:
                raise PackError(
                    f"{arm.name}: gripper_range has {end:g}, and {arm.model} has its gripper from "
                    f"{low:g} to {high:g}"
                )
        closed, opened = arm.gripper_range
        if abs(opened - closed) < LEAST_OPENED * (high - low):
            raise PackError(
                f"{arm.name}: gripper_range goes from {closed:g} to {opened:g}, and {arm.model} "
                f"has its gripper from {low:g} to {high:g}: it would hardly open. Is it in the "
                "model's unit?"
            )


def attach(scene: mujoco.MjSpec, arm: Arm) -> None:
    """Put an arm on its base, with its name and `_` before all names.

    Raises:
        PackError: Menagerie's model has not what the pack says, or its hand is elsewhere.
        ValueError: MuJoCo's, for what does not fit together.
    """
    ours = mujoco.MjSpec.from_file(str(arm.model))
    if arm.menagerie is None:
        tell_of_unused(arm.model, ours, scene)
        frame = scene.worldbody.add_frame(pos=arm.position, quat=arm.quaternion)
        scene.attach(ours, prefix=f"{arm.name}_", frame=frame)
        return
    _require_same(arm, arm.menagerie)
    _attach_other(scene, arm, arm.menagerie, ours)


def _attach_other(scene: mujoco.MjSpec, arm: Arm, other: Menagerie, ours: mujoco.MjSpec) -> None:
    """Attach its bodies, inertias and shapes; our names, limits, servos, hand and sensors."""
    theirs = mujoco.MjSpec.from_file(str(other.model))
    for each in (*theirs.keys, *theirs.actuators, *theirs.sensors, *theirs.lights, *theirs.cameras):
        theirs.delete(each)
    for index, name in enumerate(other.joints, 1):
        joint, own = theirs.joint(name), ours.joint(f"joint{index}")
        for field in DYNAMICS:
            setattr(joint, field, getattr(own, field))
    for body in theirs.bodies[1:]:
        body.gravcomp = 1.0
    for geom in theirs.geoms:  # links are drawn only, as ours
        geom.contype = geom.conaffinity = 0
    turned = np.zeros(4)
    mujoco.mju_mulQuat(turned, np.array(arm.quaternion), np.array(other.base))
    frame = scene.worldbody.add_frame(pos=arm.position, quat=turned)
    before = f"{arm.name}_menagerie_"  # its names are not ours
    scene.attach(theirs, prefix=before, frame=frame)
    for index, name in enumerate(other.joints, 1):
        scene.joint(before + name).name = f"{arm.name}_joint{index}"
    flange = scene.body(before + other.flange)
    place = flange.add_frame(pos=other.position, quat=other.quaternion)
    hand = ours.body("hand")
    hand.pos, hand.quat = [0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]
    place.attach_body(
        hand, f"{arm.name}_", ""
    )  # with all that refers to it or, by then, to the joints


def _require_same(arm: Arm, other: Menagerie) -> None:
    """The two models' hands are near each other at some postures; raises PackError."""
    own = mujoco.MjModel.from_xml_path(str(arm.model))
    its = mujoco.MjModel.from_xml_path(str(other.model))
    mine, data = mujoco.MjData(own), mujoco.MjData(its)
    try:
        theirs = [its.joint(name).qposadr[0] for name in other.joints]
        flange = its.body(other.flange).id
    except KeyError as error:
        raise PackError(f"{other.model} has not what menagerie.toml says: {error}") from error
    joints = [own.joint(f"joint{i + 1}") for i in range(len(arm.home))]
    rng, turned = np.random.default_rng(0), np.zeros(3)
    for _ in range(POSTURES):
        for joint, address in zip(joints, theirs, strict=True):
            low, high = np.clip(joint.range, -np.pi, np.pi)
            mine.qpos[joint.qposadr[0]] = data.qpos[address] = rng.uniform(low, high)
        mujoco.mj_kinematics(own, mine)
        mujoco.mj_kinematics(its, data)
        hand = data.xpos[flange] + data.xmat[flange].reshape(3, 3) @ np.array(other.position)
        mujoco.mju_rotVecQuat(turned, hand, np.array(other.base))
        apart = float(np.linalg.norm(turned - mine.body("hand").xpos))
        if apart > NEAR:
            raise PackError(
                f"{other.model}: the hand is {apart:.3f} m from where {arm.model} has it; is it of "
                "another version than menagerie.toml knows?"
            )
