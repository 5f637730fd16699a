"""A scene is the world, the arms on their bases, and the task's objects."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import pytest

from enpire.errors import PackError
from enpire.packs import Robot, World, find, load_robot, load_world
from enpire.twin import compose, read_scene


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
        pads = [model.geom(geom).name for geom in scene.finger_pads(arm)]
        assert len(pads) >= 2, "one on each finger"
        assert all(name.startswith(f"{arm.name}_pad") for name in pads)


def one_arm(robot: Robot, text: str, folder: Path) -> Robot:
    """Its first arm alone, with the model `text`."""
    (folder / "arm.xml").write_text(text)
    return replace(robot, arms=(replace(robot.arms[0], model=folder / "arm.xml"),))


def test_the_force_is_where_mujoco_keeps_its_samples(
    world: World, robot: Robot, tmp_path: Path
) -> None:
    text = robot.arms[0].model.read_text().replace('nsample="1"', 'nsample="3"')
    scene = compose(world, one_arm(robot, text, tmp_path), nothing)
    data = mujoco.MjData(scene.model)
    sensor = scene.model.sensor("left_wrist_force").id
    address = scene.model.sensor_adr[sensor]
    felt = []
    for _ in range(7):
        data.ctrl[:] += 0.01
        mujoco.mj_step(scene.model, data)
        felt.append(data.sensordata[address : address + 3].copy())
    kept = data.history[scene.arms[0].force]
    assert kept.shape == (3, 3)
    np.testing.assert_allclose(kept.mean(axis=0), np.mean(felt[-3:], axis=0), atol=1e-12)


def test_a_force_sensor_without_samples_says_what_to_add(
    world: World, robot: Robot, tmp_path: Path
) -> None:
    text = robot.arms[0].model.read_text().replace('nsample="1"', "")
    with pytest.raises(PackError, match=r"arm\.xml: .*nsample"):
        compose(world, one_arm(robot, text, tmp_path), nothing)


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


def test_a_number_that_code_says_as_none(world: World, robot: Robot) -> None:
    def bad(spec: mujoco.MjSpec) -> None:
        spec.worldbody.add_geom(name="ball", size=(1, 0, 0), friction=(np.nan, 0, 0))

    with pytest.raises(PackError, match=r"is none: geom_friction of ball is .*nan"):
        compose(world, robot, bad)


def test_an_arm_without_a_grasp_site(world: World, robot: Robot, tmp_path: Path) -> None:
    text = robot.arms[0].model.read_text().replace('name="grasp"', 'name="hand"')
    with pytest.raises(PackError, match=r"arm\.xml: .*grasp"):
        compose(world, one_arm(robot, text, tmp_path), nothing)


BALL = (
    '<worldbody><body name="a"><joint name="j" {joint}/><geom size="0.1" mass="1" {geom}/></body>'
    "</worldbody>"
)


def ball(joint: str = "", geom: str = "", more: str = "") -> str:
    """A scene of one body, with more attributes or elements."""
    return BALL.format(joint=joint, geom=geom) + more


SCENES = {
    "missing mesh": (
        '<asset><mesh name="m" file="no.stl"/></asset>'
        '<worldbody><geom type="mesh" mesh="m"/></worldbody>',
        "no.stl",
    ),
    "names twice": (
        '<worldbody><body name="a"><geom size="1"/></body><body name="a"/></worldbody>',
        "repeated name 'a'",
    ),
    "itself": ('<include file="scene.xml"/>', "already included"),
    "missing part": ('<include file="no.xml"/>', "no.xml"),
    "no mass": (
        '<worldbody><body name="a"><freejoint/></body></worldbody>',
        "mass and inertia",
    ),
    "no number": (
        '<worldbody><body name="a" pos="nan 0 0"><geom size="1"/></body></worldbody>',
        "pos of body a is 'nan 0 0': nan is no number",
    ),
    "no number, of contact": (ball(geom='solref="nan 1"'), "solref of geom is 'nan 1'"),
    "no number, of a margin": (ball(geom='margin="nan"'), "margin of"),
    "no number, of damping": (ball('damping="nan"'), "damping of joint j is 'nan'"),
    "no number, of a range": (ball('range="nan 1" limited="true"'), "range of joint j is 'nan 1'"),
    "no number, of a gain": (
        ball(more='<actuator><position joint="j" kp="nan"/></actuator>'),
        "kp of position is 'nan'",
    ),
    "no size": (ball(geom='size="inf"').replace('size="0.1"', ""), "size of geom is 'inf'"),
    "keyframes of one name": (
        ball(more='<keyframe><key name="k"/><key name="k"/></keyframe>'),
        "repeated name 'k'",
    ),
    "a keyframe too short": (
        ball(more='<keyframe><key name="k" qpos="0 0"/></keyframe>'),
        "invalid qpos size",
    ),
    "a weld to nothing": (
        ball(more='<equality><weld body1="a" body2="b"/></equality>'),
        "unknown element 'b'",
    ),
    "an actuator of nothing": (ball(more='<actuator><motor joint="k"/></actuator>'), "unknown"),
    "a tendon through nothing": (
        ball(more='<tendon><spatial><site site="s"/><site site="r"/></spatial></tendon>'),
        "'s'",
    ),
    "a sensor of nothing": (ball(more='<sensor><jointpos joint="k"/></sensor>'), "unrecog"),
    "a picture that is missing": (
        '<asset><texture name="t" type="2d" file="no.png"/></asset>' + ball(),
        "no.png",
    ),
    "a mass below nought": (ball(geom='density="-1"').replace('mass="1"', ""), "negative"),
    "a range backwards": (ball('range="2 1" limited="true"'), "range"),
    "no turn": (ball().replace('name="a"', 'name="a" quat="0 0 0 0"'), "zero quaternion"),
    "an attribute misspelt": ('<worldbody><body nme="a"/></worldbody>', "unrecognized attribute"),
    "cut off": ("<worldbody>", "XML parse error"),
    "no such plugin": ('<extension><plugin plugin="no.such"/></extension>', "no.such not found"),
}


@pytest.mark.parametrize("kind", SCENES)
def test_objects_that_are_slightly_wrong(
    kind: str, world: World, robot: Robot, tmp_path: Path
) -> None:
    text, words = SCENES[kind]
    path = tmp_path / "scene.xml"
    path.write_text(f"<mujoco>{text}</mujoco>")

    def build(spec: mujoco.MjSpec) -> None:
        spec.attach(read_scene(path), prefix="task_", frame=spec.worldbody.add_frame())

    with pytest.raises(PackError, match=words):
        compose(world, robot, build)


def test_objects_called_as_a_part_of_an_arm(world: World, robot: Robot) -> None:
    def build(spec: mujoco.MjSpec) -> None:
        spec.worldbody.add_body(name="left_link1")

    with pytest.raises(PackError, match="repeated name 'left_link1'"):
        compose(world, robot, build)


def test_files_that_include_each_other(world: World, robot: Robot, tmp_path: Path) -> None:
    for one, other in (("a.xml", "b.xml"), ("b.xml", "a.xml")):
        (tmp_path / one).write_text(f'<mujoco><include file="{other}"/></mujoco>')

    def build(spec: mujoco.MjSpec) -> None:
        spec.attach(read_scene(tmp_path / "a.xml"), prefix="task_")

    with pytest.raises(PackError, match="already included"):
        compose(world, robot, build)
