"""What is looked at before a ROS 2 arm counts as connected."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from typing import Any, Protocol

import mujoco
import numpy as np

from enpire.drivers.ros2.node import Spinning, latched, wait_until
from enpire.drivers.ros2.settings import CommandMode, Ros2Settings
from enpire.errors import DriverError
from enpire.packs import Robot

CONNECT_S = 15.0  # for both directions of a connection to be there: discovery takes a while
ANSWER_S = 5.0
STATES = 20  # joint states that are looked at
CLOCK_S = 0.05  # by which two clocks may differ
TOLERANCE = 0.005  # of limits [rad], or of their unit
ACTIVE = "active"
MOVING_END = "allow_nonzero_velocity_at_trajectory_end"  # newer ones: false by default


class ConnectingDriver(Protocol):
    """What is looked at of a driver.

    heard: ages of joint states on arrival, by this machine's clock, and their stamps [ns]. refused:
    why one counted as none; empty if all counted.
    """

    refused: str
    robot: Robot
    settings: Ros2Settings
    heard: list[tuple[int, int]]

    @property
    def listeners(self) -> dict[str, int]:
        """How many hear its commands, by topic."""

    def read(self) -> object:
        """Raises DriverError where others command the arm or say where it is, too."""


def connected(driver: ConnectingDriver, spinning: Spinning) -> None:
    """Raises DriverError with the first thing that is not as it must be."""
    settings = driver.settings
    where = f"in namespace {settings.namespace or '/'}"
    if not wait_until(lambda: len(driver.heard) >= STATES, CONNECT_S):
        raise DriverError(
            f"{len(driver.heard)} joint states on {settings.joint_states} {where} in "
            f"{CONNECT_S:g} s with all of {', '.join(settings.names(driver.robot))}: is the arm's "
            "bringup running, in this ROS_DOMAIN_ID?"
            + (driver.refused and f" There are some that count as none: {driver.refused}")
        )
    if not wait_until(lambda: all(driver.listeners.values()), CONNECT_S):
        deaf = [topic for topic, count in driver.listeners.items() if not count]
        raise DriverError(
            f"half open: joint states come, but nobody listens to {', '.join(deaf)}: is that "
            "controller loaded?"
        )
    require_clock(driver.heard)
    _controller(driver, spinning)
    _limits(driver, spinning)
    driver.read()  # last: others may be discovered late


def two_sources(settings: Ros2Settings, spinning: Spinning) -> str:
    """Say who publishes joint states, where two nodes say where all joints are."""
    who = ", ".join(spinning.publishers(settings.joint_states))
    return (
        f"two nodes take turns to say on {settings.joint_states} where all joints are, of {who}: "
        "end one of them"
    )


def require_clock(heard: Sequence[tuple[int, int]]) -> None:
    """Raise DriverError unless joint states are stamped by a clock that goes as this machine's.

    heard: the age of each on arrival, by this machine's clock, and its stamp [ns].
    """
    ages = np.array([age for age, _ in heard]) * 1e-9
    stamps = [stamp for _, stamp in heard]
    if min(stamps) == max(stamps):
        raise DriverError("joint states all have one stamp: their clock stands still")
    if abs(np.median(ages)) > CLOCK_S:
        raise DriverError(
            f"joint states are {np.median(ages):+.3f} s old by this machine's clock: synchronise "
            "the clocks (chrony), or see use_sim_time"
        )


def _controller(driver: ConnectingDriver, spinning: Spinning) -> None:
    settings = driver.settings
    if not settings.activity_elsewhere:
        state = _state(spinning, settings.controller)
        if state is None:
            raise DriverError(
                f"nobody says whether {settings.controller} is active: neither the controller "
                "manager (controller_manager_msgs must import) nor its own get_state; if you see "
                "to it, set activity_elsewhere = true in [ros2]"
            )
        if state != ACTIVE:
            raise DriverError(f"{settings.controller} is {state}, not active: activate it")
    # A goal of the action ends by itself, at rest.
    if not settings.time_out_elsewhere and settings.command is not CommandMode.ACTION:
        found = _parameters(spinning, settings.controller, settings.time_out)
        if found is None or not found > 0.0:
            raise DriverError(
                f"{settings.controller} has no command time-out ({settings.time_out} is {found}), "
                "so it would go on when setpoints no longer come: set it, or time_out_elsewhere = "
                "true in [ros2] if the arm itself stops"
            )
    if settings.command is CommandMode.TRAJECTORY and (
        _parameters(spinning, settings.controller, MOVING_END) is False
    ):
        raise DriverError(
            f"{settings.controller} refuses trajectories that end in motion, and setpoints come "
            f'with their speed: set its {MOVING_END}, or command = "action" in [ros2]'
        )
    if settings.command in (CommandMode.TRAJECTORY, CommandMode.ACTION):
        joints = _parameters(spinning, settings.controller, "joints")
        own = settings.arm_joints(driver.robot)
        if joints is not None and sorted(joints) != sorted(own):
            raise DriverError(
                f"{settings.controller} moves {', '.join(joints)}; {driver.robot.name} has "
                f"{', '.join(own)}: set joints in [ros2]"
            )


def _state(spinning: Spinning, controller: str) -> str | None:
    """The controller's state as the controller manager says, or the controller itself."""
    try:
        from controller_manager_msgs.srv import ListControllers
    except ImportError:
        pass
    else:
        answer = spinning.call(
            ListControllers,
            "controller_manager/list_controllers",
            ListControllers.Request(),
            ANSWER_S,
        )
        if answer is not None:
            states = {one.name: one.state for one in answer.controller}
            return str(states.get(controller, "not loaded"))
    from lifecycle_msgs.srv import GetState

    answer = spinning.call(GetState, f"{controller}/get_state", GetState.Request(), ANSWER_S)
    return None if answer is None else str(answer.current_state.label)


def _parameters(spinning: Spinning, node: str, name: str) -> Any:
    """A node's parameter, or None."""
    from rcl_interfaces.srv import GetParameters
    from rclpy.parameter import parameter_value_to_python

    request = GetParameters.Request(names=[name])
    answer = spinning.call(GetParameters, f"{node}/get_parameters", request, ANSWER_S)
    if answer is None or not answer.values:
        return None
    return parameter_value_to_python(answer.values[0])


def _limits(driver: ConnectingDriver, spinning: Spinning) -> None:
    """Hold the pack's joint ranges and speeds against the arm's own description."""
    if driver.settings.limits_elsewhere:
        return
    from std_msgs.msg import String

    topic = "robot_description"
    heard = spinning.hear(String, topic, latched(), ANSWER_S)
    if heard is None:
        raise DriverError(
            f"nobody publishes {topic}, so joints and limits cannot be held against the "
            "pack's: start robot_state_publisher, or set limits_elsewhere = true in [ros2]"
        )
    said = described(heard.data)
    wrong = differences(driver.robot, driver.settings.arm_joints(driver.robot), said)
    if wrong:
        raise DriverError(f"{driver.robot.name} is not the arm of {topic}: {'; '.join(wrong)}")


def described(urdf: str) -> dict[str, tuple[float, float, float]]:
    """Lower and upper limit and greatest speed of each joint of a URDF that has them."""
    try:
        root = ElementTree.fromstring(urdf)
    except ElementTree.ParseError as error:
        raise DriverError(f"robot_description is no URDF: {error}") from error
    found = {}
    for joint in root.iter("joint"):
        limit = joint.find("limit")
        if limit is not None:
            low, high, speed = (
                float(limit.get(key, fallback))
                for key, fallback in (("lower", "-inf"), ("upper", "inf"), ("velocity", "inf"))
            )
            found[joint.get("name", "")] = (low, high, speed)
    return found


def differences(
    robot: Robot, names: tuple[str, ...], said: dict[str, tuple[float, float, float]]
) -> list[str]:
    """The joints in which a pack allows more than the arm, in words."""
    wrong, at = [], 0
    for arm in robot.arms:
        model = mujoco.MjModel.from_xml_path(str(arm.model))
        for k in range(len(arm.home)):
            name, (low, high) = names[at], model.joint(f"joint{k + 1}").range
            at += 1
            if name not in said:
                wrong.append(f"it has no joint {name} with limits")
                continue
            least, most, fastest = said[name]
            if low < least - TOLERANCE or high > most + TOLERANCE:
                wrong.append(
                    f"{name} goes from {least:.3f} to {most:.3f}, the pack's from {low:.3f} to "
                    f"{high:.3f}"
                )
            if robot.limits.joint_speed[k] > fastest + TOLERANCE:
                wrong.append(
                    f"{name} does {fastest:.2f} rad/s, the pack {robot.limits.joint_speed[k]:.2f}"
                )
    return wrong
