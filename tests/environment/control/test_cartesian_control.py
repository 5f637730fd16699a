"""Cartesian control: what an action does to a hand, and what no action can do."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.transform import Rotation

from enpire.environment import ActionSpec, ArmAction, CartesianControl
from enpire.environment.control.kernels import pressing_less, yielding
from enpire.environment.control.sensing import SensorNoise, Sensors
from enpire.packs import find, load_robot, load_world
from enpire.twin import Scene, Twin, compose
from enpire.types import FloatArray

PERIOD, SUBSTEPS = 0.04, 20
ARM = ArmAction(translation=(0.0024,) * 3, rotation=(0.03,) * 3)
ROW = np.array([0])
HOLD = -1.0  # of the gripper

CALM = np.zeros((1, 2, 3))  # no force on either hand


@cache
def scene() -> Scene:
    """Two arms over an empty bench."""
    robot, world = find("robots", "yam_bimanual"), find("sim", "bench")
    return compose(load_world(world), load_robot(robot), lambda spec: None)


def at_home(
    lead: float = 0.12,
    arm: ArmAction = ARM,
    reset_lead: float | None = None,
    stretch: float = np.inf,
) -> CartesianControl:
    twin = Twin(scene(), 1, threads=1)
    reset = None if reset_lead is None else ActionSpec((arm, arm), reset_lead)
    control = CartesianControl(twin, ActionSpec((arm, arm), lead), PERIOD, reset, stretch)
    home = np.array([arm.home for arm in twin.scene.robot.arms])
    for index, joints in zip(twin.scene.arms, home, strict=True):
        twin.qpos[0, index.qpos] = joints
    control.set(0, home, np.zeros(2))
    twin.forward(0)
    act(control, np.zeros(14), periods=5)
    return control


def act(control: CartesianControl, action: FloatArray, periods: int) -> None:
    action = np.array(action, dtype=np.float32)[None]
    action[0, [6, 13]] = HOLD
    for _ in range(periods):
        control.apply(ROW, action, control.jacobian(ROW), CALM)
        control.twin.step(ROW, SUBSTEPS)


def hands(control: CartesianControl) -> tuple[FloatArray, list[Rotation]]:
    twin = control.twin
    sites = [arm.grasp for arm in twin.scene.arms]
    frames = twin.site_xmat[0, sites].reshape(-1, 3, 3)
    return twin.site_xpos[0, sites].copy(), [Rotation.from_matrix(frame) for frame in frames]


@pytest.mark.parametrize("arm", [0, 1])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_a_translation_moves_one_hand_by_its_amount_and_nothing_else(arm: int, axis: int) -> None:
    control = at_home()
    position, rotation = hands(control)
    action = np.zeros(14)
    action[7 * arm + axis] = 1.0
    periods = 15
    act(control, action, periods)
    act(control, np.zeros(14), periods=15)
    after, turned = hands(control)
    expected = np.zeros((2, 3))
    expected[arm, axis] = periods * 0.0024
    np.testing.assert_allclose(after - position, expected, atol=0.002)
    for before, now in zip(rotation, turned, strict=True):
        assert (now * before.inv()).magnitude() < 0.02


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_a_rotation_turns_the_hand_about_its_grasp_point(axis: int) -> None:
    control = at_home()
    position, rotation = hands(control)
    action = np.zeros(14)
    action[7 + 3 + axis] = 1.0
    act(control, action, periods=8)
    act(control, np.zeros(14), periods=15)
    after, turned = hands(control)
    vector = (turned[1] * rotation[1].inv()).as_rotvec()
    expected = np.eye(3)[axis] * 8 * 0.03
    np.testing.assert_allclose(vector, expected, atol=0.03)
    np.testing.assert_allclose(after, position, atol=0.003)


def test_the_jacobian_is_the_derivative_of_the_grasp_point() -> None:
    control = at_home()
    twin = control.twin
    jacobian = control.jacobian(ROW)[0]
    before, _ = hands(control)
    for arm, index in enumerate(twin.scene.arms):
        for joint, at in enumerate(index.qpos):
            twin.qpos[0, at] += 1e-6
            twin.forward(0)
            after, _ = hands(control)
            twin.qpos[0, at] -= 1e-6
            moved = (after[arm] - before[arm]) / 1e-6
            np.testing.assert_allclose(moved, jacobian[arm, :3, joint], atol=1e-5)


def test_the_gripper_goes_to_the_opening_asked_for() -> None:
    control = at_home()
    action = np.zeros((1, 14), dtype=np.float32)
    action[0, [6, 13]] = -1.0, 1.0
    for _ in range(40):
        control.apply(ROW, action, control.jacobian(ROW), CALM)
        control.twin.step(ROW, SUBSTEPS)
    grippers = [arm.gripper for arm in control.arms]
    opening = control.twin.actuator_length[0, grippers]
    ranges = np.array([arm.gripper_range for arm in control.twin.scene.robot.arms])
    np.testing.assert_allclose(opening, [ranges[0, 0], ranges[1, 1]], atol=0.004)


def test_the_lead_is_how_far_the_setpoint_runs_ahead() -> None:
    control = at_home()
    action = np.zeros((1, 14), dtype=np.float32)
    action[0, 7] = 1.0
    for _ in range(4):  # without a step: the hand stays where it is
        control.apply(ROW, action, control.jacobian(ROW), CALM)
    lead = Sensors(control, (), SensorNoise(), 1).read(ROW, [0])[0].lead[0]
    np.testing.assert_allclose(lead[1], (4 * 0.0024, 0, 0), atol=0.001)
    np.testing.assert_allclose(lead[0], 0, atol=0.001)


def test_a_hand_stands_still_against_its_force_limit_and_yields_beyond() -> None:
    move = np.array([0.002, 0.001, 0.0])
    for force, left in ((1.9, 0.002), (3.0, 0.001), (4.0, 0.0), (8.0, -0.002)):
        held = yielding(move, np.array([force, 0.0, 0.0]), push=4.0)
        np.testing.assert_allclose(held, [left, 0.001, 0.0], atol=1e-12)


def test_a_hand_may_always_move_away_from_a_contact() -> None:
    move = np.array([-0.002, 0.001, 0.0])
    np.testing.assert_array_equal(yielding(move, np.array([4.0, 0.0, 0.0]), push=4.0), move)


def test_a_felt_force_holds_one_hand_and_not_the_other() -> None:
    control = at_home()
    before = hands(control)[0]
    action = np.zeros((1, 14), dtype=np.float32)
    action[0, [0, 7]] = 1.0
    force = np.zeros((1, 2, 3))
    force[0, 1, 0] = control.spec.push
    for _ in range(10):
        control.apply(ROW, action, control.jacobian(ROW), force)
        control.twin.step(ROW, SUBSTEPS)
    moved = hands(control)[0] - before
    assert moved[0, 0] > 0.015
    assert abs(moved[1, 0]) < 0.003


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_no_action_takes_a_hand_out_of_its_box(axis: int, sign: float) -> None:
    middle = hands(at_home())[0][1]
    box = (tuple(middle - 0.03), tuple(middle + 0.03))
    control = at_home(arm=ArmAction(ARM.translation, ARM.rotation, *box))
    action = np.zeros(14)
    action[7 + axis] = sign
    act(control, action, periods=40)
    out = sign * (hands(control)[0][1] - middle)[axis]
    assert 0.027 < out < 0.037  # a moving hand takes a few millimetres to stop
    act(control, -action, periods=10)
    assert sign * (hands(control)[0][1] - middle)[axis] < out - 0.015


def test_no_action_takes_a_hand_out_of_its_robots_workspace() -> None:
    control = at_home()
    low = control.twin.scene.robot.limits.workspace_low
    act(control, np.array([0, 0, 0, 0, 0, 0, 0, 0, 0, -1.0, 0, 0, 0, 0]), periods=120)
    assert low[2] - 0.01 < hands(control)[0][1, 2] < low[2] + 0.01


ACTIONS = arrays(np.float64, (6, 14), elements=st.floats(-3, 3))


@settings(max_examples=40)
@given(actions=ACTIONS, lead=st.floats(0.005, 0.2), steps=st.integers(0, 2))
def test_no_action_leaves_ranges_or_runs_ahead(
    actions: FloatArray, lead: float, steps: int
) -> None:
    control = at_home(lead)
    model, arms = control.twin.model, control.arms
    low = np.array([model.jnt_range[arm.joints, 0] for arm in arms])
    high = np.array([model.jnt_range[arm.joints, 1] for arm in arms])
    speed = np.array(control.twin.scene.robot.limits.joint_speed) * PERIOD
    for action in actions:
        before, measured = control.setpoints[0].copy(), control.measured(ROW)[0]
        control.apply(ROW, action[None].astype(np.float32), control.jacobian(ROW), CALM)
        after = control.setpoints[0]
        assert (after >= low).all()
        assert (after <= high).all()
        assert (abs(after - before) <= speed + 1e-12).all()
        ahead = np.maximum(abs(before - measured), lead)
        assert (abs(after - measured) <= ahead + 1e-12).all()
        control.twin.step(ROW, steps * SUBSTEPS or 1)


def test_a_setpoint_stops_at_the_end_of_a_joint() -> None:
    control = at_home()
    action = np.zeros(14)
    action[[3, 10]] = 1.0  # roll, for good
    act(control, action, periods=200)
    model = control.twin.model
    ranges = np.array([model.jnt_range[arm.joints] for arm in control.arms])
    at_end = np.isclose(control.setpoints[0], ranges[..., 1]) | np.isclose(
        control.setpoints[0], ranges[..., 0]
    )
    assert at_end.any()
    assert (control.setpoints[0] <= ranges[..., 1]).all()
    assert (control.setpoints[0] >= ranges[..., 0]).all()


def test_what_is_set_in_a_reset_is_kept_within_ranges() -> None:
    control = at_home()
    control.set(0, np.full((2, 6), 100.0), np.zeros(2))
    model = control.twin.model
    highest = np.array([model.jnt_range[arm.joints, 1] for arm in control.arms])
    np.testing.assert_array_equal(control.setpoints[0], highest)


# Postures


def approach(control: CartesianControl, joints: FloatArray, periods: int) -> None:
    for _ in range(periods):
        control.approach(0, joints, np.zeros(2), control.jacobian(ROW)[0])
        control.twin.step(ROW, SUBSTEPS)


def test_arms_go_to_a_posture_straight_and_at_half_of_their_speeds() -> None:
    control = at_home()
    limits = control.twin.scene.robot.limits
    begin = control.setpoints[0].copy()
    posture = begin + np.array([[0.3, 0.1, -0.1, 0, 0.2, -0.9], [0] * 6])
    before, seen = begin.copy(), []
    for _ in range(60):
        hand, _ = hands(control)
        approach(control, posture, 1)
        step = control.setpoints[0] - before
        assert (abs(step) <= 0.5 * PERIOD * np.array(limits.joint_speed) + 1e-12).all()
        moved, _ = hands(control)
        assert np.linalg.norm(moved - hand, axis=1).max() < 0.7 * limits.cartesian_speed * PERIOD
        before = control.setpoints[0].copy()
        seen.append(before[0] - begin[0])
    way = (posture - begin)[0]
    for off in seen:
        np.testing.assert_allclose(off, way * (off @ way) / (way @ way), atol=1e-9)
    np.testing.assert_array_equal(before, posture)
    np.testing.assert_array_equal(before[1], begin[1])
    np.testing.assert_allclose(control.measured(ROW)[0], posture, atol=0.01)


@pytest.mark.parametrize(("lead", "reset_lead"), [(0.1, None), (0.15, 0.1), (0.1, 0.15)])
def test_an_arm_that_is_held_back_on_its_way_waits(lead: float, reset_lead: float | None) -> None:
    control = at_home(lead, reset_lead=reset_lead)
    posture = control.setpoints[0] + np.array([[1.0, 0, 0, 0, 0, 0], [0] * 6])
    for _ in range(20):  # without a step: the joints stay where they are
        control.approach(0, posture, np.zeros(2), control.jacobian(ROW)[0])
    ahead = control.setpoints[0, 0, 0] - control.measured(ROW)[0, 0, 0]
    assert 0.1 < ahead < 0.1 + 0.5 * PERIOD * 2.0 + 1e-9


def test_on_the_way_to_a_posture_no_setpoint_jumps_by_more_than_a_lead() -> None:
    control = at_home(0.02, reset_lead=0.01)
    begin = control.setpoints[0].copy()
    control.approach(0, begin + 1.0, np.zeros(2), np.zeros((2, 6, 6)))
    assert abs(control.setpoints[0] - begin).max() == pytest.approx(0.01)


def test_an_arm_that_is_held_back_is_stretched_no_further_than_a_reset_may() -> None:
    control = at_home(stretch=0.018)
    posture = control.setpoints[0] + np.array([[1.0, 0, 0, 0, 0, 0], [0] * 6])
    for _ in range(20):  # without a step: the joints stay where they are
        jacobian = control.jacobian(ROW)[0]
        control.approach(0, posture, np.zeros(2), jacobian)
    ahead = jacobian[0, :3] @ (control.setpoints[0] - control.measured(ROW)[0])[0]
    step = 0.5 * PERIOD * control.twin.scene.robot.limits.cartesian_speed
    assert 0.018 < np.linalg.norm(ahead) < 0.018 + step + 1e-9


def test_a_relaxed_arm_presses_nothing() -> None:
    control = at_home()
    action = np.zeros((1, 14), dtype=np.float32)
    action[0, [0, 6, 13]] = 1.0, 0.3, -1.0
    for _ in range(4):  # without a step: setpoints run ahead
        control.apply(ROW, action, control.jacobian(ROW), CALM)
    holding = control.gripper[0, 1]
    assert control.gripper[0, 0] > 0.04, "opens"
    opening = [0.010, 0.012]  # the left one against something, the right one holds something
    control.twin.actuator_length[0, [arm.gripper for arm in control.arms]] = opening
    control.relax(0, np.zeros(2, np.bool_))
    np.testing.assert_array_equal(control.setpoints[0], control.measured(ROW)[0])
    np.testing.assert_array_equal(control.gripper[0], [0.010, holding])
    control.relax(0, np.array([False, True]))
    np.testing.assert_array_equal(control.gripper[0], opening)


def to_joints(control: CartesianControl, targets: FloatArray) -> FloatArray:
    """The joint action (1, act) of setpoints (arms, dof + 1)."""
    low, high = control.ends
    return np.asarray(2.0 * (targets - low) / (high - low) - 1.0, np.float32).reshape(1, -1)


def test_joint_actions_lead_to_their_setpoints() -> None:
    control = at_home()
    goal = control.command[0].copy()
    goal[0, 0] += 0.3
    goal[1, 3] -= 0.2
    fastest = control.twin.scene.robot.limits.cartesian_speed * PERIOD
    for _ in range(40):
        before, jacobian = control.setpoints[0].copy(), control.jacobian(ROW)
        control.follow(ROW, to_joints(control, goal), jacobian, CALM)
        hands_moved = np.einsum("aij,aj->ai", jacobian[0, :, :3], control.setpoints[0] - before)
        assert np.linalg.norm(hands_moved, axis=1).max() < 1.0001 * fastest
        control.twin.step(ROW, SUBSTEPS)
    np.testing.assert_allclose(control.command[0], goal, atol=1e-6)


@settings(max_examples=40)
@given(arrays(np.float32, (6, 14), elements=st.floats(-1.0, 1.0, width=32)), st.integers(0, 9))
def test_joint_actions_keep_the_limits_of_actions_of_hands(actions: FloatArray, seed: int) -> None:
    control = at_home()
    robot = control.twin.scene.robot.limits
    step = np.array(robot.joint_speed) * PERIOD
    pressing = np.random.default_rng(seed).normal(0.0, 8.0, (1, 2, 3))
    for action in np.asarray(actions, np.float32):
        before = control.setpoints[0].copy()
        jacobian = control.jacobian(ROW)
        control.follow(ROW, action[None], jacobian, pressing)
        way = control.setpoints[0] - before
        assert (abs(way) <= step + 1e-9).all()
        low, high = control.ends
        assert (control.command[0] >= low - 1e-9).all()
        assert (control.command[0] <= np.maximum(low, high) + 1e-9).all()
        control.twin.step(ROW, SUBSTEPS)


def test_a_joint_action_presses_no_harder_than_an_action_of_hands_may() -> None:
    control = at_home()
    jacobian = control.jacobian(ROW)
    down = np.zeros((1, 2, 3))
    down[0, 0, 2] = -2.0 * control.spec.push  # twice of what it may press with
    goal = control.command[0].copy()
    goal[0, 1] += 0.3  # the shoulder: forward and down
    before = control.setpoints[0].copy()
    control.follow(ROW, to_joints(control, goal), jacobian, down)
    pressed = jacobian[0, 0, :3] @ (control.setpoints[0, 0] - before[0])
    assert pressed[2] > -1e-4, "it stands, or yields"
    control.command[0, :, :6] = before
    control.follow(ROW, to_joints(control, goal), jacobian, CALM)
    moved = jacobian[0, 0, :3] @ (control.setpoints[0, 0] - before[0])
    assert moved[2] < -1e-3


def test_what_yields_already_is_left_as_it_is() -> None:
    whole, rng = np.array([0.004, 0.004, 0.002]), np.random.default_rng(0)
    for _ in range(200):
        move, force = rng.uniform(-1, 1, 3) * whole, rng.normal(0.0, 12.0, 3)
        left = yielding(move, force, 15.0)
        np.testing.assert_allclose(pressing_less(left, force, 15.0, whole), left, atol=1e-12)
