"""The whole task: the hand holds the peg by friction, force is limited, and nothing else helps."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from enpire.environment import Demonstrations, Job, Readings, Stations, build_stations
from enpire.twin import compose
from enpire.types import Float32Array, FloatArray, Outcome, Purpose
from tests.packs.starting import Watching, begin, finish, welds

OPENING = 24.0  # of fingers that hold the head [mm]


@pytest.fixture(scope="module")
def stations() -> Stations:
    return build_stations("peg_insertion", 1, 1)


def tip(stations: Stations) -> FloatArray:
    """Where the peg's tip truly is, from the hole's mouth, world axes, (3,) [mm]."""
    twin, model = stations.twin, stations.twin.model
    at = model.joint("task_peg").qposadr[0]
    off: FloatArray = twin.qpos[0, at : at + 3] - twin.site_xpos[0, model.site("task_block").id]
    return 1e3 * off


def opening(stations: Stations) -> float:
    """How far the fingers are apart [mm]."""
    (arm,) = stations.twin.scene.arms
    return 1e3 * float(stations.twin.actuator_length[0, arm.gripper])


def truth(stations: Stations) -> set[str]:
    """Which conditions of success truly hold."""
    return {p.name for p in stations.task.ground_truth(stations.twin, 0) if p.holds}


def test_tags_are_where_frames_has_them(stations: Stations) -> None:
    tags = [stations.twin.model.site(name).pos for name in stations.task.tracked]
    means = np.array(tags).reshape(2, 4, 3).mean(axis=1)
    np.testing.assert_allclose(means, [(0.0, 0.0, 0.072), (0.0, 0.0, 0.0)], atol=1e-9)


def test_a_demonstration_puts_the_peg_in_by_the_hand_alone(stations: Stations) -> None:
    watching = Watching(stations)
    begin(stations, 0, watching)
    start = tip(stations)
    assert 5.0 < start[2] < 25.0
    assert opening(stations) == pytest.approx(OPENING, abs=0.5)
    assert not {"gap", "touch", "stays"} & truth(stations)
    episode = finish(stations)
    assert episode.success
    assert watching.welded
    assert not any(watching.welded)
    assert not welds(stations).any()
    assert tip(stations)[2] == pytest.approx(-30.0, abs=0.3)
    assert abs(tip(stations)[:2]).max() < 0.6
    assert opening(stations) > 45.0
    every = {"gap", "beside", "touch", "stays"}
    assert truth(stations) == every
    twin, at = stations.twin, stations.twin.model.joint("task_peg").qposadr[0]
    stood = twin.state[0].copy()
    for offset, missed in (((0, 0, 0.003), {"gap"}), ((0.02, 0, 0.03), every - {"touch"})):
        twin.state[0] = stood
        twin.qpos[0, at : at + 3] += offset
        twin.forward(0)
        assert missed <= every - truth(stations)


class Pressing(Demonstrations):
    """Presses straight down with all it has."""

    def act(self, rows: np.ndarray, observations: np.ndarray, readings: Readings) -> Float32Array:
        return np.full((len(rows), 7), [0, 0, -1, 0, 0, 0, -1], dtype=np.float32)


def test_pressing_beside_the_hole_is_no_way_in(stations: Stations) -> None:
    job = Job(0, Purpose.DEMONSTRATION, Pressing(stations.task), "d")
    stations.begin(0, job)
    episode = finish(stations)
    assert episode.verdict.outcome is Outcome.FAILURE
    assert "seated" in episode.verdict.failed
    assert tip(stations)[2] > -1.5


def test_a_tighter_fit_is_a_thicker_peg(stations: Stations) -> None:
    """The stress grid's way to take clearance away."""
    task, scene = stations.task, stations.twin.scene

    def thicker(spec: mujoco.MjSpec) -> None:
        task.build(spec)
        task.tighten(spec, 0.0002)

    tight = compose(scene.world, scene.robot, thicker)
    before, after = (m.geom("task_shank").size[0] for m in (scene.model, tight.model))
    assert after - before == pytest.approx(0.0001)
