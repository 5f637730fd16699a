"""FR3 and UR5e move as their makers say, and no limit of ours is wider than theirs."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from enpire.packs import find, load_robot
from enpire.safety.geometry import Geometry
from enpire.safety.limits import of_robot
from enpire.types import FloatArray

MAKERS = {  # joint speeds [rad/s], accelerations [rad/s^2], torques [N m], links [kg]
    "fr3": (
        [2.62, 2.62, 2.62, 2.62, 5.26, 4.18, 5.26],
        [10.0] * 7,
        [87.0] * 4 + [12.0] * 3,
        [2.9275, 2.9355, 2.2449, 2.6156, 2.3271, 1.8170, 0.6271],
    ),
    "ur5e": (
        [np.pi] * 6,
        [np.pi] * 6,
        [150.0] * 3 + [28.0] * 3,
        [3.761, 8.058, 2.846, 1.37, 1.3, 0.365],
    ),
}
UR5E = [  # a [m], d [m], alpha [rad]: Denavit-Hartenberg, the maker's table
    (0.0, 0.1625, np.pi / 2),
    (-0.425, 0.0, 0.0),
    (-0.3922, 0.0, 0.0),
    (0.0, 0.1333, np.pi / 2),
    (0.0, 0.0997, -np.pi / 2),
    (0.0, 0.0996, 0.0),
]
FR3 = [  # a [m], d [m], alpha [rad]: Craig's convention, the maker's table; the flange is the last
    (0.0, 0.333, 0.0),
    (0.0, 0.0, -np.pi / 2),
    (0.0, 0.316, np.pi / 2),
    (0.0825, 0.0, np.pi / 2),
    (-0.0825, 0.384, -np.pi / 2),
    (0.0, 0.0, np.pi / 2),
    (0.088, 0.0, np.pi / 2),
    (0.0, 0.107, 0.0),
]


def about(axis: int, angle: float) -> FloatArray:
    c, s = np.cos(angle), np.sin(angle)
    turn = np.eye(4)
    i, j = [(1, 2), (2, 0), (0, 1)][axis]
    turn[[i, i, j, j], [i, j, i, j]] = c, -s, s, c
    return turn


def along(x: float, z: float) -> FloatArray:
    step = np.eye(4)
    step[[0, 2], 3] = x, z
    return step


def flange(name: str, angles: FloatArray) -> FloatArray:
    """From the base to the flange, (4, 4), by the maker's table."""
    pose = np.eye(4)
    if name == "ur5e":
        for (a, d, alpha), angle in zip(UR5E, angles, strict=True):
            pose = pose @ about(2, angle) @ along(a, d) @ about(0, alpha)
    else:
        for (a, d, alpha), angle in zip(FR3, [*angles, 0.0], strict=True):
            pose = pose @ about(0, alpha) @ along(a, 0.0) @ about(2, angle) @ along(0.0, d)
    return pose


@pytest.mark.parametrize("name", MAKERS)
def test_the_flange_is_where_the_makers_table_says(name) -> None:
    robot = load_robot(find("robots", name))
    model = mujoco.MjModel.from_xml_path(str(robot.arms[0].model))
    data, rng = mujoco.MjData(model), np.random.default_rng(0)
    count = len(robot.arms[0].home)
    for _ in range(20):
        data.qpos[:count] = angles = rng.uniform(-3, 3, count)
        mujoco.mj_kinematics(model, data)
        expected = flange(name, angles)
        np.testing.assert_allclose(data.body("hand").xpos, expected[:3, 3], atol=1e-5)
        approach = data.body("hand").xmat.reshape(3, 3)[:, 2]
        np.testing.assert_allclose(approach, expected[:3, 2], atol=1e-5)


@pytest.mark.parametrize("name", MAKERS)
def test_limits_are_within_the_makers(name) -> None:
    robot = load_robot(find("robots", name))
    speeds, accelerations, torques, masses = MAKERS[name]
    assert (np.array(robot.limits.joint_speed) <= speeds).all()
    assert (np.array(robot.limits.joint_acceleration) <= accelerations).all()
    model = mujoco.MjModel.from_xml_path(str(robot.arms[0].model))
    for index, (torque, mass) in enumerate(zip(torques, masses, strict=True), 1):
        assert model.actuator(f"joint{index}").forcerange[1] == torque
        assert model.body(f"link{index}").mass == pytest.approx(mass, rel=1e-3)


@pytest.mark.parametrize("name", MAKERS)
def test_it_is_strong_enough_for_itself_and_stands_free_at_home(name) -> None:
    robot = load_robot(find("robots", name))
    model = mujoco.MjModel.from_xml_path(str(robot.arms[0].model))
    model.body_gravcomp[:] = 0
    data = mujoco.MjData(model)
    data.qpos[: len(robot.arms[0].home)] = robot.arms[0].home
    mujoco.mj_forward(model, data)
    for index in range(1, len(robot.arms[0].home) + 1):
        weight = abs(data.qfrc_bias[model.joint(f"joint{index}").dofadr[0]])
        assert weight < 0.7 * model.actuator(f"joint{index}").forcerange[1]
    space = Geometry(robot, of_robot(robot))
    assert space.touching == ()
    assert not space.forbidden(np.append(robot.arms[0].home, robot.arms[0].gripper_range[1]))


@pytest.mark.parametrize("name", MAKERS)
def test_the_gripper_holds_a_cube_against_its_weight(name) -> None:
    robot = load_robot(find("robots", name))
    spec = mujoco.MjSpec.from_file(str(robot.arms[0].model))
    spec.option.timestep, spec.option.cone = 0.002, mujoco.mjtCone.mjCONE_ELLIPTIC
    spec.option.impratio = 10
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    cube = spec.worldbody.add_body(name="cube")
    cube.add_freejoint()
    cube.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, size=[0.015] * 3, mass=0.3)
    model = spec.compile()
    data = mujoco.MjData(model)
    joints = [model.joint(f"joint{i + 1}").qposadr[0] for i in range(len(robot.arms[0].home))]
    data.qpos[joints] = robot.arms[0].home
    for index, angle in enumerate(robot.arms[0].home, 1):
        data.actuator(f"joint{index}").ctrl = angle
    fingers = [model.joint(f"finger_{side}").qposadr[0] for side in ("left", "right")]
    data.qpos[fingers] = 0.016
    mujoco.mj_kinematics(model, data)
    start = data.site("grasp").xpos.copy()
    data.joint(model.body("cube").jntadr[0]).qpos[:3] = start
    data.joint(model.body("cube").jntadr[0]).qpos[3:] = data.body("hand").xquat
    mujoco.mj_step(model, data, 500)
    assert np.linalg.norm(data.body("cube").xpos - start) < 0.003
    assert not data.warning.number.any()
