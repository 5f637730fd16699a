"""Limits come from the robot pack, and a station file only narrows them."""

from __future__ import annotations

import numpy as np
import pytest

from enpire.errors import PackError
from enpire.packs import find, load_robot
from enpire.packs.toml import Table
from enpire.safety.limits import narrowed, of_robot

YAM = of_robot(load_robot(find("robots", "yam")))


def test_every_axis_has_a_limit_of_each_kind() -> None:
    two = of_robot(load_robot(find("robots", "yam_bimanual")))
    assert two.low.shape == two.speed.shape == two.jump.shape == (14,)
    assert two.low[1] == 0.0
    assert two.high[6] == 0.075
    assert two.grippers.nonzero()[0].tolist() == [6, 13]
    assert two.gripper_force == 40.0


def test_a_station_narrows() -> None:
    given = {
        "joint_speed": [1.0] * 6,
        "gripper_speed": 0.1,
        "workspace_low": [0.2, -0.2, 0.01],
        "clearance": 0.02,
        "wrist_force": 10,
    }
    limits = narrowed(YAM, Table(given, "lab.toml [limits]"))
    assert limits.speed.tolist() == [1.0] * 6 + [0.1]
    assert limits.workspace_low[0] == 0.2
    assert (limits.clearance, limits.wrist_force) == (0.02, 10.0)
    assert limits.high is YAM.high


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("joint_speed", [2.0, 2.0, 2.0, 3.0, 3.0, 3.1], "wider"),
        ("joint_low", [-3.0, 0, 0, -1.5, -1.5, -2], "wider"),
        ("clearance", 0.001, "wider"),
        ("cartesian_speed", 0.26, "wider"),
        ("workspace_high", [0.6, 0.3, 0.5], "wider"),
        ("jump", [0.1, 0.1, 0.1, 0.1, 0.1, float("inf")], "finite"),
        ("wrist_force", float("nan"), "finite"),
        ("joint_speed", [0.0] * 6, "above 0"),
        ("joint_speed", [0.002] * 6, "below 0.02: no arm is as slow"),
        ("joint_acceleration", [0.01] * 6, "below 0.1: no arm is as slow"),
        ("cartesian_speed", 0.00025, "below 0.005: no arm is as slow"),
        ("joint_speed", [1.0] * 5, "6 numbers"),
        ("force", 3.0, "no limit"),
        ("joint_low", [4.0] * 6, "nothing is left"),
    ],
)
def test_what_does_not_narrow_is_refused_with_file_and_key(key, value, said) -> None:
    with pytest.raises(PackError, match=said) as error:
        narrowed(YAM, Table({key: value}, "lab.toml [limits]"))
    assert "lab.toml [limits]" in str(error.value)
    assert not np.isnan(YAM.speed).any()
