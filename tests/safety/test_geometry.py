"""Where arms may be."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from enpire.packs import find, load_robot
from enpire.safety.geometry import Box, Geometry
from enpire.safety.limits import of_robot
from enpire.safety.rules import GateRule


def setup(name: str, boxes=()):
    robot = load_robot(find("robots", name))
    home = np.concatenate([[*arm.home, arm.gripper_range[1]] for arm in robot.arms])
    return Geometry(robot, of_robot(robot), boxes), home


@pytest.mark.parametrize("name", ["so101", "yam", "yam_bimanual"])
def test_home_is_free_and_so_is_the_way_to_itself(name) -> None:
    geometry, home = setup(name)
    assert geometry.forbidden(home) is GateRule.NONE
    assert geometry.blocked(home, home) is GateRule.NONE


def test_two_arms_must_not_meet() -> None:
    geometry, home = setup("yam_bimanual")
    towards = home.copy()
    towards[0], towards[7] = home[0] - 1.0, home[7] + 1.0
    assert geometry.forbidden(towards) in (GateRule.SELF_COLLISION, GateRule.WORKSPACE)
    found = {geometry.forbidden(home + s * (towards - home)) for s in np.linspace(0, 1, 50)}
    assert GateRule.SELF_COLLISION in found


def test_an_arm_must_not_fold_into_itself() -> None:
    geometry, home = setup("yam")
    found = set()
    for angle in np.linspace(0, 3.6, 60):
        posture = home.copy()
        posture[2] = angle
        geometry._low, geometry._high = np.full(3, -9.0), np.full(3, 9.0)
        found.add(geometry.forbidden(posture))
    assert found == {GateRule.NONE, GateRule.SELF_COLLISION}


def test_workspace_and_boxes() -> None:
    geometry, home = setup("yam", [Box("wall", (0.2, 0.15, 0.0), (0.5, 0.3, 0.5))])
    left = home.copy()
    left[0] = 0.6
    assert geometry.forbidden(left) is GateRule.KEEP_OUT
    back = home.copy()
    back[0] = 2.5
    assert geometry.forbidden(back) is GateRule.WORKSPACE


def test_a_thin_wall_on_the_way_is_seen() -> None:
    geometry, home = setup("yam", [Box("wall", (0.1, 0.149, 0.0), (0.6, 0.151, 0.9))])
    start, end = home.copy(), home.copy()
    start[0], end[0] = -0.2, 0.75
    geometry._low, geometry._high = np.full(3, -9.0), np.full(3, 9.0)
    way = [start + (end - start) * part for part in np.linspace(0, 1, 21)]
    assert any(geometry.blocked(*pair) for pair in itertools.pairwise(way))


def test_a_way_too_long_to_look_through_is_not_free() -> None:
    geometry, home = setup("yam")
    far = home.copy()
    far[0] += 1.0
    assert geometry.blocked(home, far) is GateRule.BRAKING_WAY


def test_nothing_moves_farther_than_the_reach_says() -> None:
    geometry, home = setup("yam")
    rng = np.random.default_rng(0)
    data, model = geometry._data, geometry._model
    for _ in range(50):
        way = rng.normal(size=7) * 1e-3
        geometry._place(home)
        before = data.geom_xpos.copy()
        geometry._place(home + way)
        moved = np.linalg.norm(data.geom_xpos - before, axis=1).max()
        assert moved <= abs(way) @ geometry._reach
    assert model.ngeom > 20
