"""The driver of arms behind ros2_control: joint states in, setpoints to a controller out.

One lifecycle node in the supervisor's process; its executor has a thread of its own, and a call
here waits for nothing but `connect`, which checks what bites (`checks.py`).
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Mapping
from typing import Any

import numpy as np

from enpire.drivers.driver import Clock, Reading, Site
from enpire.drivers.ros2 import checks
from enpire.drivers.ros2.action import PERIOD_S, ActionServices, Goals
from enpire.drivers.ros2.messages import Names, force_of, forward, trajectory
from enpire.drivers.ros2.node import Spinning, command, sensor_data
from enpire.drivers.ros2.settings import CommandMode, Ros2Settings
from enpire.drivers.speeds import Moment, speed_of, untrue_states
from enpire.errors import DriverError
from enpire.packs import Robot
from enpire.types import FloatArray

GAIN = 10.0  # of velocity commands, on what is left to the setpoint [1/s]
REACH_S = 0.01  # in which a point of a trajectory is to be reached: a period of 100 Hz
LOOK_S = 1.0  # between two looks at who else is in the network
# Joint states that are held against one another, how far apart they are, and how often that is
# done. It keeps the interpreter for milliseconds.
REMEMBERED, APART_S, COMPARE_S = 600, 0.05, 5.0
FORGET_S = 0.2  # without a setpoint or a joint state: the next one is no continuation


class Ros2:
    """Arms of a robot pack over ROS 2."""

    def __init__(self, robot: Robot, clock: Clock, site: Site) -> None:
        """Raises PackError for wrong settings, DriverError without rclpy."""
        self.robot, self.site, self._clock = robot, site, clock
        self.settings = Ros2Settings.read(site.settings)
        self._names = Names(self.settings.names(robot))
        count = len(self._names.axes)
        grippers = np.zeros(count, bool)
        grippers[len(robot.arms[0].home) :: len(robot.arms[0].home) + 1] = True
        own = self.settings.gripper != "none"
        self._arm_axes = np.flatnonzero(~grippers if own else np.ones(count, bool))
        self._gripper_axes = np.flatnonzero(grippers if own else np.zeros(count, bool))
        self._lock = threading.Lock()
        self._reading: Reading | None = None
        self._force = np.full((len(robot.arms), 3), np.nan)
        self._sent: FloatArray | None = None
        self._sent_at = 0
        self._spinning: Spinning | None = None
        self._arms: Any = None
        self._grippers: Any = None
        self._services: ActionServices | None = None
        self._goals: Goals | None = None
        self.heard: list[tuple[int, int]] = []  # while connecting: ages of states, ns, and stamps
        self.refused = ""  # why the last of those that count as none does
        self._sources: list[str] = []  # who publishes joint states, in the order of their first
        self._mixed = False  # whether two of them take turns
        self._others: list[str] = []  # who else commands the arms, and on which topic
        self._recent: deque[Moment] = deque()  # joint states, the newest last
        self._past: deque[Moment] = deque(maxlen=REMEMBERED)  # some of them
        self._untrue = ""  # what is wrong with velocities, or with a gripper

    def connect(self) -> None:
        """Raises DriverError with what is wrong, and where to set it right."""
        settings = self.settings
        self._sources, self._mixed, self._others = [], False, []
        self._recent.clear()
        self._past.clear()
        self._untrue = ""
        name = f"enpire_{self.site.name}".replace("-", "_").replace(".", "_")
        spinning = self._spinning = Spinning(name, settings.namespace, settings.use_sim_time)
        try:
            self._wire(spinning)
            spinning.every(LOOK_S, lambda: self._look(spinning))
            spinning.every(COMPARE_S, self._compare)
            spinning.start()
            checks.connected(self, spinning)
        except BaseException:
            self.disconnect()
            raise

    def read(self) -> Reading:
        """See `Driver`."""
        if self._mixed and self._spinning is not None:
            raise DriverError(checks.two_sources(self.settings, self._spinning))
        if self._untrue:
            raise DriverError(self._untrue)
        if self._others:
            raise DriverError(f"the arm is commanded by {', '.join(self._others)}, too: end that")
        return self._latest()

    def _latest(self) -> Reading:
        with self._lock:
            if self._reading is None:
                raise DriverError(f"no joint states on {self.settings.joint_states} yet")
            return self._reading

    def send(self, setpoint: FloatArray) -> None:
        """See `Driver`."""
        now = self._clock()
        before = self._sent
        if before is None or now - self._sent_at > FORGET_S * 1e9:
            before = setpoint
        seconds = max((now - self._sent_at) * 1e-9, 1e-3)
        speed = np.zeros_like(setpoint) if before is setpoint else (setpoint - before) / seconds
        self._sent, self._sent_at = np.array(setpoint), now
        self._publish(setpoint, speed)

    def stop(self) -> None:
        """See `Driver`: the arms hold where they are measured, grippers what they hold.

        Where two say otherwise where they are, they hold where they were sent.
        """
        if self._goals is not None:
            self._goals.stop()
        held = self._latest().position.copy()
        if self._sent is not None:
            kept = slice(None) if self._mixed else self._gripper_axes
            held[kept] = self._sent[kept]
        self._sent, self._sent_at = held, self._clock()
        if self._goals is None:
            self._publish(held, np.zeros_like(held))
        else:
            self._grip(held)

    def disconnect(self) -> None:
        """See `Driver`.

        The controller's command time-out is what holds the arms from now on, or a goal's end.
        """
        if self._spinning is not None:
            self._spinning.close()
            self._spinning = None

    @property
    def listeners(self) -> dict[str, int]:
        """How many hear our commands, by topic."""
        if self._services is not None:
            found = {self._services.name: int(self._services.ready)}
        else:
            found = {self._arms.topic_name: self._arms.get_subscription_count()}
        if self._grippers is not None:
            found[self._grippers.topic_name] = self._grippers.get_subscription_count()
        return found

    def _compare(self) -> None:
        """See whether joint states agree with one another, and with what was sent."""
        with self._lock:
            past = list(self._past)
        self._untrue = self._untrue or untrue_states(past, self._names.axes, self._gripper_axes)

    def _look(self, spinning: Spinning) -> None:
        """See who else commands the arms: whoever does may be discovered late, or begin late."""
        self._others = [
            f"{who} on {topic}"
            for topic in self.listeners
            for who in spinning.publishers(topic)
            if who != spinning.name
        ]

    def _wire(self, spinning: Spinning) -> None:
        from geometry_msgs.msg import WrenchStamped
        from sensor_msgs.msg import JointState
        from std_msgs.msg import Float64MultiArray
        from trajectory_msgs.msg import JointTrajectory

        node, settings = spinning.node, self.settings
        node.create_subscription(
            JointState, settings.joint_states, self._on_joint_state, sensor_data()
        )
        for arm, topic in enumerate(settings.forces(self.robot)):
            node.create_subscription(
                WrenchStamped, topic, lambda m, arm=arm: self._on_wrench(arm, m), sensor_data()
            )
        if settings.command is CommandMode.ACTION:
            action = f"{settings.controller}/follow_joint_trajectory"
            joints = [self._names.axes[k] for k in self._arm_axes]
            self._services = ActionServices(node, action, joints)
            self._goals = Goals(self._services, self._clock, node.get_logger().error)
            spinning.every(PERIOD_S, self._goals.tick)
        elif settings.command is CommandMode.TRAJECTORY:
            topic = f"{settings.controller}/joint_trajectory"
            self._arms = node.create_lifecycle_publisher(JointTrajectory, topic, command())
        else:
            topic = f"{settings.controller}/commands"
            self._arms = node.create_lifecycle_publisher(Float64MultiArray, topic, command())
        if len(self._gripper_axes):
            topic = f"{settings.gripper_controller}/commands"
            self._grippers = node.create_lifecycle_publisher(Float64MultiArray, topic, command())

    def _publish(self, setpoint: FloatArray, speed: FloatArray) -> None:
        if self._spinning is None:
            raise DriverError("the arm is not connected: call connect first")
        self._spinning.require_active()
        arms = self._arm_axes
        if self._goals is not None:
            self._goals.send(setpoint[arms])
        elif self.settings.command is CommandMode.TRAJECTORY:
            names = [self._names.axes[k] for k in arms]
            self._arms.publish(trajectory(names, setpoint[arms], speed[arms], REACH_S))
        elif self.settings.command is CommandMode.POSITION:
            self._arms.publish(forward(setpoint[arms]))
        else:
            left = setpoint[arms] - self.read().position[arms]
            self._arms.publish(forward(speed[arms] + GAIN * left))
        self._grip(setpoint)

    def _grip(self, setpoint: FloatArray) -> None:
        if self._grippers is not None:
            self._grippers.publish(forward(setpoint[self._gripper_axes]))

    def _on_joint_state(self, message: Any, info: Mapping[str, Any]) -> None:
        """A joint state: in the order of the axes, and stamped by this machine's clock."""
        arrived = self._clock()
        try:
            found = self._names.ordered(message)
        except DriverError as error:  # of other joints, for one
            self.refused = str(error)
            return
        if self._spinning is None:
            return
        stamp = message.header.stamp.sec * 10**9 + message.header.stamp.nanosec
        age = self._spinning.now() - stamp
        measured = arrived - max(age, 0)
        if len(self.heard) < checks.STATES:
            self.heard.append((age, stamp))
        with self._lock:
            self._hear_from(str(info.get("publisher_gid")))
            if self._reading is None or measured > self._reading.stamp:
                position, told, effort = found
                here = Moment(measured, position, told, self._sent)
                self._recent.append(here)
                while measured - self._recent[0].stamp > FORGET_S * 1e9:
                    self._recent.popleft()
                velocity, untold = told, np.isnan(told)
                if untold.any():
                    velocity = np.where(untold, speed_of(self._recent), told)
                if not self._past or measured - self._past[-1].stamp >= APART_S * 1e9:
                    self._past.append(here)
                self._reading = Reading(measured, position, velocity, effort, self._force.copy())

    def _hear_from(self, source: str) -> None:
        """Notice two sources that take turns; one that began anew does not come back."""
        if source in self._sources[:-1]:
            self._mixed = True
        elif source not in self._sources:
            self._sources.append(source)

    def _on_wrench(self, arm: int, message: Any) -> None:
        self._force[arm] = force_of(message)
