"""A scene is the world, the arms on their bases, and the task's objects."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import pytest

from enpire.errors import PackError
from enpire.packs import Robot, World, find, load_robot, load_world
from enpire.twin import compose


@pytest.fixture
def world() -> World:
    return load_world(find("sim", "bench"))


@pytest.fixture
def robot() -> Robot:
    return load_robot(find("robots", "yam_bimanual"))


def nothing(spec: mujoco.MjSpec) -> None:
    """No objects."""


def test_indices_are_those_of_the_arms_own_elements(world: World, robot: Robot) -> None:
    scene = compose(world, robot, nothing)
    model = scene.model
    assert [arm.name for arm in scene.arms] == ["left", "right"]
    for arm in scene.arms:
        names = [model.joint(joint).name for joint in arm.joints]
        assert names == [f"{arm.name}_joint{i}" for i in range(1, 7)]
        assert [model.joint(n).qposadr[0] for n in names] == list(arm.qpos)
        assert [model.joint(n).dofadr[0] for n in names] == list(arm.dofs)
        driven = model.actuator_trnid[arm.actuators, 0]
        assert list(driven) == list(arm.joints), "each actuator drives its joint"
        assert model.actuator(arm.gripper).name == f"{arm.name}_gripper"
        assert model.site(arm.grasp).name == f"{arm.name}_grasp"
        assert model.sensor_adr[model.sensor(f"{arm.name}_wrist_force").id] == arm.force


def test_arms_stand_on_their_bases(world: World, robot: Robot) -> None:
    moved = replace(robot.arms[0], position=(0.3, -0.1, 0.2))
    hands = []
    for arms in (robot.arms[:1], (moved,)):
        model = compose(world, replace(robot, arms=arms), nothing).model
        data = mujoco.MjData(model)
        mujoco.mj_forward(model, data)
        hands.append(data.site("left_grasp").xpos.copy())
    expected = np.array(moved.position) - robot.arms[0].position
    np.testing.assert_allclose(hands[1] - hands[0], expected, atol=1e-9)


def test_the_world_sets_the_options(world: World, robot: Robot, tmp_path: Path) -> None:
    text = world.model.read_text().replace('timestep="0.002"', 'timestep="0.004"')
    (tmp_path / "slow.xml").write_text(text)
    slow = replace(world, model=tmp_path / "slow.xml")
    assert compose(world, robot, nothing).model.opt.timestep == 0.002
    assert compose(slow, robot, nothing).model.opt.timestep == 0.004


def test_what_does_not_compile(world: World, robot: Robot) -> None:
    def bad(spec: mujoco.MjSpec) -> None:
        spec.worldbody.add_geom(name="ball", size=(-1, 0, 0))

    with pytest.raises(PackError, match=r"(?s)yam_bimanual in bench does not compile: .*ball"):
        compose(world, robot, bad)


def test_an_arm_without_a_grasp_site(world: World, robot: Robot, tmp_path: Path) -> None:
    text = robot.arms[0].model.read_text().replace('name="grasp"', 'name="hand"')
    (tmp_path / "arm.xml").write_text(text)
    arm = replace(robot.arms[0], model=tmp_path / "arm.xml")
    with pytest.raises(PackError, match=r"arm\.xml: .*grasp"):
        compose(world, replace(robot, arms=(arm,)), nothing)
