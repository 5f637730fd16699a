"""A robot pack: one or more arms of one model on their bases, with limits."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, fields
from pathlib import Path

from enpire.errors import PackError
from enpire.packs.finder import Pack
from enpire.packs.menagerie import Menagerie, of_pack
from enpire.packs.toml import Table


@dataclass(frozen=True, slots=True)
class Arm:
    """One arm: its MJCF model and where its base stands in the world.

    position [m] and quaternion (w x y z) of the base in the world frame; home: joint angles [rad];
    gripper_range: setpoints of the closed and the open gripper, in the gripper's own unit.
    menagerie: a model that a twin has in place of that one.
    """

    name: str
    model: Path
    position: tuple[float, ...]
    quaternion: tuple[float, ...]
    home: tuple[float, ...]
    gripper_range: tuple[float, float]
    menagerie: Menagerie | None = None


@dataclass(frozen=True, slots=True)
class Limits:
    """What no setpoint may exceed.

    joint_speed [rad/s] and joint_acceleration [rad/s^2] per joint, cartesian_speed of the grasp
    point [m/s], workspace box of the grasp point in the world frame [m].
    """

    joint_speed: tuple[float, ...]
    joint_acceleration: tuple[float, ...]
    cartesian_speed: float
    workspace_low: tuple[float, ...]
    workspace_high: tuple[float, ...]


Range = tuple[float, float]


@dataclass(frozen=True, slots=True)
class ArmVariation:
    """How much two arms of one model differ: factors on the model's own values, from and to.

    kp, kv: gains of a joint's servo. friction: a joint's dry friction. pad_friction: sliding
    friction of an arm's finger pads. Each episode of a twin draws its arms evenly from these.
    """

    kp: Range = (1.0, 1.0)
    kv: Range = (1.0, 1.0)
    friction: Range = (1.0, 1.0)
    pad_friction: Range = (1.0, 1.0)


@dataclass(frozen=True, slots=True)
class Robot:
    """Everything a station needs to know about its arms."""

    name: str
    description: str
    arms: tuple[Arm, ...]
    limits: Limits
    sha256: str
    variation: ArmVariation = ArmVariation()


def load_robot(pack: Pack) -> Robot:
    """Read `robot.toml` of a robot pack; raises PackError naming file and key.

    Its hash is the pack's, or with Menagerie's model that of both.
    """
    table = Table.read(pack.folder / "robot.toml")
    rows = table.tables("arms")
    other = of_pack(pack.folder, len(rows[0].numbers("home")))
    arms = tuple(_arm(row, pack.folder, other) for row in rows)
    if len({arm.name for arm in arms}) != len(arms):
        raise PackError(f"{pack.folder / 'robot.toml'}: two arms have the same name")
    joints = len(arms[0].home)
    if any(len(arm.home) != joints for arm in arms):
        raise PackError(f"{pack.folder / 'robot.toml'}: home needs {joints} joints in every arm")
    limits = table.table("limits")
    return Robot(
        name=pack.name,
        description=table.text("description"),
        arms=arms,
        limits=Limits(
            joint_speed=limits.numbers("joint_speed", joints),
            joint_acceleration=limits.numbers("joint_acceleration", joints),
            cartesian_speed=limits.number("cartesian_speed"),
            workspace_low=limits.numbers("workspace_low", 3),
            workspace_high=limits.numbers("workspace_high", 3),
        ),
        sha256=_both(pack.sha256, other),
        variation=_variation(table),
    )


def _variation(table: Table) -> ArmVariation:
    """The table `variation`; arms are all alike where there is none."""
    if not table.has("variation"):
        return ArmVariation()
    rows = table.table("variation")
    ranges: dict[str, Range] = {}
    for each in fields(ArmVariation):
        if rows.has(each.name):
            low, high = rows.numbers(each.name, 2)
            if not 0.0 < low <= high:
                raise PackError(
                    f"{rows.where}: {each.name} must be two factors above 0, from and to; "
                    f"found {low:g} and {high:g}"
                )
            ranges[each.name] = low, high
    return ArmVariation(**ranges)


def _both(sha256: str, other: Menagerie | None) -> str:
    return hashlib.sha256((sha256 + other.sha256).encode()).hexdigest() if other else sha256


def _arm(table: Table, folder: Path, other: Menagerie | None) -> Arm:
    closed, opened = table.numbers("gripper_range", 2)
    model = folder / table.text("model")
    if not model.is_file():
        raise PackError(f"{folder / 'robot.toml'}: model {model.name} is not in the pack")
    return Arm(
        name=table.text("name"),
        model=model,
        position=table.numbers("position", 3),
        quaternion=table.numbers("quaternion", 4),
        home=table.numbers("home"),
        gripper_range=(closed, opened),
        menagerie=other,
    )
