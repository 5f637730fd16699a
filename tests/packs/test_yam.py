"""One YAM is the arm of two."""

from __future__ import annotations

from enpire.packs import find, load_robot


def test_one_yam_is_the_same_arm_as_each_of_two() -> None:
    one, two = (load_robot(find("robots", name)) for name in ("yam", "yam_bimanual"))
    assert {arm.model.read_bytes() for arm in (*one.arms, *two.arms)} == {
        one.arms[0].model.read_bytes()
    }
    assert one.arms[0].gripper_range == two.arms[0].gripper_range
    assert one.limits.joint_speed == two.limits.joint_speed
    assert one.limits.joint_acceleration == two.limits.joint_acceleration
