"""What of a station's dynamics no data sheet tells, by name, and where it stands in MuJoCo's model.

| name | unit | what it is |
|---|---|---|
| ARM/JOINT/kp | N m/rad | stiffness of the position servo |
| ARM/JOINT/kv | N m s/rad | its damping: effort = kp (setpoint - position) - kv velocity |
| ARM/JOINT/damping | N m s/rad | viscous friction of the joint itself, which no effort shows |
| ARM/JOINT/frictionloss | N m | dry friction |
| ARM/JOINT/armature | kg m^2 | inertia of the rotor, seen through the gear |
| ARM/latency | s | from a setpoint's being sent to the servos' following it |
| ARM/payload | kg | mass at the grasp point that the arm's own gravity feed-forward does not know |

What objects have, `enpire/twin/objects.py` says.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from enpire.errors import PackError
from enpire.packs import Robot
from enpire.packs.dynamics import Dynamics
from enpire.twin import objects
from enpire.twin.objects import Fields, Thing
from enpire.twin.scene import ArmIndex, Scene

KP, KV, DAMPING, FRICTION, ARMATURE = "kp", "kv", "damping", "frictionloss", "armature"
OF_JOINTS = (KP, KV, DAMPING, FRICTION, ARMATURE)
LATENCY, PAYLOAD = "latency", "payload"
UNITS = {
    KP: "N m/rad",
    KV: "N m s/rad",
    DAMPING: "N m s/rad",
    FRICTION: "N m",
    ARMATURE: "kg m^2",
    LATENCY: "s",
    PAYLOAD: "kg",
    objects.MASS: "kg",
    objects.SLIDING: "",
}
GYRATION = 0.02  # radius of gyration of a payload, about its middle [m]
LONGER = 1.5  # than the interval of a latency, that a draw from it may be
NOTHING = 1e-6  # mass of a payload's body while it has none: MuJoCo wants some [kg]


@dataclass(frozen=True, slots=True)
class ParameterPlace:
    """The place of one parameter: the arm, its joint's number (-1: the whole arm), the kind."""

    arm: ArmIndex
    joint: int
    kind: str


def places(scene: Scene) -> dict[str, ParameterPlace]:
    """All parameters of a scene's arms, by name."""
    found = {}
    for arm in scene.arms:
        for k in range(len(arm.joints)):
            for kind in OF_JOINTS:
                found[f"{arm.name}/joint{k + 1}/{kind}"] = ParameterPlace(arm, k, kind)
        for kind in (LATENCY, PAYLOAD):
            found[f"{arm.name}/{kind}"] = ParameterPlace(arm, -1, kind)
    return found


def parameters(scene: Scene) -> dict[str, ParameterPlace | Thing]:
    """All parameters of a scene's arms and of its loose objects, by name."""
    return {**places(scene), **objects.things(scene)}


def add_payloads(spec: mujoco.MjSpec, robot: Robot) -> None:
    """Give every hand a body at its grasp point that may be given a mass."""
    for arm in robot.arms:
        if spec.body(f"{arm.name}_payload") is not None:  # of a world that was identified
            continue
        grasp = spec.site(f"{arm.name}_grasp")
        spec_body = grasp.parent.add_body(
            name=f"{arm.name}_payload",
            pos=grasp.pos,
            mass=NOTHING,
            inertia=np.full(3, NOTHING * GYRATION**2),
        )
        spec_body.explicitinertial = True


def prepare(spec: mujoco.MjSpec, robot: Robot, fitted: Dynamics) -> None:
    """Give a scene what its arms' dynamics need: bodies for payloads, memory for latencies.

    Raises:
        PackError: they are another robot's, or in other units.
    """
    if fitted.robot != robot.name:
        raise PackError(f"the world's dynamics are of {fitted.robot}, not of {robot.name}")
    for name, said in zip(fitted.names, fitted.units, strict=False):
        unit = UNITS.get(name.rsplit("/", 1)[-1], said)
        if said and said != unit:
            raise PackError(f"the world's dynamics have {name} in {said}: {unit} is its unit")
    add_payloads(spec, robot)
    of = dict(zip(fitted.names, fitted.high, strict=True))
    longest = max((v for name, v in of.items() if name.endswith(LATENCY)), default=0.0)
    for actuator in spec.actuators:
        samples = math.ceil(longest * LONGER / spec.option.timestep) + 2
        actuator.nsample = max(actuator.nsample, samples)


def apply(scene: Scene, values: Mapping[str, float], model: mujoco.MjModel | None = None) -> None:
    """Give the scene's model, or a copy of it, these parameters.

    Raises:
        PackError: the scene's arms have no such parameter.
    """
    changed = scene.model if model is None else model
    known, fields = parameters(scene), model_fields(changed)
    for name, value in values.items():
        if name not in known:
            raise PackError(f"nothing on a bench of {scene.robot.name} has a parameter {name}")
        write(scene, known[name], fields, np.array([value]))
    mujoco.mj_setConst(changed, mujoco.MjData(changed))


def model_fields(model: mujoco.MjModel) -> Fields:
    """The fields of one model, for `read` and `write`."""
    return lambda name: getattr(model, name)[None]


def read(scene: Scene, place: ParameterPlace | Thing, fields: Fields) -> NDArray[np.float64]:
    """A parameter's values, (simulations,)."""
    if isinstance(place, Thing):
        return objects.read(place, fields)
    arm, kind = place.arm, place.kind
    if kind == LATENCY:
        return np.array(fields("actuator_delay")[:, arm.gripper], np.float64)
    if kind == PAYLOAD:
        body = _payload(scene, arm)
        return np.array(fields("body_mass")[:, body], np.float64)
    field, at, sign = _of_joint(place)
    return np.array([sign * each[at] for each in fields(field)], np.float64)


def write(
    scene: Scene,
    place: ParameterPlace | Thing,
    fields: Fields,
    values: NDArray[np.float64] | np.float64,
    row: Any = slice(None),
) -> None:
    """Set a parameter of the simulations `row` to values, (simulations,) or one number.

    Of armatures and masses MuJoCo derives constants: `mj_setConst` comes after it.
    """
    if isinstance(place, Thing):
        objects.write(scene, place, fields, values, row)
        return
    arm, kind = place.arm, place.kind
    if kind == LATENCY:
        for actuator in (*arm.actuators, arm.gripper):
            fields("actuator_delay")[row, actuator] = values
    elif kind == PAYLOAD:
        body = _payload(scene, arm)
        mass = np.maximum(values, NOTHING)
        fields("body_mass")[row, body] = mass
        fields("body_inertia")[row, body] = (mass * GYRATION**2)[..., None]
    else:
        field, at, sign = _of_joint(place)
        fields(field)[(row, *at)] = sign * values
        if kind == KP:
            fields("actuator_biasprm")[row, arm.actuators[place.joint], 1] = -values


def _of_joint(place: ParameterPlace) -> tuple[str, tuple[int, ...], float]:
    """The field, the entry in it and the sign that a joint's parameter has."""
    dof, actuator = int(place.arm.dofs[place.joint]), int(place.arm.actuators[place.joint])
    if place.kind == KP:
        return "actuator_gainprm", (actuator, 0), 1.0
    if place.kind == KV:
        return "actuator_biasprm", (actuator, 2), -1.0
    return f"dof_{place.kind}", (dof,), 1.0


def _payload(scene: Scene, arm: ArmIndex) -> int:
    return int(scene.model.body(f"{arm.name}_payload").id)
