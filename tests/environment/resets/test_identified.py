"""In a world that was identified, each episode draws its arms; elsewhere nothing is drawn."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from enpire.environment import Demonstrations, Job, Stations, build_stations
from enpire.errors import PackError
from enpire.identification.arms import ArmsModel, arms_alone
from enpire.identification.fit import fit
from enpire.identification.motion import draw, motion
from enpire.identification.play import ArmNoise, play
from enpire.identification.world import write_world
from enpire.packs import find, load_robot, load_world
from enpire.types import Episode, Purpose

NAMES = ("arm/joint1/frictionloss", "arm/joint2/armature", "arm/latency", "arm/payload")
HIDDEN = dict(zip(NAMES, (0.15, 0.05, 0.02, 0.1), strict=True))


@pytest.fixture(scope="module")
def world(tmp_path_factory) -> Path:
    """A world pack of arms with hidden parameters, from one short motion."""
    scene = arms_alone(load_world(find("sim", "bench")), load_robot(find("robots", "so101")))
    rng = np.random.default_rng(0)
    made = motion(scene, draw(scene, rng, 100.0), 4.0, 100.0)
    recording = play(scene, HIDDEN, made.stamps, made.sent, ArmNoise(), rng)
    arms = ArmsModel(scene, NAMES, threads=1)
    folder: Path = tmp_path_factory.mktemp("sim") / "lab"
    write_world(folder, scene.world, scene.robot, fit(arms, [recording]), [recording], None)
    return folder


def run(stations: Stations, seed: int) -> Episode:
    stations.begin(0, Job(seed, Purpose.DEMONSTRATION, Demonstrations(stations.task), "d"))
    while not (done := stations.tick()):
        pass
    return done[0]


def test_the_world_s_arms_are_those_that_were_found(world: Path) -> None:
    found = load_world(find("sim", str(world))).dynamics
    assert found is not None
    assert found.names == NAMES
    np.testing.assert_allclose(found.values, list(HIDDEN.values()), rtol=0.05)
    drawn = np.array([found.draw(np.random.default_rng(seed)) for seed in range(200)])
    spread = np.log(drawn[:, 1]).std()
    assert spread == pytest.approx(found.deviation[1], rel=0.25)
    scene = build_stations("pick_cube", 1, 1, world=str(world)).twin.scene
    assert scene.model.dof_frictionloss[scene.arms[0].dofs[0]] == pytest.approx(found.values[0])
    assert scene.model.body("arm_payload").mass[0] == pytest.approx(found.values[3])


def test_episodes_draw_their_arms_by_their_seed(world: Path) -> None:
    stations = build_stations("pick_cube", 1, 1, world=str(world))
    twin, arm = stations.twin, stations.twin.scene.arms[0]
    drawn, episodes = [], []
    for seed in (1, 2, 1):
        episodes.append(run(stations, seed))
        drawn.append(
            (
                twin.expand("dof_frictionloss")[0, arm.dofs[0]],
                twin.expand("actuator_delay")[0, arm.gripper],
            )
        )
    assert drawn[0] == drawn[2] != drawn[1]
    assert drawn[0][1] == pytest.approx(0.02, abs=2e-3)
    np.testing.assert_array_equal(episodes[0].joints, episodes[2].joints)
    assert "sim/lab" in episodes[0].packs


def test_a_world_of_other_arms_is_refused(world: Path) -> None:
    with pytest.raises(PackError, match="of so101, not of yam"):
        build_stations("tool_use", 1, 1, world=str(world))


@pytest.mark.parametrize(
    ("line", "by", "match"),
    [
        ('name = "arm/latency"', 'name = "arm/payload"', "twice"),
        ("correlation = [1.0", "correlation = [0.5", "no correlation matrix"),
        ('dynamics = "dynamics.toml"', 'dynamics = "no.toml"', "is not in the pack"),
    ],
)
def test_a_file_that_says_something_else_is_refused(world, tmp_path, line, by, match) -> None:
    copy = tmp_path / "copy"
    copy.mkdir()
    for file in world.iterdir():
        text = file.read_text()
        (copy / file.name).write_text(text.replace(line, by, 1))
    with pytest.raises(PackError, match=match):
        load_world(find("sim", str(copy)))


def test_objects_weigh_what_was_found_and_other_tasks_have_none(world: Path, tmp_path) -> None:
    copy = tmp_path / "lab"
    copy.mkdir()
    for file in world.iterdir():
        named = file.read_text().replace('"arm/joint2/armature"', '"cube/mass"')
        (copy / file.name).write_text(named.replace('"kg m^2"', '"kg"'))
    found = load_world(find("sim", str(copy))).dynamics
    assert found is not None
    stations = build_stations("pick_cube", 1, 1, world=str(copy))
    twin = stations.twin
    cube = twin.model.body("task_cube").id
    assert twin.model.body_mass[cube] == pytest.approx(found.values[1])
    run(stations, 1)
    drawn = twin.expand("body_mass")[0, cube], twin.expand("body_inertia")[0, cube, 0]
    assert drawn[0] == pytest.approx(found.values[1], abs=4 * found.deviation[1] * found.values[1])
    assert drawn[0] != pytest.approx(found.values[1], abs=1e-9)
    assert drawn[1] == pytest.approx(drawn[0] * 0.025**2 / 6, rel=1e-6)
    build_stations("push_t", 1, 1, world=str(copy))
