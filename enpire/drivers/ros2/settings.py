"""What a station's things are called in ROS 2: `[ros2]` of `drivers.toml` and of the station file.

namespace = ""                     # of all names below that do not begin with /
use_sim_time = false
joint_states = "joint_states"      # sensor_msgs/JointState, best effort
command = "trajectory"             # or action: by FollowJointTrajectory, for controllers that
                                   # take nothing else; position, velocity: forward controllers
controller = "joint_trajectory_controller"
joints = ["joint1", "joint2"]      # of all arms, in order; default: ARM_joint1 ...
gripper = "position"               # its forward controller; none: it is one of the joints above
gripper_joints = ["gripper"]       # an arm; default: ARM_gripper
gripper_controller = "gripper_controller"
wrenches = ["wrench"]              # geometry_msgs/WrenchStamped, an arm; default: not measured
objects = "objects"                # geometry_msgs/PoseArray of the tracked objects, world frame
objects_frame = "world"            # the frame_id of these; one that says none is taken to be in it
images = ["top/image_raw"]         # of the station's cameras: sensor_msgs/Image, or CompressedImage
                                   # where it ends so; default: CAMERA/image_raw/compressed
fixture = "fixture"                # std_msgs/String: outputs that are on, with commas between
time_out = "cmd_timeout"           # parameter of the controller: its command time-out
time_out_elsewhere = false         # true: the arm itself stops when setpoints no longer come
limits_elsewhere = false           # true: nobody publishes robot_description
activity_elsewhere = false         # true: nobody says whether the controller is active
simulated = false                  # `enpire station sim` is at the other end
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, fields
from enum import StrEnum

from enpire.errors import PackError
from enpire.packs import Robot
from enpire.packs.toml import Table

COMPRESSED = "/compressed"  # ends the topic of a CompressedImage
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")  # each part of a name in ROS 2
NAMES = ("namespace", "joint_states", "controller", "gripper_controller", "objects", "fixture")
TOGETHER = (("joints", "gripper_joints"), ("images",), ("wrenches",))  # differ in their names


class CommandMode(StrEnum):
    """What kind of controller takes the arms' setpoints."""

    TRAJECTORY = "trajectory"
    ACTION = "action"
    POSITION = "position"
    VELOCITY = "velocity"


@dataclass(frozen=True, slots=True)
class Ros2Settings:
    """See the module. joints and grippers are empty where the pack's own names hold."""

    namespace: str = ""
    use_sim_time: bool = False
    joint_states: str = "joint_states"
    command: CommandMode = CommandMode.TRAJECTORY
    controller: str = "joint_trajectory_controller"
    joints: tuple[str, ...] = ()
    gripper: str = "position"
    gripper_joints: tuple[str, ...] = ()
    gripper_controller: str = "gripper_controller"
    wrenches: tuple[str, ...] = ()
    objects: str = "objects"
    objects_frame: str = "world"
    images: tuple[str, ...] = ()
    fixture: str = "fixture"
    time_out: str = "cmd_timeout"
    time_out_elsewhere: bool = False
    limits_elsewhere: bool = False
    activity_elsewhere: bool = False
    simulated: bool = False

    @classmethod
    def read(cls, table: Table) -> Ros2Settings:
        """Raises PackError naming file and key."""
        found: dict[str, object] = {}
        known = {field.name: field.default for field in fields(cls)}
        for key in table.names:
            if key not in known:
                raise PackError(
                    f"{table.where}: {key} means nothing to ros2; it knows {sorted(known)}"
                )
            usual = known[key]
            if isinstance(usual, bool):
                found[key] = table.flag(key)
            elif isinstance(usual, tuple):
                found[key] = table.texts(key)
            else:
                found[key] = table.text(key)
        command = str(found.get("command", CommandMode.TRAJECTORY))
        if command not in list(CommandMode):
            raise PackError(
                f"{table.where}: command is one of {', '.join(CommandMode)}, not {command}"
            )
        if found.get("gripper", "position") not in ("position", "none"):
            raise PackError(f"{table.where}: gripper is position or none")
        made = cls(**(found | {"command": CommandMode(command)}))  # type: ignore[arg-type]
        for key, name in made._named():
            parts = name.removeprefix("/").split("/")
            if not (all(map(NAME.fullmatch, parts)) or (key == "namespace" and name in ("", "/"))):
                raise PackError(
                    f"{table.where}: {key} {name!r} is no name in ROS 2: letters of ASCII, digits "
                    "and _, no digit first, with single slashes between"
                )
        for keys in TOGETHER:
            names = [each for one in keys for each in getattr(made, one)]
            twice = [name for name in names if names.count(name) > 1]
            if twice:
                raise PackError(f"{table.where}: {' and '.join(keys)} have {twice[0]} twice")
        return made

    def _named(self) -> Iterator[tuple[str, str]]:
        """All that ROS 2 finds by a name, with its key."""
        yield from ((key, getattr(self, key)) for key in NAMES)
        yield from ((key, name) for key in ("images", "wrenches") for name in getattr(self, key))

    def arm_joints(self, robot: Robot) -> tuple[str, ...]:
        """Names in messages of all arms' joints, arm after arm."""
        own = [f"{arm.name}_joint{k + 1}" for arm in robot.arms for k in range(len(arm.home))]
        return _as_many("joints", self.joints, own)

    def grippers(self, robot: Robot) -> tuple[str, ...]:
        """Names in messages of the grippers, an arm."""
        return _as_many(
            "gripper_joints", self.gripper_joints, [f"{a.name}_gripper" for a in robot.arms]
        )

    def forces(self, robot: Robot) -> tuple[str, ...]:
        """The topic of each arm's wrist; none where they do not measure."""
        if self.wrenches:
            _as_many("wrenches", self.wrenches, [arm.name for arm in robot.arms])
        return self.wrenches

    def pictures(self, cameras: tuple[str, ...]) -> dict[str, str]:
        """The topic of each camera."""
        own = [f"{name}/image_raw{COMPRESSED}" for name in cameras]
        return dict(zip(cameras, _as_many("images", self.images, own), strict=True))

    def names(self, robot: Robot) -> tuple[str, ...]:
        """The names of all axes, as `Reading` has them."""
        joints, grippers = self.arm_joints(robot), self.grippers(robot)
        dof = len(robot.arms[0].home)
        result: list[str] = []
        for k, gripper in enumerate(grippers):
            result += [*joints[k * dof : (k + 1) * dof], gripper]
        return tuple(result)


def _as_many(key: str, given: tuple[str, ...], own: list[str]) -> tuple[str, ...]:
    if given and len(given) != len(own):
        raise PackError(f"[ros2] {key}: {len(own)} names needed, found {len(given)}")
    return given or tuple(own)
