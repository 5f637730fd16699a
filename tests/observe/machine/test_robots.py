"""What is plugged in and may not be used is told with how to come to it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from enpire.errors import DriverError
from enpire.observe.machine import CheckState, robots


def test_without_a_port_there_is_a_note(tmp_path: Path) -> None:
    for check in (robots.serial_ports(tmp_path), robots.cameras(tmp_path)):
        assert (check.state, check.found) == (CheckState.NOTE, "none")


@pytest.mark.parametrize(
    ("look", "device", "group"),
    [(robots.serial_ports, "ttyACM0", "dialout"), (robots.cameras, "video0", "video")],
)
def test_a_device_of_others_is_bad_and_says_which_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, look: Any, device: str, group: str
) -> None:
    (tmp_path / device).touch()
    assert look(tmp_path).state is CheckState.GOOD
    assert device in look(tmp_path).found
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert look(tmp_path).state is CheckState.BAD
    assert f"usermod -aG {group}" in look(tmp_path).remedy


def test_a_camera_says_its_name_and_its_second_device_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("video0", "video1"):
        (tmp_path / name).touch()
    captures = iter([1, 0])

    def query(handle: int, code: int, answer: bytearray) -> None:
        answer[robots.CARD] = b"C920".ljust(32, b"\0")
        answer[robots.DEVICE] = next(captures).to_bytes(4, "little")

    monkeypatch.setattr("fcntl.ioctl", query)
    assert robots.cameras(tmp_path).found == f"{tmp_path}/video0 (C920)"


def test_ros_2_is_asked_to_hear_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(robots, "ros2", lambda: None)
    monkeypatch.setattr(robots, "run_apart", lambda _: (False, "a node does not hear itself"))
    assert [check.state for check in robots.middleware()] == [CheckState.GOOD, CheckState.BAD]
    monkeypatch.setattr(robots, "run_apart", lambda _: (True, "rmw_fastrtps_cpp"))
    assert [check.state for check in robots.middleware()] == [CheckState.GOOD] * 2

    def missing() -> None:
        raise DriverError("rclpy cannot be imported (x): source a ROS 2 installation")

    monkeypatch.setattr(robots, "ros2", missing)
    (check,) = robots.middleware()
    assert check.state is CheckState.NOTE
    assert check.remedy == "source a ROS 2 installation"
