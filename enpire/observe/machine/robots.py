"""What arms and cameras are reached by: ROS 2, its DDS, serial ports, video devices."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from enpire.drivers.ros2.node import ros2
from enpire.errors import DriverError
from enpire.observe.machine.check import CheckState, MachineCheck
from enpire.observe.machine.children import run_apart

DEV = Path("/dev")
QUERY = 0x80685600  # VIDIOC_QUERYCAP
CAPABILITIES, CARD, DEVICE = 104, slice(16, 48), slice(88, 92)  # of its answer, in bytes
CAPTURES = 0x1

TALK = """
import time
import rclpy
from std_msgs.msg import String
rclpy.init()
node = rclpy.create_node("enpire_doctor")
name = f"enpire_doctor_{time.time_ns()}"
heard = []
node.create_subscription(String, name, lambda message: heard.append(message), 1)
publisher = node.create_publisher(String, name, 1)
end = time.monotonic() + 5.0
while not heard and time.monotonic() < end:
    publisher.publish(String(data="hello"))
    rclpy.spin_once(node, timeout_sec=0.1)
if not heard:
    raise SystemExit("a node does not hear itself")
print(rclpy.get_rmw_implementation_identifier())
"""


def middleware() -> list[MachineCheck]:
    """Import rclpy, and have a node hear itself through DDS."""
    try:
        ros2()
    except DriverError as error:
        said, _, remedy = str(error).partition(": ")
        return [MachineCheck("ROS 2", CheckState.NOTE, said, remedy)]
    version = os.environ.get("ROS_DISTRO", "enpire[ros2]")
    found = [MachineCheck("ROS 2", CheckState.GOOD, f"rclpy of {version}")]
    domain = os.environ.get("ROS_DOMAIN_ID", "0")
    works, said = run_apart(TALK)
    if works:
        line = f"{said}, domain {domain}: a node hears itself"
        return [*found, MachineCheck("DDS", CheckState.GOOD, line)]
    return [
        *found,
        MachineCheck(
            "DDS",
            CheckState.BAD,
            f"domain {domain}: {said}",
            "let UDP multicast through (ufw allow from 224.0.0.0/4; ip link set lo multicast on), "
            "and install what RMW_IMPLEMENTATION names; or set ROS_LOCALHOST_ONLY=1",
        ),
    ]


def serial_ports(dev: Path = DEV) -> MachineCheck:
    """Find arms at USB, and whether this user may speak to them."""
    ports = sorted([*dev.glob("ttyUSB*"), *dev.glob("ttyACM*")])
    return _reachable("serial ports", ports, "dialout", "arms of LeRobot's at USB")


def cameras(dev: Path = DEV) -> MachineCheck:
    """Find cameras at USB, and whether this user may look; none is switched on."""
    devices = sorted(dev.glob("video*"))
    names = {path: _camera(path) for path in devices}
    there = [path for path in devices if names[path] != ""]
    return _reachable("cameras", there, "video", "cameras at USB", names)


def _reachable(
    name: str,
    paths: list[Path],
    group: str,
    what: str,
    called: dict[Path, str | None] | None = None,
) -> MachineCheck:
    if not paths:
        remedy = f"for {what}: plug them in; in a container pass --device"
        return MachineCheck(name, CheckState.NOTE, "none", remedy)
    shut = [path for path in paths if not os.access(path, os.R_OK | os.W_OK)]
    if shut:
        return MachineCheck(
            name,
            CheckState.BAD,
            f"{', '.join(map(str, shut))}: not for this user",
            f"sudo usermod -aG {group} $USER, and log in anew",
        )
    said = (f"{path} ({called[path]})" if called and called[path] else str(path) for path in paths)
    return MachineCheck(name, CheckState.GOOD, ", ".join(said))


def _camera(path: Path) -> str | None:
    """What a video device calls itself; empty if it takes no pictures, None if it does not say."""
    answer = bytearray(CAPABILITIES)
    try:
        handle = os.open(path, os.O_RDWR | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        fcntl.ioctl(handle, QUERY, answer)
    except OSError:
        return None
    finally:
        os.close(handle)
    if not int.from_bytes(answer[DEVICE], "little") & CAPTURES:
        return ""
    return answer[CARD].split(b"\0")[0].decode(errors="replace") or None
