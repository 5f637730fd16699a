"""What of ROS 2 needs no ROS 2: names, limits of a URDF, settings."""

from __future__ import annotations

from types import SimpleNamespace

import cv2
import numpy as np
import pytest

from enpire.drivers.ros2.checks import described, differences, require_clock
from enpire.drivers.ros2.messages import Names, force_of, objects_of, picture_of
from enpire.drivers.ros2.settings import CommandMode, Ros2Settings
from enpire.errors import DriverError, PackError
from enpire.packs import find, load_robot
from enpire.packs.toml import Table
from enpire.simulation.ros2 import urdf

ROBOT = load_robot(find("robots", "so101"))
HEADER = SimpleNamespace(frame_id="world")
TWO = load_robot(find("robots", "yam_bimanual"))


def test_joints_are_taken_by_name_in_whatever_order_they_come() -> None:
    names = Names(["a", "b"])
    state = SimpleNamespace(
        name=["x", "b", "a"], position=[9.0, 2.0, 1.0], velocity=[9.0, 4.0, 3.0], effort=[]
    )
    position, velocity, effort = names.ordered(state)
    assert position.tolist() == [1.0, 2.0]
    assert velocity.tolist() == [3.0, 4.0]
    assert np.isnan(effort).all()
    state.name = ["a", "b", "x"]
    assert names.ordered(state)[0].tolist() == [9.0, 2.0]
    state.name = ["a", "x", "y"]
    with pytest.raises(DriverError, match="b is missing"):
        names.ordered(state)
    state.name, state.position = ["a", "b"], [1.0]
    with pytest.raises(DriverError, match="of position 1 numbers"):
        names.ordered(state)


def pose(*numbers: float) -> SimpleNamespace:
    x, y, z, *turn = numbers
    place = SimpleNamespace(x=x, y=y, z=z)
    turned = SimpleNamespace(**dict(zip("wxyz", turn, strict=True)))
    return SimpleNamespace(position=place, orientation=turned)


def test_what_is_no_pose_counts_as_none() -> None:
    good = pose(1, 2, 3, 1, 0, 0, 0)
    assert objects_of(SimpleNamespace(header=HEADER, poses=[good]), 7).position.tolist() == [
        [1, 2, 3]
    ]
    assert len(objects_of(SimpleNamespace(header=HEADER, poses=[]), 7).position) == 0
    for bad in (
        pose(1, 2, 3, 0, 0, 0, 0),
        pose(1, 2, 3, 2, 0, 0, 0),
        pose(1, float("nan"), 3, 1, 0, 0, 0),
        pose(1, 2, 3, float("nan"), 0, 0, 0),
    ):
        with pytest.raises(DriverError, match=r"nowhere|length 1"):
            objects_of(SimpleNamespace(header=HEADER, poses=[good, bad]), 7)


def test_a_force_that_is_no_number_is_above_every_limit() -> None:
    def felt(*axes: float) -> list[float]:
        wrench = SimpleNamespace(force=SimpleNamespace(**dict(zip("xyz", axes, strict=True))))
        return force_of(SimpleNamespace(wrench=wrench)).tolist()

    assert felt(1.0, 2.0, 3.0) == [1.0, 2.0, 3.0]
    assert felt(1.0, float("nan"), 3.0) == [float("inf")] * 3


def test_pictures_are_rgb_however_they_come() -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (3, 4, 3), np.uint8)
    padded = np.pad(pixels.reshape(3, 12), ((0, 0), (0, 2)))  # rows may be longer than the picture
    raw = SimpleNamespace(encoding="rgb8", height=3, width=4, step=14, data=padded.tobytes())
    assert (picture_of(raw) == pixels).all()
    raw.encoding = "bgr8"
    assert (picture_of(raw) == pixels[..., ::-1]).all()
    raw.encoding = "mono8"
    with pytest.raises(DriverError, match="'mono8': rgb8 or bgr8 is needed"):
        picture_of(raw)
    data = cv2.imencode(".png", pixels[..., ::-1])[1]
    small = SimpleNamespace(format="rgb8; png compressed bgr8", data=data.tobytes())
    assert (picture_of(small) == pixels).all()
    for data in (b"no picture", b""):
        with pytest.raises(DriverError, match="cut off, or no picture"):
            picture_of(SimpleNamespace(format="jpeg", data=data))


def test_cameras_have_topics_and_as_many_as_there_are() -> None:
    usual = Ros2Settings().pictures(("top", "side"))
    assert usual == {c: f"{c}/image_raw/compressed" for c in ("top", "side")}
    assert Ros2Settings(images=("a/image",)).pictures(("top",)) == {"top": "a/image"}
    with pytest.raises(PackError, match="2 names needed"):
        Ros2Settings(images=("a/image",)).pictures(("top", "side"))


def test_axes_are_named_as_the_pack_names_them_unless_told_otherwise() -> None:
    settings = Ros2Settings()
    assert settings.names(TWO)[5:9] == (
        "left_joint6",
        "left_gripper",
        "right_joint1",
        "right_joint2",
    )
    own = Ros2Settings.read(
        Table({"joints": list("abcde"), "gripper_joints": ["jaw"], "command": "velocity"}, "x")
    )
    assert own.names(ROBOT) == (*"abcde", "jaw")
    assert own.command is CommandMode.VELOCITY
    with pytest.raises(PackError, match="5 names needed, found 1"):
        Ros2Settings(joints=("a",)).names(ROBOT)


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"namspace": "/a"}, "namspace means nothing"),
        ({"command": "torque"}, "trajectory, action, position, velocity"),
        ({"simulated": "yes"}, "expected bool"),
        ({"gripper": "soft"}, "position or none"),
    ],
)
def test_wrong_settings_are_said_with_their_key(table, said) -> None:
    with pytest.raises(PackError, match=said):
        Ros2Settings.read(Table(table, "drivers.toml [ros2]"))


def test_a_pack_that_allows_more_than_the_arm_is_told_joint_by_joint() -> None:
    settings = Ros2Settings()
    names = settings.arm_joints(ROBOT)
    said = described(urdf(ROBOT, settings))
    assert differences(ROBOT, names, said) == []
    low, high, speed = said["arm_joint2"]
    said["arm_joint2"] = (low + 0.1, high, speed)
    said["arm_joint3"] = (*said["arm_joint3"][:2], 0.5)
    del said["arm_joint4"]
    wrong = differences(ROBOT, names, said)
    assert len(wrong) == 3
    assert "arm_joint2 goes from -1.645" in wrong[0]
    assert "arm_joint3 does 0.50 rad/s, the pack 2.00" in wrong[1]
    assert "no joint arm_joint4" in wrong[2]
    with pytest.raises(DriverError, match="no URDF"):
        described("<robot")


@pytest.mark.parametrize(
    ("ages", "step", "said"),
    [
        ([2_000_000_000], 10, r"\+2.000 s old"),  # a clock in the past
        ([-300_000_000], 10, r"-0.300 s old"),  # or ahead
        ([1_000_000], 0, "their clock stands still"),
    ],
)
def test_a_clock_that_is_not_this_machines_is_refused(
    ages: list[int], step: int, said: str
) -> None:
    heard = [(ages[0], 1_000 + step * i) for i in range(20)]
    with pytest.raises(DriverError, match=said):
        require_clock(heard)


def test_one_state_that_came_late_is_no_other_clock() -> None:
    require_clock([(1_000_000 if i else 400_000_000, 1_000 + i) for i in range(20)])
