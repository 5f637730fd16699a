"""The scene: a free block, a drawn goal, and a tray out of which everything can be pushed."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from enpire.environment import Demonstrations, Evidence, Job, Readings, Stations, build_stations
from enpire.types import Episode, FloatArray, Outcome, Purpose

from .modules import module

geometry = module("geometry")


def run(stations: Stations, controller: object, seed: int = 0) -> Episode:
    stations.begin(0, Job(seed, Purpose.EVALUATION, controller, "p"))  # type: ignore[arg-type]
    done: list[Episode] = []
    while not done:
        done = stations.tick()
    stations.wait()
    return done[0]


def block(stations: Stations) -> FloatArray:
    """Where the block truly is: position and quaternion."""
    at = stations.twin.model.joint("task_block").qposadr[0]
    return stations.twin.qpos[0, at : at + 7].copy()


def test_block_and_outline_are_the_shapes_that_are_judged() -> None:
    model = build_stations("push_t", 1, 1).twin.model
    for name, part in (("task_bar", geometry.BAR), ("task_stem", geometry.STEM)):
        geom = model.geom(name)
        middle, corner = np.mean(part), part[2]
        np.testing.assert_allclose(geom.pos, [middle.real, middle.imag, 0], atol=1e-6)
        half = [corner.real - middle.real, corner.imag - middle.imag, geometry.HEIGHT / 2]
        np.testing.assert_allclose(geom.size, half, atol=1e-6)
    inertia = model.body("task_block").ipos
    np.testing.assert_allclose(inertia, 0, atol=1e-6, err_msg="the centroid is the origin")
    goal = model.body("task_goal")
    half = geometry.GOAL[2] / 2
    np.testing.assert_allclose(goal.pos, [*geometry.GOAL[:2], 0], atol=1e-9)
    np.testing.assert_allclose(goal.quat, [np.cos(half), 0, 0, np.sin(half)], atol=1e-6)
    lines = [model.geom(i) for i in range(model.ngeom) if model.geom_bodyid[i] == goal.id]
    middles = np.array([line.pos[0] + 1j * line.pos[1] for line in lines])
    corners = np.array(geometry.OUTLINE)
    for edge in (corners + np.roll(corners, -1)) / 2:
        assert abs(middles - edge).min() < 1e-6
    assert not any(line.contype[0] or line.conaffinity[0] for line in lines), "drawn only"


def test_four_tags_are_spread_over_each_unit() -> None:
    stations = build_stations("push_t", 1, 1)
    model = stations.twin.model
    tags = np.array([model.site(name).pos for name in stations.task.tracked]) / geometry.UNIT
    np.testing.assert_allclose(tags.mean(axis=0), 0, atol=1e-6)
    quarters = tags[:, :2] - (0, geometry.CENTROID)  # in units, from the middle of the bar's edge
    middles = [(x, -0.5) for x in (-1.5, -0.5, 0.5, 1.5)] + [(0, y) for y in (-1.5, -2.5, -3.5)]
    for middle in middles:
        there = np.round(quarters - middle, 5)
        own = sorted(map(tuple, there[abs(there).max(axis=1) < 0.5]))
        assert own == [(-0.25, -0.25), (-0.25, 0.25), (0.25, -0.25), (0.25, 0.25)]


def truth(stations: Stations, pose: tuple[float, ...], tilt: float = 0.0) -> dict[str, float]:
    """What is said of a block at `pose` under a hand at home: measures by name."""
    twin, model = stations.twin, stations.twin.model
    twin.reset(0)
    at = model.joint("task_block").qposadr[0]
    turn = Rotation.from_euler("z", pose[2]) * Rotation.from_euler("x", tilt)
    twin.qpos[0, at : at + 7] = (*pose[:2], 0.01, *turn.as_quat(scalar_first=True))
    twin.qpos[0, stations.control.arms[0].qpos] = stations.twin.scene.robot.arms[0].home
    twin.forward(0)
    return {p.name: p.value for p in stations.task.ground_truth(twin, 0) if p.holds}


@pytest.mark.parametrize("flipped", [False, True])
def test_what_is_open_is_told_as_a_shift_along_bar_or_stem(flipped: bool) -> None:
    stations = build_stations("push_t", 1, 1)
    tilt = np.pi if flipped else 0.0
    yaw = geometry.GOAL[2] + tilt
    for angle in (0.0, np.pi / 2):
        shift = 0.003 * np.array([np.cos(yaw + angle), np.sin(yaw + angle)])
        found = truth(stations, (*(geometry.GOAL[:2] + shift), yaw), tilt)
        assert found["open"] == pytest.approx(3.0, abs=0.05), "counted by points"


def test_the_truth_of_a_block_that_is_off_or_tilted() -> None:
    stations = build_stations("push_t", 1, 1)
    on = truth(stations, tuple(geometry.GOAL))
    assert set(on) == {"open", "borne", "touched", "stays"}
    assert "open" not in truth(stations, (geometry.GOAL[0], geometry.GOAL[1] + 0.007, np.pi / 4))
    assert "open" not in truth(stations, tuple(geometry.GOAL), tilt=np.radians(6))


def test_nothing_holds_the_block() -> None:
    model = build_stations("push_t", 1, 1).twin.model
    assert model.neq == 0
    assert model.joint("task_block").type[0] == mujoco.mjtJoint.mjJNT_FREE


class Press:
    """Opens the jaw, and moves the hand by the same action all the time."""

    def __init__(self, *move: float) -> None:
        self.action = np.array([[*move, 0, 0, 0, 1.0]], dtype=np.float32)
        self.most_open = -1.0

    def begin(self, row: int, rng: np.random.Generator, exploration: float) -> None:
        pass

    def act(self, rows: np.ndarray, observations: np.ndarray, readings: Readings) -> np.ndarray:
        self.most_open = max(self.most_open, readings.gripper[0, 0])
        return self.action


def test_the_jaw_stays_shut_and_a_lifted_hand_moves_nothing() -> None:
    stations = build_stations("push_t", 1, 1)
    stations.execute_periods = 25
    up = Press(0, 0, 1)
    stations.begin(0, Job(3, Purpose.EVALUATION, up, "up"))
    for _ in range(6):
        stations.tick()
    stations.wait()
    before = block(stations)
    while stations.busy:
        stations.tick()
    stations.wait()
    np.testing.assert_allclose(block(stations), before, atol=1e-4)
    assert up.most_open < -0.15


@pytest.mark.parametrize("y", [-0.4, 0, 1])
def test_a_hand_left_low_anywhere_is_out_of_the_way_when_it_is_judged(y: float) -> None:
    stations = build_stations("push_t", 1, 1)
    stations.execute_periods = 50
    episode = run(stations, Press(0, y, -0.5))
    assert "clear" not in episode.verdict.failed, episode.verdict.reason
    hand = stations.twin.site_xpos[0, stations.twin.scene.arms[0].grasp]
    assert hand[1] > module("task").ASIDE


@pytest.mark.parametrize("move", [(1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0.3, 0, -1)])
def test_the_block_stays_in_the_tray_and_flat(move: tuple[float, ...]) -> None:
    stations = build_stations("push_t", 1, 1)
    stations.execute_periods = 60
    x, y, z = move
    episode = run(stations, Press(x, y, z or -0.3))
    assert episode.verdict.outcome is Outcome.FAILURE
    position, quaternion = block(stations)[:3], block(stations)[3:]
    yaw = 2 * np.arctan2(quaternion[3], quaternion[0])
    assert geometry.tray_margin(np.array([*position[:2], yaw])) > -0.003
    assert abs(quaternion[1:3]).max() < 0.03


@pytest.mark.parametrize(
    "pose",
    [
        (0.169, 0.0, 0.0),  # against the straight rim, the bar's end
        (0.153, 0.142, np.pi / 2),  # in a corner
        (0.153, -0.142, np.pi / 2),
        (0.231, 0.02, -np.pi / 2),  # against the round one
    ],
)
def test_a_block_at_the_rim_is_brought_back(pose: tuple[float, ...]) -> None:
    stations = build_stations("push_t", 1, 1)
    task = stations.task
    variation = task.sample(np.random.default_rng(1))
    variation[:3] = pose
    assert 0 < geometry.tray_margin(np.array(pose)) < 0.002
    task.sample = lambda rng: variation  # type: ignore[method-assign]
    episode = run(stations, Demonstrations(task))
    assert episode.verdict.score > 0.9, episode.verdict.reason


class Judged:
    """Judges what the first reading of an episode shows; holds still."""

    def __init__(self, stations: Stations) -> None:
        self.stations = stations
        self.outcomes: list[Outcome] = []

    def begin(self, row: int, rng: np.random.Generator, exploration: float) -> None:
        pass

    def act(self, rows: np.ndarray, observations: np.ndarray, readings: Readings) -> np.ndarray:
        task, period = self.stations.task, self.stations.period
        self.outcomes.append(task.verify(Evidence([readings.row(0)] * 8, period)).outcome)
        assert not task.looks_done(readings).any()
        return np.zeros((len(rows), 7), dtype=np.float32)


def test_no_reset_is_a_success() -> None:
    stations = build_stations("push_t", 1, 1)
    stations.execute_periods = 1
    judged = Judged(stations)
    for seed in range(20):
        assert not run(stations, judged, seed).success
    assert len(judged.outcomes) == 20
    assert Outcome.SUCCESS not in judged.outcomes
