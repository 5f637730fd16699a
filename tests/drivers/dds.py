"""Whether messages pass between two processes here at all: not on every machine they do."""

from __future__ import annotations

import functools
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from enpire.drivers.ros2.shared_memory import FOLDER

WAIT_S = 30.0
TALKER = """
import select
import sys
import rclpy
from std_msgs.msg import String
rclpy.init()
node = rclpy.create_node("talker")
publisher = node.create_publisher(String, "probe", 1)
while not select.select([sys.stdin], [], [], 0.05)[0]:
    publisher.publish(String(data="here"))
node.destroy_node()
rclpy.shutdown()
"""
DOMAINS = range(1, 102)  # that leave the system's own ports alone, without 0, which others use


def alone_in_the_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hear no other test of this machine at this time, and nobody in the network."""
    monkeypatch.setenv("ROS_DOMAIN_ID", str(own_domain()[0]))
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")


@functools.cache
def own_domain() -> tuple[int, socket.socket]:
    """A domain that is this process's until it ends, and what keeps others from it."""
    held = socket.socket(socket.AF_UNIX)
    for domain in DOMAINS:
        with suppress(OSError):
            held.bind(f"\0enpire-tests-domain-{domain}")
            return domain, held
    raise RuntimeError(f"other tests have all ROS 2 domains below {DOMAINS.stop}")


def require_dds() -> None:
    """Skip the test where a bare publisher is not heard by a bare subscriber."""
    import rclpy
    from rclpy.context import Context
    from rclpy.executors import SingleThreadedExecutor
    from std_msgs.msg import String

    talker = subprocess.Popen([sys.executable, "-c", TALKER], stdin=subprocess.PIPE)
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
        node.destroy_node()
    finally:
        rclpy.shutdown(context=context)
        try:
            talker.communicate(timeout=WAIT_S)  # it ends by itself, and leaves nothing
        finally:
            talker.kill()
            talker.wait()
    if not heard:
        pytest.skip("no DDS between processes here: a bare publisher is not heard")


def held_in_shared_memory(pid: int) -> set[Path]:
    """The locks of Fast DDS's that a process has open."""
    held = set()
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(OSError):  # it is closed already
            held.add(descriptor.readlink())
    return {path for path in held if path.parent == FOLDER and "fastdds" in path.name}
