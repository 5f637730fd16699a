"""Each episode of a twin draws its arms from what the robot's `variation` allows."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from enpire.environment import Demonstrations, Job, Stations, build_stations
from enpire.environment.resets.varied_arms import VariedArms
from enpire.errors import PackError
from enpire.packs import find, load_robot
from enpire.packs.robot import ArmVariation
from enpire.types import Purpose

FIELDS = ("actuator_gainprm", "actuator_biasprm", "dof_frictionloss", "geom_friction")


def fields(stations: Stations, row: int = 0) -> dict[str, np.ndarray]:
    return {name: stations.twin.expand(name)[row].copy() for name in FIELDS}


@pytest.fixture(scope="module")
def stations() -> Stations:
    return build_stations("zip_tie", 2, 1)


def test_servos_joints_and_pads_stay_in_their_ranges_and_fill_them(stations: Stations) -> None:
    arms, model = VariedArms(stations.twin), stations.twin.model
    spread = stations.twin.scene.robot.variation
    arm = stations.twin.scene.arms[1]
    pad = model.geom(f"{arm.name}_pad_left").id
    drawn = []
    for seed in range(200):
        arms.vary(0, np.random.default_rng(seed))
        now = fields(stations)
        servo = arm.actuators[3]
        np.testing.assert_array_equal(
            now["actuator_gainprm"][servo, 0], -now["actuator_biasprm"][servo, 1]
        )
        drawn.append(
            (
                now["actuator_gainprm"][servo, 0] / model.actuator_gainprm[servo, 0],
                now["actuator_biasprm"][servo, 2] / model.actuator_biasprm[servo, 2],
                now["dof_frictionloss"][arm.dofs[3]] / model.dof_frictionloss[arm.dofs[3]],
                now["geom_friction"][pad, 0] / model.geom_friction[pad, 0],
            )
        )
    for values, (low, high) in zip(
        np.transpose(drawn),
        (spread.kp, spread.kv, spread.friction, spread.pad_friction),
        strict=True,
    ):
        width = high - low
        assert low <= values.min() < low + 0.05 * width
        assert high - 0.05 * width < values.max() <= high


def test_grippers_and_other_geoms_stay_as_the_model_has_them(stations: Stations) -> None:
    VariedArms(stations.twin).vary(1, np.random.default_rng(0))
    now, model = fields(stations, 1), stations.twin.model
    for arm in stations.twin.scene.arms:
        np.testing.assert_array_equal(
            now["actuator_gainprm"][arm.gripper], model.actuator_gainprm[arm.gripper]
        )
    hand = model.geom("left_hand").id
    np.testing.assert_array_equal(now["geom_friction"][hand], model.geom_friction[hand])


def test_an_episode_s_seed_fixes_its_arms() -> None:
    stations = build_stations("zip_tie", 2, 1)
    job = Job(5, Purpose.DEMONSTRATION, Demonstrations(stations.task), "d")
    other = Job(6, Purpose.DEMONSTRATION, Demonstrations(stations.task), "d")
    found = []
    for row, each in ((0, job), (1, job), (0, other)):
        stations.begin(row, each)
        found.append(fields(stations, row))
        stations.abort("enough")
    for name in FIELDS[:3]:
        np.testing.assert_array_equal(found[0][name], found[1][name])
        assert (found[0][name] != found[2][name]).any()


def test_arms_that_do_not_vary_cost_nothing() -> None:
    twin = build_stations("pick_cube", 1, 1).twin
    before = twin.variation(0).keys()
    twin.scene = replace(twin.scene, robot=replace(twin.scene.robot, variation=ArmVariation()))
    VariedArms(twin).vary(0, np.random.default_rng(0))
    assert twin.variation(0).keys() == before


def test_a_variation_that_is_no_range_is_refused(tmp_path: Path) -> None:
    pack = tmp_path / "yam"
    shutil.copytree(find("robots", "yam").folder, pack)
    file = pack / "robot.toml"
    file.write_text(file.read_text().replace("kp = [0.9, 1.1]", "kp = [1.1, 0.9]"))
    with pytest.raises(PackError, match=r"kp must be two factors above 0.*1\.1 and 0\.9"):
        load_robot(find("robots", str(pack)))
