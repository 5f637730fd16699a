"""A perturbation changes what it says, on top of what an episode draws, and nothing else."""

from __future__ import annotations

import copy
import dataclasses

import mujoco
import numpy as np
import pytest

from enpire.certification.grid import GRID
from enpire.environment import Demonstrations, Job, ResetMode, Stations, build_stations
from enpire.environment.cameras.twin_cameras import NoGraphics
from enpire.environment.resets.perturbation import Change, Perturbation, entries
from enpire.environment.stations.episode_state import StationPhase
from enpire.types import Episode, FloatArray, Purpose
from tests.environment.reach import Restored, reach_stations

SEEDS = (3, 4)


def point(name: str) -> Perturbation:
    return next(each for each in GRID if each.name == name)


def begin(stations: Stations, seed: int) -> None:
    stations.abort("the next one")
    job = Job(seed, Purpose.EVALUATION, Demonstrations(stations.task), "d")
    stations.begin(0, job)


def until(stations: Stations, phase: StationPhase) -> None:
    while stations.phase(0) is not phase:
        stations.tick()
    stations.wait()


def episode(stations: Stations, seed: int) -> Episode:
    begin(stations, seed)
    while not (done := stations.tick()):
        pass
    return done[0]


FACTORS = {
    Change.CONTACT_FRICTION,
    Change.MASS,
    Change.STIFFNESS,
    Change.KP,
    Change.KV,
    Change.JOINT_FRICTION,
    Change.PAD_FRICTION,
}


@pytest.mark.parametrize("change", [p for p in GRID if p.change in FACTORS], ids=lambda p: p.name)
def test_fields_of_the_model_are_scaled_on_top_of_what_is_drawn(change: Perturbation) -> None:
    usual, changed = (
        build_stations("zip_tie", 1, 1),
        build_stations("zip_tie", 1, 1, perturbation=change),
    )
    found = entries(changed.twin.scene, change.change)
    assert found
    for seed in SEEDS:  # the second episode is not scaled twice
        begin(usual, seed)
        begin(changed, seed)
        for name in usual.twin.variation(0):
            expected = usual.twin.expand(name)[0].copy()
            for each in (one for one in found if one.field == name):
                expected[each.index] *= change.value
            found_there = changed.twin.expand(name)[0]
            np.testing.assert_allclose(found_there, expected, rtol=1e-12, err_msg=name)
        for each in found:
            scaled = changed.twin.expand(each.field)[0][each.index]
            assert (scaled != usual.twin.expand(each.field)[0][each.index]).any()


def test_which_entries_are_changed() -> None:
    scene = build_stations("zip_tie", 1, 1).twin.scene
    model = scene.model

    def names(change: Change, of: str) -> set[str]:
        return {
            getattr(model, of)(int(i)).name
            for each in entries(scene, change)
            for i in each.index[0]
        }

    assert names(Change.PAD_FRICTION, "geom") == {
        f"{arm}_pad_{side}" for arm in ("left", "right") for side in ("left", "right")
    }
    rubbing = names(Change.CONTACT_FRICTION, "geom")
    assert {"task_pawl", "task_link12", "task_floor"} <= rubbing
    assert not any(name.startswith(("left_", "right_")) for name in rubbing)
    weighed = names(Change.MASS, "body")
    assert {"task_head", "task_link0", "task_link14", "task_pawl"} <= weighed
    assert "task_bundle" not in weighed, "it stands"
    assert {"task_pawl", "task_bend0"} <= names(Change.STIFFNESS, "joint")


def test_masses_take_what_is_derived_from_them_along() -> None:
    stations = build_stations("pick_cube", 1, 1, perturbation=point("mass-x1.4"))
    usual = build_stations("pick_cube", 1, 1)
    for seed in SEEDS:
        begin(stations, seed)
        begin(usual, seed)
    dof = usual.twin.model.joint("task_cube").dofadr[0]
    ratio = [each.twin.expand("dof_invweight0")[0, dof] for each in (stations, usual)]
    assert ratio[0] / ratio[1] == pytest.approx(1 / 1.4)


def test_servos_are_later_once_the_reset_is_over() -> None:
    late, usual = (
        build_stations("pick_cube", 1, 1, perturbation=change)
        for change in (point("latency+30ms"), None)
    )
    for seed in SEEDS:
        delays = []
        for stations in (late, usual):
            begin(stations, seed)
            until(stations, StationPhase.EXECUTE)
            delays.append(stations.twin.expand("actuator_delay")[0])
        np.testing.assert_allclose(delays[0], delays[1] + 0.030, rtol=1e-12)
    assert first_difference(late, 0.065) == pytest.approx(0.065, abs=0.004)


def first_difference(stations: Stations, delay: float) -> float:
    """How long a setpoint of the gripper takes to change its force, with such a delay [s]."""
    twin = stations.twin
    twin.expand("actuator_delay")[0] = delay
    twin.step([0], 60)
    model, data = twin.simulation(0)
    moved, gripper = copy.copy(data), twin.scene.arms[0].gripper
    moved.ctrl[gripper] += 0.2
    steps = 0
    while moved.actuator_force[gripper] == data.actuator_force[gripper]:
        for each in (data, moved):
            mujoco.mj_step(model, each)
        steps += 1
    return float(steps * model.opt.timestep)


def test_noise_is_twice_as_large_and_else_the_same() -> None:
    noisy, usual = (reach_noise(change) for change in (Perturbation("n", Change.NOISE, 2.0), None))
    for mine, theirs in zip(noisy[:-3], usual[:-3], strict=True):
        np.testing.assert_allclose(mine, 2.0 * theirs, rtol=1e-12)
        assert theirs.any()
    np.testing.assert_array_equal(noisy[-2], usual[-2], "the tracker is as late as ever")


def reach_noise(change: Perturbation | None) -> list[FloatArray]:
    """Sensor errors of an episode on the cube's stations, the white ones first."""
    stations = build_stations("pick_cube", 1, 1, perturbation=change)
    stations.sensors.draw(0, np.random.default_rng(0))
    return [values.copy() for values in stations.sensors.errors]


def test_all_tracked_poses_are_off_by_the_same_in_each_episode() -> None:
    stations = build_stations("pin_box", 1, 1, perturbation=point("tracker-off-1mm"))
    usual = build_stations("pin_box", 1, 1)
    directions = []
    for seed in SEEDS:
        off = []
        for each in (stations, usual):
            each.sensors.draw(0, np.random.default_rng(seed))
            off.append(each.sensors.errors[2][0].copy())
        difference = off[0] - off[1]
        np.testing.assert_allclose(difference, np.broadcast_to(difference[0, 0], off[0].shape))
        assert np.linalg.norm(difference[0, 0]) == pytest.approx(0.001)
        directions.append(difference[0, 0])
    assert not np.allclose(*directions)


def test_the_tracker_is_late_by_whole_periods_too() -> None:
    stations = build_stations("pin_box", 1, 1, perturbation=point("tracker-late+40ms"))
    begin(stations, SEEDS[0])
    until(stations, StationPhase.EXECUTE)
    sensors, site = stations.sensors, stations.twin.model.site("task_pin2").id
    for errors in sensors.errors[:4]:
        errors[...] = 0.0
    late = sensors.errors[5][0, 0] * stations.period
    assert 0.040 <= late <= 0.070
    truth: list[FloatArray] = []
    start = stations.twin.site_xpos[0, site].copy()
    for i in range(5):
        stations.twin.site_xpos[0, site] = start + np.array([0.001 * i, 0, 0])
        truth.append(stations.twin.site_xpos[0, site].copy())
        seen = sensors.read(np.array([0]), [100 + i])[0].position[0, 3]
    share = late / stations.period - 1
    np.testing.assert_allclose(seen, truth[-2] + share * (truth[-3] - truth[-2]), atol=1e-12)


@pytest.mark.parametrize("name", ["poses-x1.5", "poses-x2"])
def test_poses_are_farther_from_their_middle_and_the_rest_is_as_drawn(name: str) -> None:
    change = point(name)
    stations, drawn = build_stations("pick_cube", 1, 1, perturbation=change), []
    task = stations.task
    task.randomize_physics = lambda twin, row, variation: drawn.append(variation)  # type: ignore[method-assign]
    begin(stations, SEEDS[0])
    usual = task.sample(
        Job(SEEDS[0], Purpose.EVALUATION, Demonstrations(task), "d").streams().variation
    )
    middle = np.array([0.21, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    poses = len(task.target_names)
    np.testing.assert_allclose(
        drawn[0][:poses] - middle, change.value * (usual[:poses] - middle), atol=0.02
    )
    np.testing.assert_array_equal(drawn[0][poses:], usual[poses:])


def test_a_physical_reset_is_perturbed_as_a_fast_one_is() -> None:
    change = Perturbation("poses", Change.POSES, 2.0)
    targets = []
    for perturbation in (change, None):
        task = Restored()
        stations = reach_stations(task=task, reset=ResetMode.PHYSICAL, perturbation=perturbation)
        for seed in SEEDS:
            episode(stations, seed)
        targets.append(task.targets[-1])
    assert targets[0] == pytest.approx(2.0 * targets[1], abs=0.01)


@pytest.mark.parametrize(
    ("task", "geom", "axes"), [("pin_box", "task_pin0", [0]), ("zip_tie", "task_link14", [1, 2])]
)
def test_what_fits_into_something_fits_more_tightly(task: str, geom: str, axes: list[int]) -> None:
    tight, usual = (
        build_stations(task, 1, 1, perturbation=change).twin.model.geom(geom).size
        for change in (point("clearance-0.1mm"), None)
    )
    np.testing.assert_allclose(2 * (tight - usual)[axes], 0.0001)


def test_pins_that_are_thicker_have_their_edge_farther_out() -> None:
    model = build_stations("pin_box", 1, 1, perturbation=point("clearance-0.1mm")).twin.model
    edge, pin = model.geom("task_edge1_3"), model.geom("task_pin1")
    assert np.hypot(*edge.pos[:2]) + edge.size[0] == pytest.approx(pin.size[0])


def test_without_a_change_episodes_are_the_same_to_the_bit() -> None:
    nothing, none = (
        build_stations("pick_cube", 1, 1, perturbation=change) for change in (GRID[0], None)
    )
    for seed in SEEDS:
        one, other = episode(nothing, seed), episode(none, seed)
        for field in dataclasses.fields(Episode):
            mine, theirs = getattr(one, field.name), getattr(other, field.name)
            if isinstance(mine, np.ndarray):
                assert mine.tobytes() == theirs.tobytes(), field.name
            else:
                assert mine == theirs, field.name


@pytest.mark.medium
@pytest.mark.parametrize("name", ["light-moved", "cameras-off"])
def test_policies_and_verifiers_that_see_are_shown_something_else(name: str) -> None:
    shown = []
    for change in (point(name), None):
        try:
            stations = build_stations(
                "pick_cube", 1, 1, verify="cameras", images=32, perturbation=change
            )
        except NoGraphics as error:
            pytest.skip(str(error))
        begin(stations, SEEDS[0])
        stations.twin.forward(0)
        assert stations.frame_capture is not None
        assert stations.verifier_cameras is not None
        capture = stations.frame_capture.capture(0).result().astype(int)
        views = stations.verifier_cameras.look(0, 0.0, list).result()
        shown.append((capture, np.array([view.image for view in views], int)))
    for changed, usual in zip(*shown, strict=True):
        per_camera = abs(changed - usual).reshape(len(changed), -1)
        assert (per_camera.mean(axis=1) > 0.5).all(), "each camera's picture"
