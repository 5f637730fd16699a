"""Limits of a station: the robot pack's, narrowed by the station file, and by nothing else."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import mujoco
import numpy as np

from enpire.errors import PackError
from enpire.packs import Robot
from enpire.packs.robot import CREEPING, SLOW, SOFT
from enpire.packs.toml import Table
from enpire.types import Flags, FloatArray

JUMP = 0.2  # of a joint's setpoint from where the joint is [rad]
GRIPPER_S = 0.25  # for a gripper's whole way at full speed
GRIPPER_RAMP_S = 0.05  # until a gripper has its full speed
WRIST_FORCE = 40.0  # as tasks' own `force_limit` [N]
CLEARANCE = 0.005  # [m]


@dataclass(frozen=True, slots=True, eq=False)
class SafetyLimits:
    """What no setpoint, and no arm, may exceed; axes as in `enpire.drivers.driver`."""

    # Up to jump: (axes,), in the axis's unit, its first and second derivative.
    low: FloatArray
    high: FloatArray
    speed: FloatArray
    acceleration: FloatArray
    jump: FloatArray
    cartesian_speed: float  # of grasp points [m/s]
    workspace_low: FloatArray  # of the box they stay in, (3,), world frame [m]
    workspace_high: FloatArray  # of the same box
    wrist_force: float  # norm at each wrist [N]
    gripper_force: float  # of a gripper's actuator, in its effort's unit
    clearance: float  # left between what must not touch [m]

    @property
    def grippers(self) -> Flags:
        """The axes that are grippers', (axes,)."""
        return np.isinf(self.jump)

    def slower(self, share: float) -> SafetyLimits:
        """The same with a share of all speeds."""
        return replace(self, speed=self.speed * share, cartesian_speed=self.cartesian_speed * share)


def of_robot(robot: Robot) -> SafetyLimits:
    """What a robot pack and its MJCF say; raises PackError if they leave a limit open."""
    low, high, effort = [], [], []
    for arm in robot.arms:
        model = mujoco.MjModel.from_xml_path(str(arm.model))
        joints = [model.joint(f"joint{i + 1}") for i in range(len(arm.home))]
        if not all(model.jnt_limited[joint.id] for joint in joints):
            raise PackError(f"{arm.model}: every joint needs a range")
        gripper = model.actuator("gripper").id
        if not model.actuator_forcelimited[gripper]:
            raise PackError(f"{arm.model}: the actuator gripper needs a forcerange")
        effort.append(float(abs(model.actuator_forcerange[gripper]).max()))
        low += [*(joint.range[0] for joint in joints), min(arm.gripper_range)]
        high += [*(joint.range[1] for joint in joints), max(arm.gripper_range)]
    limits, arms = robot.limits, len(robot.arms)
    width = max(abs(opened - closed) for closed, opened in (a.gripper_range for a in robot.arms))
    way = width / GRIPPER_S
    found = SafetyLimits(
        low=np.array(low, np.float64),
        high=np.array(high, np.float64),
        speed=np.tile([*limits.joint_speed, way], arms),
        acceleration=np.tile([*limits.joint_acceleration, way / GRIPPER_RAMP_S], arms),
        # A gripper that holds something is as far from its setpoint as the thing is wide.
        jump=np.tile([*[JUMP] * len(limits.joint_speed), np.inf], arms),
        cartesian_speed=limits.cartesian_speed,
        workspace_low=np.array(limits.workspace_low),
        workspace_high=np.array(limits.workspace_high),
        wrist_force=WRIST_FORCE,
        gripper_force=max(effort),
        clearance=CLEARANCE,
    )
    for field in fields(found):
        value = np.asarray(getattr(found, field.name))
        positive = field.name in ("speed", "acceleration", "cartesian_speed")
        if np.isnan(value).any() or (positive and not ((value > 0) & np.isfinite(value)).all()):
            raise PackError(f"robot {robot.name}: {field.name} is {value}: every limit is a number")
    return found


def narrowed(limits: SafetyLimits, table: Table) -> SafetyLimits:
    """Limits with what the station file's `[limits]` says; raises PackError if that is wider.

    Keys: joint_low, joint_high, joint_speed, joint_acceleration, jump (a number a joint, the same
    for each arm), gripper_speed, cartesian_speed, workspace_low, workspace_high, wrist_force,
    gripper_force, clearance.
    """
    grippers = limits.grippers
    dof = int(np.argmax(grippers))
    arms = int(grippers.sum())
    changed: dict[str, FloatArray | float] = {}
    for key in table.names:
        name, upper = _KEYS.get(key, ("", True))
        if not name:
            raise PackError(f"{table.where}: {key} is no limit; there are {', '.join(_KEYS)}")
        old = np.asarray(changed.get(name, getattr(limits, name)), np.float64)
        new = old.copy()
        if key == "gripper_speed":
            new[grippers] = table.number(key)
        elif old.shape == limits.low.shape:
            new[~grippers] = np.tile(table.numbers(key, dof), arms)
        elif old.shape:
            new = np.array(table.numbers(key, len(old)))
        else:
            new = np.array(table.number(key))
        if not np.isfinite(new[np.isfinite(old)]).all():
            raise PackError(f"{table.where}: {key} must be finite")
        if ((new > old) if upper else (new < old)).any():
            raise PackError(
                f"{table.where}: {key} = {table.raw(key)} is wider than the robot's "
                f"{_plain(old, grippers)}: a station may only narrow it"
            )
        if name in _POSITIVE and not (new > 0).all():
            raise PackError(f"{table.where}: {key} must be above 0")
        if key in LEAST and (new < LEAST[key]).any():
            raise PackError(
                f"{table.where}: {key} = {table.raw(key)} is below {LEAST[key]:g}: no arm is as "
                "slow as that. In rad and m a second, no degrees and no mm"
            )
        changed[name] = new if new.shape else float(new)
    result = replace(limits, **changed)  # type: ignore[arg-type]  # a field's own type, by name
    if (result.low >= result.high).any() or (result.workspace_low >= result.workspace_high).any():
        raise PackError(f"{table.where}: nothing is left between the lower and the upper limits")
    return result


_KEYS = {  # key of the file: field of the limits, and whether it is an upper one
    "joint_low": ("low", False),
    "joint_high": ("high", True),
    "joint_speed": ("speed", True),
    "joint_acceleration": ("acceleration", True),
    "jump": ("jump", True),
    "gripper_speed": ("speed", True),
    "cartesian_speed": ("cartesian_speed", True),
    "workspace_low": ("workspace_low", False),
    "workspace_high": ("workspace_high", True),
    "wrist_force": ("wrist_force", True),
    "gripper_force": ("gripper_force", True),
    "clearance": ("clearance", False),
}
LEAST = {"joint_speed": SLOW, "joint_acceleration": SOFT, "cartesian_speed": CREEPING}
"""Of a limit: with less an arm would never arrive, and each episode would be a failure."""
_POSITIVE = {"speed", "acceleration", "jump", "cartesian_speed", "wrist_force", "gripper_force"}


def _plain(value: FloatArray, grippers: Flags) -> str:
    shown = value[~grippers] if value.shape == grippers.shape else value
    return str(np.round(shown, 4).tolist())
