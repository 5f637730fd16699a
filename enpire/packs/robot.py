"""A robot pack: one or more arms of one model on their bases, with limits."""

from __future__ import annotations

import hashlib
import itertools
import re
from dataclasses import dataclass, fields
from pathlib import Path

from enpire.errors import PackError
from enpire.packs.finder import Pack, file_in
from enpire.packs.menagerie import Menagerie, of_pack
from enpire.packs.models import require_own_files
from enpire.packs.toml import REACH, Table

FASTEST, HARDEST = (
    20.0,
    300.0,
)  # of any arm's joint: three times what the quickest have [rad/s, rad/s^2]
QUICKEST = 5.0  # of its hand [m/s]
SLOW, SOFT, CREEPING = 0.02, 0.1, 0.005  # slower than any arm, or in another unit; the same
TURN = 6.3  # a joint's whole turn to either side [rad]
WIDEST = 1e5  # of a gripper's setpoint, in its own unit: an encoder's ticks are fewer
NAME = re.compile(r"[\w-]+")  # of an arm
MOST = 10.0  # times the model's own value that an arm may have, or that part of it


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
class JointLimits:
    """What no setpoint may exceed.

    joint_speed [rad/s] and joint_acceleration [rad/s^2] per joint, cartesian_speed of the grasp
    point [m/s], workspace box of the grasp point in the world frame [m].
    """

    joint_speed: tuple[float, ...]
    joint_acceleration: tuple[float, ...]
    cartesian_speed: float
    workspace_low: tuple[float, ...]
    workspace_high: tuple[float, ...]

    def workspace_places(self) -> list[tuple[float, ...]]:
        """Return 125 places of the workspace, its corners and its middle among them [m]."""
        ends = zip(self.workspace_low, self.workspace_high, strict=True)
        steps = [[low + k * (high - low) / 4 for k in range(5)] for low, high in ends]
        return list(itertools.product(*steps))


Range = tuple[float, float]


@dataclass(frozen=True, slots=True)
class ArmVariation:
    """How much two arms of one model differ: factors on the model's own values, from and to.

    Each episode of a twin draws its arms evenly from these.
    """

    kp: Range = (1.0, 1.0)  # gain of a joint's servo
    kv: Range = (1.0, 1.0)  # gain of a joint's servo
    friction: Range = (1.0, 1.0)  # a joint's dry friction
    pad_friction: Range = (1.0, 1.0)  # sliding friction of an arm's finger pads


@dataclass(frozen=True, slots=True)
class Robot:
    """Everything a station needs to know about its arms."""

    name: str
    description: str
    arms: tuple[Arm, ...]
    limits: JointLimits
    sha256: str
    variation: ArmVariation = ArmVariation()

    @property
    def models(self) -> list[Path]:
        """The files of its arms' models; those of Menagerie, too, where arms have them."""
        other = [arm.menagerie.model for arm in self.arms if arm.menagerie is not None]
        return [*(arm.model for arm in self.arms), *other]


def load_robot(pack: Pack) -> Robot:
    """Read `robot.toml` of a robot pack; raises PackError naming file and key.

    Its hash is the pack's, or with Menagerie's model that of both.
    """
    table = Table.read(pack.folder / "robot.toml")
    table.require_known("name", "description", "source", "arms", "limits", "variation")
    require_own_files(pack.folder)
    rows = table.tables("arms")
    other = of_pack(pack.folder, len(rows[0].numbers("home")))
    arms = tuple(_arm(row, pack.folder, other) for row in rows)
    if len({arm.name for arm in arms}) != len(arms):
        raise PackError(f"{pack.folder / 'robot.toml'}: two arms have the same name")
    if not all(NAME.fullmatch(arm.name) for arm in arms):
        raise PackError(f"{pack.folder / 'robot.toml'}: an arm's name has letters, digits, _ and -")
    joints = len(arms[0].home)
    if any(len(arm.home) != joints for arm in arms):
        raise PackError(f"{pack.folder / 'robot.toml'}: home needs {joints} joints in every arm")
    return Robot(
        name=pack.name,
        description=table.text("description"),
        arms=arms,
        limits=_limits(table.table("limits"), joints),
        sha256=_joint_hash(pack.sha256, other),
        variation=_variation(table),
    )


def _limits(table: Table, joints: int) -> JointLimits:
    table.require_known(*(each.name for each in fields(JointLimits)))
    limits = JointLimits(
        joint_speed=table.numbers("joint_speed", joints),
        joint_acceleration=table.numbers("joint_acceleration", joints),
        cartesian_speed=table.number("cartesian_speed"),
        workspace_low=table.numbers("workspace_low", 3),
        workspace_high=table.numbers("workspace_high", 3),
    )
    speed, acceleration, hand = (
        limits.joint_speed,
        limits.joint_acceleration,
        limits.cartesian_speed,
    )
    _require_within(table, "joint_speed", speed, (SLOW, FASTEST), "rad/s, no degrees")
    _require_within(table, "joint_acceleration", acceleration, (SOFT, HARDEST), "rad/s^2")
    _require_within(table, "cartesian_speed", (hand,), (CREEPING, QUICKEST), "m/s, no mm/s")
    for key in ("workspace_low", "workspace_high"):
        table.require_within(key, getattr(limits, key), REACH, "m, no mm")
    if any(
        low >= high for low, high in zip(limits.workspace_low, limits.workspace_high, strict=True)
    ):
        raise PackError(
            f"{table.where}: every number of workspace_low must be below workspace_high's"
        )
    return limits


def _require_within(
    table: Table, key: str, values: tuple[float, ...], ends: Range, unit: str
) -> None:
    least, most = ends
    if not all(least <= value <= most for value in values):
        raise PackError(
            f"{table.where}: {key} must be above 0, {least:g} at least and at most {most:g} "
            f"{unit}; found {', '.join(f'{value:g}' for value in values)}"
        )


def _variation(table: Table) -> ArmVariation:
    """The table `variation`; arms are all alike where there is none."""
    if not table.has("variation"):
        return ArmVariation()
    rows = table.table("variation")
    rows.require_known(*(each.name for each in fields(ArmVariation)))
    ranges: dict[str, Range] = {}
    for each in fields(ArmVariation):
        if rows.has(each.name):
            low, high = rows.numbers(each.name, 2)
            if not 0.0 < low <= high:
                raise PackError(
                    f"{rows.where}: {each.name} must be two factors above 0, from and to; "
                    f"found {low:g} and {high:g}"
                )
            if not (1.0 / MOST <= low <= 1.0 <= high <= MOST):
                raise PackError(
                    f"{rows.where}: {each.name} must be factors on the model's own value, no per "
                    f"cent and no parts of it: from {1.0 / MOST:g} to 1, and from 1 to {MOST:g}; "
                    f"found {low:g} and {high:g}"
                )
            ranges[each.name] = low, high
    return ArmVariation(**ranges)


def _joint_hash(sha256: str, other: Menagerie | None) -> str:
    return hashlib.sha256((sha256 + other.sha256).encode()).hexdigest() if other else sha256


def _arm(table: Table, folder: Path, other: Menagerie | None) -> Arm:
    table.require_known("name", "model", "position", "quaternion", "home", "gripper_range")
    closed, opened = table.numbers("gripper_range", 2)
    table.require_within("gripper_range", (closed, opened), WIDEST, "of its unit")
    if closed == opened:
        raise PackError(f"{table.where}: gripper_range is closed and open; both are {closed:g}")
    home = table.numbers("home")
    table.require_within("home", home, TURN, "rad, no degrees")
    return Arm(
        name=table.text("name"),
        model=file_in(folder, table.text("model"), f"{folder / 'robot.toml'}: model"),
        position=table.place("position"),
        quaternion=table.quaternion("quaternion"),
        home=home,
        gripper_range=(closed, opened),
        menagerie=other,
    )
