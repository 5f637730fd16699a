"""A simulated station behind the ROS 2 wire: what an arm's bringup and a tracker would publish."""

from __future__ import annotations

import json
import time
from collections import deque
from dataclasses import asdict
from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np

from enpire.drivers import Reading
from enpire.drivers.ros2.messages import compressed, image, poses
from enpire.drivers.ros2.node import Spinning, command, latched, sensor_data
from enpire.drivers.ros2.settings import COMPRESSED, CommandMode, Ros2Settings
from enpire.drivers.ros2.wire import FAULTS, INITIAL_STATE, PHYSICS, SCENE
from enpire.environment.cameras.camera import CameraView
from enpire.errors import SafetyError
from enpire.packs import Robot
from enpire.safety.limits import of_robot
from enpire.safety.station import StationFile
from enpire.simulation import action
from enpire.simulation.cell import SimulatedCell
from enpire.simulation.faults import Faults
from enpire.simulation.pictures import Pictures
from enpire.simulation.trajectory_follower import TrajectoryFollower
from enpire.types import FloatArray

Sent = tuple[Any, Any]  # a publisher of pictures, and its message
TIME_OUT_S = 0.1  # of setpoints, after which the controller holds
TOLD = 50  # faults that are said at a time
EMERGENCY = "emergency_stop"  # std_srvs/SetBool: press, or release


class SimulatedController:
    """The trajectory controller, or forward controllers, of an arm, and their command time-out.

    follower: carries out the goals of the action, if that is how the controller is commanded.
    """

    def __init__(self, cell: SimulatedCell, settings: Ros2Settings, robot: Robot) -> None:
        self._cell, self._settings = cell, settings
        self._axes = {name: k for k, name in enumerate(settings.names(robot))}
        self._arms = [self._axes[name] for name in settings.arm_joints(robot)]
        self._grippers = [self._axes[name] for name in settings.grippers(robot)]
        self._setpoint: FloatArray | None = None
        self._way: tuple[int, FloatArray, int, FloatArray] | None = None  # begin, from, end, to
        self._speed: FloatArray | None = None
        self._heard = self._ticked = 0
        self.follower = TrajectoryFollower(settings.arm_joints(robot))

    def take(self, now: int, message: tuple[str, Any]) -> None:
        """A command that has come."""
        kind, data = message
        if self._setpoint is None:
            self._setpoint = self._cell.reading().position
        self._interpolate(self._setpoint, now)
        if kind == "goal":
            self.follower.begin(now, data, self._cell.reading().position[self._arms])
        elif kind == "gripper":
            if len(data) == len(self._grippers):
                self._setpoint[self._grippers] = data
        elif kind == "trajectory":
            self._heard = now
            to = self._setpoint.copy()
            names, position, seconds = data
            if set(names) - set(self._axes):
                return  # as the controller does: it refuses what it does not know
            to[[self._axes[name] for name in names]] = position
            self._way = now, self._setpoint.copy(), now + max(round(seconds * 1e9), 1), to
        elif len(data) == len(self._arms):
            self._heard = now
            if kind == "position":
                self._setpoint[self._arms] = data
            else:
                self._ticked = now if self._speed is None else self._ticked
                self._speed = np.array(data)

    def tick(self, now: int) -> None:
        """Interpolate, as the controller's own loop does; hold when nothing comes any more."""
        seconds, self._ticked = (now - self._ticked) * 1e-9, now
        if self._setpoint is None:
            return
        if self._settings.command is CommandMode.ACTION:
            self._follow(self._setpoint, now)
            return
        if now - self._heard > TIME_OUT_S * 1e9:
            if self._heard:
                grippers = self._setpoint[self._grippers]
                self._cell.stop()
                self._setpoint = self._cell.reading().position
                self._setpoint[self._grippers] = grippers
            self._heard, self._way, self._speed = 0, None, None
            return
        self._interpolate(self._setpoint, now)
        if self._speed is not None:
            self._setpoint[self._arms] += self._speed * min(seconds, TIME_OUT_S)
        self._cell.send(self._setpoint)

    def _follow(self, setpoint: FloatArray, now: int) -> None:
        """Send what the goal asks for; without one the servos hold what they were sent."""
        desired = self.follower.tick(now, self._cell.reading().position[self._arms])
        if desired is not None:
            setpoint[self._arms] = desired
            self._cell.send(setpoint)

    def _interpolate(self, setpoint: FloatArray, now: int) -> None:
        if self._way is not None:
            begin, start, end, to = self._way
            share = min((now - begin) / (end - begin), 1.0)
            setpoint[self._arms] = (start + share * (to - start))[self._arms]


class Ros2Server:
    """The station's end of `enpire.drivers.ros2`."""

    def __init__(self, cell: SimulatedCell, station: StationFile, faults: Faults) -> None:
        """Raises DriverError without rclpy."""
        from geometry_msgs.msg import PoseArray, WrenchStamped
        from rclpy.lifecycle import LifecycleNode
        from sensor_msgs.msg import JointState
        from std_msgs.msg import Float64MultiArray, String
        from std_srvs.srv import SetBool
        from trajectory_msgs.msg import JointTrajectory

        settings = self._settings = Ros2Settings.read(station.wiring)
        self._cell, self._faults = cell, faults
        self._names = settings.names(station.robot)
        self._controller = SimulatedController(cell, settings, station.robot)
        self._asked: deque[tuple[str, Any]] = deque()
        self._number, self._said, self._told = 0, "", -1
        self._period = -1
        self._spinning = Spinning(f"simulated_{station.path.stem}", settings.namespace, False)
        node = self._spinning.node
        self._states = node.create_publisher(JointState, settings.joint_states, sensor_data())
        self._wrenches = [
            node.create_publisher(WrenchStamped, topic, sensor_data())
            for topic in settings.wrenches
        ]
        self._objects = node.create_publisher(PoseArray, settings.objects, sensor_data())
        self._cameras = self._made_cameras(node, station)
        self._pictures: Pictures[list[Sent]] | None = None
        if self._cameras:
            self._pictures = Pictures(cell.twin, station.cameras, self._pictured)
        self._scene = node.create_publisher(String, SCENE, latched())
        self._fault = node.create_publisher(String, FAULTS, latched())
        self._description = node.create_publisher(String, "robot_description", latched())
        self._description.publish(String(data=urdf(station.robot, settings)))
        self._listen(
            node, Float64MultiArray, INITIAL_STATE, lambda m: (INITIAL_STATE, np.array(m.data))
        )
        self._listen(node, Float64MultiArray, PHYSICS, lambda m: (PHYSICS, np.array(m.data)))
        self._listen(node, String, settings.fixture, lambda m: ("operate", m.data), latched())
        self._controllers = LifecycleNode(
            settings.controller, namespace=settings.namespace, context=self._spinning.context
        )
        self._controllers.declare_parameter("joints", list(settings.arm_joints(station.robot)))
        self._controllers.declare_parameter("cmd_timeout", TIME_OUT_S)
        if settings.command is CommandMode.ACTION:
            self._actions = action.serve(
                self._controllers,
                settings.controller,
                settings.arm_joints(station.robot),
                self._controller.follower,
                lambda: self._controllers._state_machine.current_state[1] == "active",
                self._accept,
            )
        elif settings.command is CommandMode.TRAJECTORY:
            topic = f"{settings.controller}/joint_trajectory"
            self._listen(node, JointTrajectory, topic, _trajectory)
        else:
            kind, topic = str(settings.command), f"{settings.controller}/commands"
            self._listen(node, Float64MultiArray, topic, lambda m: (kind, np.array(m.data)))
        if settings.gripper != "none":
            topic = f"{settings.gripper_controller}/commands"
            self._listen(node, Float64MultiArray, topic, lambda m: ("gripper", np.array(m.data)))
        node.create_service(SetBool, EMERGENCY, self._emergency)
        self._spinning.add(self._controllers)
        self._spinning.start()
        self._controllers.trigger_configure()
        self._controllers.trigger_activate()

    def serve(self, now: int) -> None:
        """Take what has come, and say how things are; now: monotonic ns."""
        while self._asked:
            what, data = self._asked.popleft()
            if what in (INITIAL_STATE, PHYSICS, "operate"):
                self._simulator(what, data)
            elif what == "accept":
                self._controller.follower.accept(data)
            else:
                self._faults.commands.put(now, (what, data))
        for command_ in self._faults.commands.due(now):
            self._controller.take(now, command_)
        self._controller.tick(now)
        self._faults.readings.put(now, self._cell.reading())
        for reading in self._faults.readings.due(now):
            self._publish(self._faults.lied(reading), now)
        period = now // round(self._cell.period * 1e9)
        if period != self._period:
            self._period = period
            self._faults.objects.put(now, self._cell.objects())
        for objects in self._faults.objects.due(now):
            self._objects.publish(poses(objects, self._stamp(objects.stamp, now)))
        if self._pictures is not None and any(self._listened.values()):
            for sent in self._pictures.take(now, self._cell.measured) or ():
                self._faults.pictures.put(now, sent)
        for publisher, message in self._faults.pictures.due(now):
            publisher.publish(message)
        self._say()

    def close(self) -> None:
        """End the node."""
        if self._pictures is not None:
            self._pictures.close()
        self._spinning.close()

    def _made_cameras(self, node: Any, station: StationFile) -> dict[str, tuple[Any, Any]]:
        """Publishers of each camera that the station names: of Image, and of CompressedImage."""
        from sensor_msgs.msg import CompressedImage, Image

        made = {}
        for camera, topic in self._settings.pictures(station.cameras).items():
            raw = topic.removesuffix(COMPRESSED)
            made[camera] = (
                node.create_publisher(Image, raw, sensor_data()),
                node.create_publisher(CompressedImage, f"{raw}{COMPRESSED}", sensor_data()),
            )
        return made

    @property
    def _listened(self) -> dict[Any, int]:
        """How many hear each publisher of pictures."""
        publishers = [each for pair in self._cameras.values() for each in pair]
        return {each: each.get_subscription_count() for each in publishers}

    def _pictured(self, views: list[CameraView], measured: int) -> list[Sent]:
        """Messages for those who listen, in the renderer's thread."""
        stamp = self._stamp(measured, time.monotonic_ns())
        made: list[Sent] = []
        for view in views:
            name = view.camera.name
            for publisher, message in zip(
                self._cameras.get(name, ()), (image, compressed), strict=False
            ):
                if publisher.get_subscription_count():
                    made.append((publisher, message(view.image, stamp, name)))
        return made

    def _listen(self, node: Any, kind: Any, topic: str, read: Any, qos: Any = None) -> None:
        node.create_subscription(
            kind, topic, lambda message: self._asked.append(read(message)), qos or command()
        )

    def _simulator(self, what: str, data: Any) -> None:
        try:
            if what == INITIAL_STATE:
                self._cell.set_initial_state(data)
                self._number += 1
            elif what == PHYSICS:
                self._cell.randomize_physics(data)
            else:
                self._cell.operate(tuple(filter(None, data.split(","))))
        except SafetyError as error:
            self._spinning.node.get_logger().error(str(error))

    def _publish(self, reading: Reading, now: int) -> None:
        from geometry_msgs.msg import Vector3, Wrench, WrenchStamped
        from sensor_msgs.msg import JointState
        from std_msgs.msg import Header

        header = Header(stamp=self._stamp(reading.stamp, now))
        # In another order than ours, as a broadcaster's is.
        order = sorted(range(len(self._names)), key=lambda k: self._names[k])
        self._states.publish(
            JointState(
                header=header,
                name=[self._names[k] for k in order],
                position=reading.position[order].tolist(),
                velocity=reading.velocity[order].tolist(),
                effort=reading.effort[order].tolist(),
            )
        )
        for publisher, (x, y, z) in zip(self._wrenches, reading.force.tolist(), strict=False):
            publisher.publish(
                WrenchStamped(header=header, wrench=Wrench(force=Vector3(x=x, y=y, z=z)))
            )

    def _stamp(self, measured: int, now: int) -> Any:
        """The stamp by the node's clock, of a time by the machine's."""
        at = self._spinning.now() - (now - measured)
        from builtin_interfaces.msg import Time

        return Time(sec=at // 10**9, nanosec=at % 10**9)

    def _say(self) -> None:
        """How the scene is, and what faults there were, when that is news."""
        from std_msgs.msg import String

        scene = {"number": self._number, "placed": self._cell.placed, "failed": self._cell.failed}
        if (said := json.dumps(scene)) != self._said:
            self._said = said
            self._scene.publish(String(data=said))
        if len(self._faults.told) != self._told:
            self._told = len(self._faults.told)
            told = [asdict(fault) for fault in self._faults.told[-TOLD:]]
            self._fault.publish(String(data=json.dumps(told)))

    def _accept(self, goal: action.ServedGoal) -> None:
        self._asked.append(("accept", goal))
        self._asked.append(("goal", goal))

    def _emergency(self, request: Any, response: Any) -> Any:
        self._cell.emergency(bool(request.data))
        response.success = True
        response.message = "stopped" if request.data else "released"
        return response


def _trajectory(message: Any) -> tuple[str, Any]:
    """Its last point: more than one is for controllers that keep a queue."""
    point = message.points[-1]
    seconds = point.time_from_start.sec + point.time_from_start.nanosec * 1e-9
    return "trajectory", (tuple(message.joint_names), np.array(point.positions), seconds)


def urdf(robot: Robot, settings: Ros2Settings) -> str:
    """Joints and limits of a robot pack, and nothing else, as robot_description says them."""
    limits = of_robot(robot)
    names = settings.names(robot)
    joints = "".join(
        f"<joint name={quoteattr(name)} type='revolute'>"
        f"<parent link='l{k}'/><child link='l{k + 1}'/>"
        f"<limit lower='{limits.low[k]}' upper='{limits.high[k]}' velocity='{limits.speed[k]}' "
        "effort='100'/></joint>"
        for k, name in enumerate(names)
    )
    links = "".join(f"<link name='l{k}'/>" for k in range(len(names) + 1))
    return f"<robot name={quoteattr(robot.name)}>{links}{joints}</robot>"
