"""The FollowJointTrajectory action over real DDS: our client against rclpy's own server."""

from __future__ import annotations

import importlib.util
import os
import threading
import time

import numpy as np
import pytest

from enpire.drivers.ros2 import action, node
from enpire.drivers.ros2.node import Spinning
from enpire.errors import DriverError
from enpire.simulation.action import serve
from enpire.simulation.trajectory_follower import TrajectoryFollower
from tests.drivers.control_msgs import require_control_msgs
from tests.drivers.dds import alone_in_the_network, held_in_shared_memory

pytestmark = [
    pytest.mark.medium,
    pytest.mark.skipif(importlib.util.find_spec("rclpy") is None, reason="no rclpy: enpire[ros2]"),
    pytest.mark.timeout(1200),  # where control_msgs is built first, on a busy machine
]
PATIENCE_S = 60.0
JOINTS = ("joint_a", "joint_b")


@pytest.fixture
def network(request, monkeypatch):
    alone_in_the_network(monkeypatch)
    monkeypatch.setattr(action, "ANSWER_S", PATIENCE_S)
    require_control_msgs(request.config, monkeypatch)


class Arm:
    """Joints that go where a served controller asks them to, unless they are stuck."""

    def __init__(self) -> None:
        self.position = np.zeros(2)
        self.stuck, self.active, self.idle, self.taken = False, True, True, 0
        self._follower = TrajectoryFollower(JOINTS)
        self._asked: list = []
        self._spinning = Spinning("arm", "/left", False)
        self._server = serve(
            self._spinning.node,
            "jtc",
            JOINTS,
            self._follower,
            lambda: self.active,
            self._asked.append,
        )
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Arm:
        self._spinning.start()
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self._thread.join()
        self._spinning.close()

    def _run(self) -> None:
        while not self._over.wait(0.005):
            while self._asked:
                goal = self._asked.pop(0)
                self._follower.accept(goal)
                self._follower.begin(time.monotonic_ns(), goal, self.position)
                self.taken += 1
            desired = self._follower.tick(time.monotonic_ns(), self.position)
            self.idle = desired is None
            if desired is not None and not self.stuck:
                self.position = desired


class Sender:
    """The driver's end."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self._spinning = Spinning("driver", "/left", False)
        self.services = action.ActionServices(
            self._spinning.node, "jtc/follow_joint_trajectory", JOINTS
        )
        self.goals = action.Goals(self.services, time.monotonic_ns, self.said.append)
        self._spinning.every(action.PERIOD_S, self.goals.tick)

    def __enter__(self) -> Sender:
        self._spinning.start()
        assert until(lambda: self.services.ready)
        return self

    def __exit__(self, *error: object) -> None:
        self._spinning.close()


def until(holds) -> bool:
    return node.wait_until(holds, PATIENCE_S)


def failed(sender: Sender, wanted: np.ndarray) -> str:
    """What the driver raises, sooner or later."""
    said: list[str] = []

    def raised() -> bool:
        try:
            sender.goals.send(wanted)
        except DriverError as error:
            said.append(str(error))
        return bool(said)

    assert until(raised)
    return said[0]


def test_setpoints_move_the_arm_and_what_the_controller_says_is_heard(network) -> None:
    before = held_in_shared_memory(os.getpid())
    with Arm() as arm, Sender() as sender:
        goals = sender.goals
        for k in range(20):
            goals.send(np.array([0.005 * (k + 1), -0.005 * (k + 1)]))
            time.sleep(0.01)
        assert until(lambda: np.allclose(arm.position, [0.1, -0.1]))
        assert sender.said == []

        goals.stop()
        time.sleep(0.2)
        held = arm.position
        assert np.allclose(held, [0.1, -0.1])

        arm.stuck = True
        assert "PATH_TOLERANCE_VIOLATED: joint_a is" in failed(sender, np.array([1.0, -0.1]))
        goals.stop()  # as the supervisor does for a driver that raises
        assert until(lambda: arm.taken == goals._number and arm.idle)
        arm.stuck = False
        time.sleep(0.2)
        assert np.allclose(arm.position, held)

        arm.active = False
        assert "rejected a goal" in failed(sender, np.zeros(2))
        arm.active = True
        goals.stop()
        goals.send(np.zeros(2))
        assert until(lambda: np.allclose(arm.position, 0.0))
        assert len(sender.said) == 2
    assert held_in_shared_memory(os.getpid()) == before


def test_messages_are_those_that_the_published_package_has(network) -> None:
    """By their type hashes (REP 2011), as others have compiled them from the package itself."""
    from control_msgs.msg import JointComponentTolerance, JointTolerance

    published = {
        JointTolerance: "c254f9cece0f3b733017b6990fd46d1326e25242d6b8844398c97d9a88e7d648",
        JointComponentTolerance: "739ea7566931944d33830fa10f1bf5e7a7fbdc3172bce7a7eaac642bd6e3ffa4",
    }
    spinning = Spinning("hashes", "/left", False)
    try:
        for kind, expected in published.items():
            spinning.node.create_publisher(kind, kind.__name__, 1)
            (found,) = spinning.node.get_publishers_info_by_topic(kind.__name__)
            assert bytes(found.topic_type_hash.value).hex() == expected
    finally:
        spinning.start()
        spinning.close()
