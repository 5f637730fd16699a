"""Physical resets of peg_insertion: the peg seated, taken anew, held over the hole."""

from __future__ import annotations

import numpy as np
import pytest

from enpire.environment import Readings, Stations, build_stations
from enpire.environment.kinematics import Kinematics
from enpire.errors import ResetFailed


@pytest.fixture(scope="module")
def stations() -> Stations:
    return build_stations("peg_insertion", 1, 1)


def placed(stations: Stations, drawn: np.ndarray, lean: float = 0.0) -> Readings:
    """What is seen of a start whose peg is then leant over by an angle [rad]."""
    task, twin = stations.task, stations.twin
    twin.reset(0)
    task.randomize_physics(twin, 0, drawn)
    task.set_initial_state(twin, stations.control, 0, drawn)
    at = twin.model.joint("task_peg").qposadr[0]
    if lean:
        twin.qpos[0, at + 3 : at + 7] = np.cos(lean / 2), 0.0, np.sin(lean / 2), 0.0
    twin.forward(0)
    stations.sensors.begin(0, np.random.default_rng(2))
    return stations.sensors.read(np.array([0]), [0])[0]


def settle(stations: Stations) -> None:
    """Wait as a fast reset does."""
    elapsed = 0.0
    while stations.task.settle(stations.twin, stations.control, 0, elapsed):
        stations.twin.step([0], stations.substeps)
        elapsed += stations.period


@pytest.mark.parametrize(("name", "shift"), [("peg_x", 0.004), ("peg_rx", 0.08), ("peg_z", 0.004)])
def test_the_look_allows_millimetres(stations: Stations, name: str, shift: float) -> None:
    task = stations.task
    drawn = task.sample(np.random.default_rng(1))
    seen = placed(stations, drawn)
    targets = len(task.target_names)
    here = task.restorer(np.random.default_rng(0), drawn[:targets]).in_place([seen])
    assert all(p.holds for p in here)
    wanted = drawn.copy()
    wanted[task.variation_names.index(name)] += shift
    there = task.restorer(np.random.default_rng(0), wanted[:targets]).in_place([seen])
    assert not all(p.holds for p in there)


def test_a_peg_that_lies_is_left_to_a_person(stations: Stations) -> None:
    task = stations.task
    drawn = task.sample(np.random.default_rng(1))
    seen = placed(stations, drawn, lean=1.5)
    skills = task.restorer(np.random.default_rng(0), drawn[: len(task.target_names)])
    with pytest.raises(ResetFailed, match="by hand"):
        skills.clear(seen)


@pytest.mark.parametrize("beside", [-0.0004, 0.0004])
def test_fingers_close_gently_on_a_seated_peg_that_they_are_not_centred_on(
    stations: Stations, beside: float
) -> None:
    """One finger meets it first, and the hole holds it against that finger."""
    task, twin, control = stations.task, stations.twin, stations.control
    drawn = task.sample(np.random.default_rng(1))
    drawn[[2, 9, 10, 11]] = 0.0  # neither block nor hand is turned
    placed(stations, drawn)
    task.settle(twin, control, 0, 0.3)  # the weld of a fast reset lets go
    (arm,), model = control.arms, twin.model
    seat = twin.site_xpos[0, model.site("task_block").id] - (0.0, 0.0, 0.030)
    peg = model.joint("task_peg").qposadr[0]
    twin.qpos[0, peg : peg + 7] = *seat, 1.0, 0.0, 0.0, 0.0
    hand = seat + np.array([0.0, beside, 0.056])
    down = twin.site_xmat[0, arm.grasp].reshape(3, 3).copy()
    joints = Kinematics(twin.scene.world, twin.scene.robot).solve(
        [hand], [down], warm=control.measured(np.array([0]))[0]
    )
    twin.qpos[0, arm.qpos] = joints[0]
    for finger in ("finger_left", "finger_right"):
        twin.qpos[0, model.joint(f"arm_{finger}").qposadr[0]] = 0.025
    control.set(0, joints, np.array([0.050]))
    twin.forward(0)
    twin.step([0], stations.substeps)
    stations.sensors.begin(0, np.random.default_rng(2))
    hanging = twin.history[0, arm.force].mean(axis=0)
    skills = task.restorer(np.random.default_rng(0), drawn[: len(task.target_names)])
    row, felt, opening = np.array([0]), 0.0, [1.0]
    for _ in range(25):
        readings, jacobian = stations.sensors.read(row, [0])
        action = skills.clear(readings)
        assert action is not None
        control.apply(row, action[None], jacobian, readings.wrist_force)
        for _ in range(stations.substeps):
            twin.step([0], 1)
            strike = twin.history[0, arm.force].mean(axis=0) - hanging
            felt = max(felt, float(np.linalg.norm(strike)))
        opening.append(float(twin.actuator_length[0, arm.gripper]))
    assert min(opening) == pytest.approx(0.024, abs=0.0015)
    assert 0.5 < felt < task.force_limit


@pytest.mark.parametrize("way", [1.0, -1.0])
def test_an_arm_that_turns_its_elbow_keeps_both_pads_on_the_peg(
    stations: Stations, way: float
) -> None:
    """Setpoints that jump jolt a stiff arm, and then a pad loses the head."""
    task, twin, control = stations.task, stations.twin, stations.control
    stations.set_initial_state(0, task.sample(np.random.default_rng(0)))
    settle(stations)
    posture = control.setpoints[0].copy()
    posture[0, [0, 2]] += 0.1 * way, -0.09 * way
    head = twin.model.geom("task_grip").id
    pads = {twin.model.geom(f"arm_pad_{side}").id for side in ("left", "right")}
    row = np.array([0])
    for _ in range(20):
        control.approach(0, posture, np.zeros(1), control.jacobian(row)[0])
        for _ in range(stations.substeps):
            twin.step([0], 1)
            touching = twin.simulation(0)[1].contact.geom
            assert pads <= set(touching[(touching == head).any(axis=1)].ravel().tolist())
    assert np.abs(control.measured(row) - posture).max() < 0.01


def test_a_fast_start_is_at_rest(stations: Stations) -> None:
    """Friction lets the arm sink slowly once it bears the peg; a physical start has sunk."""
    stations.set_initial_state(0, stations.task.sample(np.random.default_rng(0)))
    settle(stations)
    twin, row = stations.twin, np.array([0])
    before = twin.site_xpos[0, stations.control.arms[0].grasp].copy()
    twin.step(row, 500)
    sunk = before - twin.site_xpos[0, stations.control.arms[0].grasp]
    assert np.abs(sunk).max() < 2e-5


def test_the_block_stays_while_the_peg_may_be_in_it(stations: Stations) -> None:
    task, twin = stations.task, stations.twin
    rng = np.random.default_rng(3)
    here, there = task.sample(rng), task.sample(rng)
    placed(stations, here)
    block = twin.model.site("task_block").id
    before = twin.site_xpos[0, block].copy()
    task.settle(twin, stations.control, 0, 0.3)  # the weld of a fast reset lets go
    task.randomize_physics(twin, 0, there)
    twin.forward(0)
    np.testing.assert_array_equal(twin.site_xpos[0, block], before)
    task.settle(twin, stations.control, 0, 0.0)
    twin.forward(0)
    moved = twin.site_xpos[0, block] - before
    np.testing.assert_allclose(moved, [*(there[:2] - here[:2]), 0.0], atol=1e-12)
