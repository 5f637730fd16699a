"""Whether messages pass between two processes here at all: not on every machine they do."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

WAIT_S = 30.0
TALKER = """
import time
import rclpy
from std_msgs.msg import String
rclpy.init()
node = rclpy.create_node("talker")
publisher = node.create_publisher(String, "probe", 1)
while True:
    publisher.publish(String(data="here"))
    time.sleep(0.05)
"""


def alone_in_the_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hear no other test of this machine at this time, and nobody in the network."""
    monkeypatch.setenv("ROS_DOMAIN_ID", str(1 + os.getpid() % 100))
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")


def require_dds() -> None:
    """Skip the test where a bare publisher is not heard by a bare subscriber."""
    import rclpy
    from rclpy.context import Context
    from rclpy.executors import SingleThreadedExecutor
    from std_msgs.msg import String

    talker = subprocess.Popen([sys.executable, "-c", TALKER])
    context = Context()
    rclpy.init(context=context)
    heard: list[str] = []
    try:
        node = rclpy.create_node("listener", context=context)
        node.create_subscription(String, "probe", lambda message: heard.append(message.data), 1)
        executor = SingleThreadedExecutor(context=context)
        executor.add_node(node)
        end = time.monotonic() + WAIT_S
        while not heard and time.monotonic() < end:
            executor.spin_once(timeout_sec=0.1)
        executor.shutdown()
    finally:
        rclpy.shutdown(context=context)
        talker.kill()
        talker.wait()
    if not heard:
        pytest.skip("no DDS between processes here: a bare publisher is not heard")
