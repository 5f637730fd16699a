"""A ROS 2 node that a thread spins."""

from __future__ import annotations

import importlib.util
import os
import sys

import pytest

from enpire.drivers.ros2.node import Spinning, latched, wait_until
from enpire.errors import DriverError
from tests.drivers.dds import alone_in_the_network, held_in_shared_memory, require_dds

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("rclpy") is None, reason="no rclpy: enpire[ros2]"
)
PATIENCE_S = 60.0


@pytest.fixture
def spinning(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    alone_in_the_network(monkeypatch)
    require_dds()
    node = Spinning("listener", "/left", False)
    yield node
    node.close()


def test_a_thread_outlives_the_subscriptions_that_come_and_go(spinning) -> None:
    """Another thread that destroys one while the executor prepares to wait ends the executor."""
    from std_msgs.msg import String

    interval = sys.getswitchinterval()
    spinning.every(0.0002, lambda: None)  # so the executor prepares to wait all the time
    spinning.start()
    try:
        sys.setswitchinterval(1e-6)
        for _ in range(500):
            spinning.hear(String, "said", latched(), 0.0)
    finally:
        sys.setswitchinterval(interval)
    spinning.node.create_publisher(String, "said", latched()).publish(String(data="hello"))
    assert spinning.hear(String, "said", latched(), PATIENCE_S).data == "hello"
    spinning.require_active()


def test_a_closed_node_leaves_nothing_in_shared_memory(monkeypatch) -> None:
    from rclpy.lifecycle import LifecycleNode

    alone_in_the_network(monkeypatch)
    before = held_in_shared_memory(os.getpid())
    node = Spinning("leaving", "/left", False)
    node.add(LifecycleNode("beside", namespace="/left", context=node.context))
    node.start()
    assert held_in_shared_memory(os.getpid()) > before
    node.close()
    assert held_in_shared_memory(os.getpid()) == before


def test_what_is_not_said_in_time_is_none(spinning) -> None:
    from std_msgs.msg import String

    spinning.start()
    assert spinning.hear(String, "said", latched(), 0.05) is None


def test_a_thread_that_ends_by_an_error_is_told(spinning) -> None:
    def fails() -> None:
        raise ValueError("a message that nobody expected")

    spinning.every(0.001, fails)
    spinning.start()
    assert wait_until(lambda: not spinning._thread.is_alive(), PATIENCE_S)
    with pytest.raises(DriverError, match=r"ended: ValueError.*nobody expected"):
        spinning.require_active()


def test_a_node_that_somebody_deactivates_is_told(spinning) -> None:
    spinning.start()
    spinning.require_active()
    spinning.node.trigger_deactivate()
    with pytest.raises(DriverError, match="not active"):
        spinning.require_active()
