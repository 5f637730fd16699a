"""The ROS 2 driver and wire against a simulated station in another process, over real DDS."""

from __future__ import annotations

import importlib.util
import time

import numpy as np
import pytest

from enpire.drivers import build
from enpire.drivers.build import open_wire
from enpire.drivers.ros2 import action, checks, node, wire
from enpire.drivers.ros2.node import Spinning
from enpire.drivers.ros2.shared_memory import LOCK
from enpire.errors import DriverError
from tests.drivers.control_msgs import require_control_msgs
from tests.drivers.dds import alone_in_the_network, held_in_shared_memory, require_dds
from tests.simulation.running import simulated, written

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("rclpy") is None, reason="no rclpy: enpire[ros2]"
)
PATIENCE_S = 60.0
STATION = '[ros2]\nnamespace = "/left"\nsimulated = true\nwrenches = ["wrench"]\n'


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    alone_in_the_network(monkeypatch)
    # On a busy machine everything takes its time.
    monkeypatch.setattr(checks, "CONNECT_S", PATIENCE_S)
    monkeypatch.setattr(checks, "ANSWER_S", PATIENCE_S)
    monkeypatch.setattr(checks, "CLOCK_S", PATIENCE_S)
    monkeypatch.setattr(wire, "CONNECT_S", PATIENCE_S)
    require_dds()
    return tmp_path


def until(holds) -> bool:
    return node.wait_until(holds, PATIENCE_S)


@pytest.mark.medium
def test_arm_tracker_and_simulator_over_the_wire(folder) -> None:
    station = written(folder, "left", "ros2", STATION)
    with simulated(station) as process:
        held = held_in_shared_memory(process.pid)
        arm = build("ros2", station.robot, time.monotonic_ns, station.site)
        arm.connect()
        try:
            start = arm.read()
            assert start.position.shape == (6,)
            assert until(lambda: np.isfinite(arm.read().force).all())
            goal = start.position + np.array([0.1, 0, 0, 0, 0, -0.1])

            def there() -> bool:
                arm.send(goal)
                return bool(abs(arm.read().position - goal).max() < 0.02)

            assert until(there)
            arm.stop()
            scenery = open_wire("ros2", station.site, time.monotonic_ns)
            try:
                seen = scenery.objects()
                assert seen is not None
                assert seen.rotation[0] @ seen.rotation[0].T == pytest.approx(np.eye(3), abs=1e-6)
                scene = np.array([0.2, 0.03, 0.1, 0, 0, 0, 0, 1, 1, 0.01])
                scenery.set_initial_state(scene)
                assert until(lambda: scenery.placed)
                assert until(
                    lambda: np.linalg.norm(scenery.objects().position[0, :2] - scene[:2]) < 0.01
                )
                scenery.operate(("clamp",))
            finally:
                scenery.close()
        finally:
            arm.disconnect()
    segments = [path for path in held if LOCK.fullmatch(path.name)]
    assert segments
    assert not any(path.exists() for path in segments)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("more", "said"),
    [
        ('controller = "arm_controller"', "half open"),
        ('time_out = "no_such_thing"', "no command time-out"),
        ('joints = ["a", "b", "c", "d", "e"]', "0 joint states"),
    ],
)
def test_what_bites_later_is_refused_at_connect(folder, monkeypatch, more, said) -> None:
    station = written(folder, "left", "ros2", STATION)
    with simulated(station):
        monkeypatch.setattr(checks, "CONNECT_S", 10.0)
        other = written(folder, "other", "ros2", f"{STATION}{more}")
        arm = build("ros2", other.robot, time.monotonic_ns, other.site)
        with pytest.raises(DriverError, match=said):
            arm.connect()


@pytest.mark.slow
def test_a_second_source_of_joint_states_is_noticed_and_a_second_commander(folder) -> None:
    from sensor_msgs.msg import JointState
    from trajectory_msgs.msg import JointTrajectory

    station = written(folder, "left", "ros2", STATION)
    arm = build("ros2", station.robot, time.monotonic_ns, station.site)
    says = arm.settings.joint_states
    other = Spinning("other", "/left", False)
    publisher = other.node.create_publisher(JointState, says, node.sensor_data())

    def say() -> None:
        message = JointState()
        message.header.stamp = other.node.get_clock().now().to_msg()
        message.name = list(arm.settings.names(station.robot))
        message.position = [0.0] * len(message.name)
        publisher.publish(message)

    with simulated(station):
        other.start()
        try:
            arm.connect()
            start = arm.read().position
            arm.send(start)
            (topic, *_) = arm.listeners

            def noticed(words: str) -> bool:
                try:
                    arm.read()
                except DriverError as error:
                    return words in str(error) and "/left/other" in str(error)
                return False

            commander = other.node.create_publisher(JointTrajectory, topic, node.command())
            assert until(lambda: noticed(f"commanded by /left/other on {topic}, too"))
            other.node.destroy_publisher(commander)
            assert until(lambda: not noticed("commanded by"))
            other.every(0.02, say)
            assert until(lambda: noticed("two nodes take turns"))
            arm.stop()
            np.testing.assert_array_equal(arm._sent, start, "not where the other says it is")
        finally:
            other.close()
            arm.disconnect()


@pytest.mark.slow
@pytest.mark.timeout(1200)  # where control_msgs is built first, on a busy machine
def test_goals_of_the_action_move_the_arm_until_its_emergency_stop_is_pressed(
    folder, request, monkeypatch
) -> None:
    from std_srvs.srv import SetBool

    require_control_msgs(request.config, monkeypatch)
    monkeypatch.setattr(action, "ANSWER_S", PATIENCE_S)
    station = written(folder, "left", "ros2", f'{STATION}command = "action"\n')
    with simulated(station):
        arm = build("ros2", station.robot, time.monotonic_ns, station.site)
        arm.connect()
        person = Spinning("person", "/left", False)
        person.start()
        try:
            start = arm.read().position
            goal = start + np.array([0.1, 0, 0, 0, 0, -0.1])

            def there(wanted: np.ndarray) -> bool:
                arm.send(wanted)
                return bool(abs(arm.read().position - wanted).max() < 0.02)

            assert until(lambda: there(goal))
            press = SetBool.Request(data=True)
            assert person.call(SetBool, "emergency_stop", press, PATIENCE_S).success
            with pytest.raises(DriverError, match="PATH_TOLERANCE_VIOLATED"):
                assert until(lambda: there(goal - 0.4 * np.eye(6)[0]))
            release = SetBool.Request(data=False)
            assert person.call(SetBool, "emergency_stop", release, PATIENCE_S).success
            arm.stop()
            assert until(lambda: there(start))
        finally:
            person.close()
            arm.disconnect()


@pytest.mark.slow
@pytest.mark.parametrize("topic", ["seen/image_raw", "front/image_raw/compressed"])
def test_pictures_come_while_somebody_listens(folder, topic) -> None:
    said = STATION + f'images = ["{topic}"]\n'
    station = written(folder, "left", "ros2", f'cameras = ["front"]\n{said}')
    with simulated(station):
        scenery = open_wire("ros2", station.scenery, time.monotonic_ns)
        try:
            assert scenery.picture("front") is None
            before = time.monotonic_ns()
            scenery.watch(("front",))
            assert until(lambda: scenery.picture("front") is not None)
            first = scenery.picture("front")
            image = first.image
            assert before < first.stamp < time.monotonic_ns()
            assert image.shape == (480, 640, 3)
            red = (image[..., 0] > 150) & (image[..., 1:] < 80).all(-1)
            assert 50 < red.sum() < 5000  # the cube
            assert until(lambda: scenery.picture("front").stamp > first.stamp)
        finally:
            scenery.close()
