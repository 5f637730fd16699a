"""Policies of LeRobot's that set joints: state and actions in its units, without conversion."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from enpire.environment import Job, build_stations, load_task
from enpire.environment.core.motors import Motors
from enpire.packs import find
from enpire.policies import LeRobotPolicy
from enpire.policies.lerobot import folder
from enpire.policies.lerobot.model import LeRobotModel
from enpire.types import Float32Array, Purpose
from tests.policies.lerobots import folder_of

CAMERAS, SIZE = ("front", "side"), 64


@pytest.fixture(scope="module")
def motors() -> Motors:
    found = Motors.of(load_task(find("tasks", "pick_cube@joints")))
    assert found is not None
    return found


def postures(motors: Motors) -> Float32Array:
    """Joints within their ranges, as a task shows them, (n, 6)."""
    rng = np.random.default_rng(0)
    return rng.uniform(motors.low, motors.high, (20, 6)).astype(np.float32)


def test_motors_are_counted_as_lerobot_counts_them(motors: Motors) -> None:
    seen = postures(motors)
    theirs = motors.positions(seen)
    np.testing.assert_allclose(theirs[:, :5], np.degrees(seen[:, :5]), rtol=1e-5)
    closed, opened = motors.low[5], motors.high[5]
    np.testing.assert_allclose(
        theirs[:, 5], 100 * (seen[:, 5] - closed) / (opened - closed), atol=1e-3
    )
    np.testing.assert_allclose(motors.shown(theirs), seen, atol=1e-5)
    np.testing.assert_allclose(motors.told(motors.actions(theirs)), theirs, atol=1e-3)
    assert Motors.of(load_task(find("tasks", "pick_cube"))) is None
    bare = Motors.of(load_task(find("tasks", "pin_box@joints")))
    assert bare is not None
    assert bare.keys[0].endswith("joint1.pos")
    assert bare.factor[0] == 1.0, "radians, where no pack says how LeRobot counts them"


@pytest.mark.medium
def test_a_policy_is_shown_degrees_and_answers_in_them(motors: Motors, tmp_path: Path) -> None:
    policy = LeRobotPolicy.read(folder_of("act", tmp_path / "act", 6, 6, CAMERAS, SIZE))
    model, seen = LeRobotModel.load(policy.files), postures(motors)[:2, None]
    pictures = np.zeros((2, 1, len(CAMERAS), SIZE, SIZE, 3), np.uint8)
    theirs = model.chunks(motors.positions(seen), "", [0, 0], pictures=pictures)
    model.units = motors
    ours = model.chunks(seen, "", [0, 0], pictures=pictures)
    np.testing.assert_allclose(ours, motors.actions(theirs), atol=1e-6)


@pytest.mark.medium
def test_without_pictures_joints_are_its_state_and_the_rest_is_an_environments(
    tmp_path: Path,
) -> None:
    stations = build_stations("pick_cube@joints", 1, threads=1)
    rest = stations.observation_size - 6
    policy = LeRobotPolicy.read(folder_of("act", tmp_path / "act", 6, 6, environment=rest))
    controller = policy.controller(stations)
    stations.begin(0, Job(3, Purpose.EVALUATION, controller, "policy"))
    while not (done := stations.tick()):
        pass
    seen = torch.from_numpy(done[0].observations[None, :1])
    model = policy.model()
    model.units = Motors.of(stations.task)
    batch = model.batch(seen, "")
    assert model.units is not None
    joints = model.units.positions(seen[:, -1, :6].numpy())
    np.testing.assert_allclose(batch[folder.STATE], joints)
    np.testing.assert_allclose(batch[folder.ENVIRONMENT], seen[:, -1, 6:])
