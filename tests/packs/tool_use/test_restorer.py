"""Physical resets of tool_use: the cutter from wherever it is back into the hand, and a new tie."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from enpire.environment import Job, ResetMode, Stations, build_stations
from enpire.environment.kinematics import Kinematics
from enpire.errors import ResetFailed
from enpire.types import Episode, Float32Array, Outcome, Purpose
from tests.packs.modules import module

pytestmark = pytest.mark.medium


class Leaves:
    """Makes the mess of a test in the first period, by writing it; then does nothing."""

    def __init__(self, stations: Stations, cutter: tuple[float, ...] | None = None) -> None:
        self.stations, self.cutter = stations, cutter

    def begin(self, row: int, rng: np.random.Generator, exploration: float) -> None:
        self._done = False

    def act(self, rows: object, observations: object, readings: object) -> Float32Array:
        action = np.zeros((1, 14), dtype=np.float32)
        action[:, [6, 13]] = 0.15
        if self.cutter is not None:
            action[:, 13] = 1.0
            if not self._done:
                twin, model = self.stations.twin, self.stations.twin.model
                at = model.joint("task_cutter").qposadr[0]
                twin.qpos[0, at : at + 7] = self.cutter
                twin.qvel[0] = 0.0
                twin.eq_active[0, model.equality("task_strap").id] = 0.0
                self._done = True
        return action


def put_back(cutter: tuple[float, ...] | None) -> tuple[Stations, Episode]:
    """Stations at the end of an episode that began with a reset from `cutter`."""
    stations = build_stations("tool_use", 1, 1, ResetMode.PHYSICAL)
    stations.execute_periods = 12
    done: list[Episode] = []
    for i, made in enumerate((cutter, None)):
        stations.begin(0, Job(5 + i, Purpose.COLLECTION, Leaves(stations, made), "mess"))
        while stations.busy:
            done += stations.tick()
        stations.wait()
    return stations, done[-1]


HALF = np.sqrt(0.5)


@pytest.mark.parametrize(
    "mess",
    [
        None,  # still in the hand; it goes by its stand
        (0.25, -0.10, 0.007, HALF, 0.0, HALF, 0.0),  # flat, the hinge down
        (0.31, -0.16, 0.007, HALF, 0.0, -HALF, 0.0),  # flat, the hinge up, the handles to the robot
    ],
)
def test_the_cutter_is_brought_back_and_a_new_tie_with_it(mess: tuple[float, ...] | None) -> None:
    stations, episode = put_back(mess)
    assert episode.verdict.outcome is Outcome.FAILURE, episode.verdict.reason
    assert episode.times.execute > 0
    (rng, *_) = np.random.default_rng(6).spawn(4)
    wanted = stations.task.sample(rng)
    twin, model = stations.twin, stations.twin.model
    assert twin.eq_active[0, model.equality("task_strap").id], "a new tie"
    layout, task = module(stations.task, "layout"), module(stations.task, "task")
    stand = twin.site_xpos[0, model.site("task_stand").id]
    np.testing.assert_allclose(stand[:2], task.STAND_AT[:2] + wanted[4:6], atol=1e-9)
    sites = [model.site(f"task_{name}").id for name in ("cutter", "jaw")]
    up = twin.site_xmat[0, sites].reshape(2, 3, 3)[:, :, 2].mean(axis=0)
    handles = twin.site_xpos[0, sites[0]] + layout.GRIP * up / np.linalg.norm(up)
    hand = twin.site_xpos[0, stations.control.arms[1].grasp]
    assert np.linalg.norm(handles - hand) < 0.012


def test_the_feeder_waits_while_something_is_in_its_way() -> None:
    stations = build_stations("tool_use", 1, 1)
    task, twin = stations.task, stations.twin
    strap = twin.model.equality("task_strap").id
    rng = np.random.default_rng(3)
    first, second = task.sample(rng), task.sample(rng)
    first[8] -= 0.03
    stations.set_initial_state(0, first)
    task.randomize_physics(twin, 0, second)
    twin.eq_active[0, strap] = 0.0
    with pytest.raises(ResetFailed, match="way"):
        task.operate(twin, 0, ("feeder",))
    assert not twin.eq_active[0, strap]
    raised = first.copy()
    raised[8] += 0.08
    stations.set_initial_state(0, raised)
    task.randomize_physics(twin, 0, second)
    twin.eq_active[0, strap] = 0.0
    task.operate(twin, 0, ("feeder",))
    stations.twin.forward(0)
    assert twin.eq_active[0, strap]
    clamp = task._position[0, task._fixed[0]]
    np.testing.assert_allclose(
        clamp, module(stations.task, "task").CLAMP_AT + second[:3], atol=1e-9
    )


def test_a_hand_that_points_down_leans_as_far_as_the_arm_needs() -> None:
    stations = build_stations("tool_use", 1, 1)
    finding, layout = module(stations.task, "finding"), module(stations.task, "layout")
    scene = stations.twin.scene
    kinematics = Kinematics(scene.world, scene.robot, iterations=150)
    left = np.array([0.30, 0.30, 0.25])
    leans = []
    for at in ((0.31, -0.14, 0.0125), (0.43, -0.10, 0.19), (0.55, -0.05, 0.0125)):
        point = np.array(at)
        frame = finding.leaning(finding.outward(point), point)
        warm = np.zeros((2, 6))
        warm[:] = scene.robot.arms[0].home
        warm[1] = finding.azimuth(point), 1.9, 1.8, -1.0, 0.0, 0.0
        joints = kinematics.solve([left, point], [layout.HAND, frame @ layout.HAND], warm)
        configuration = kinematics._configuration
        error = kinematics._tasks[1].compute_error(configuration)
        assert np.linalg.norm(error) < 1e-3, "within reach, joints within their ranges"
        assert abs(joints[1, 4:]).max() < 0.01, "the wrist in its middle"
        leans.append(np.arccos(-frame[2, 0]))
    assert leans[0] == pytest.approx(0.0, abs=1e-6)
    assert leans[1] > 0.1
    assert leans[2] > 0.1


def test_a_frame_that_does_not_point_down_does_not_lean() -> None:
    finding = module(build_stations("tool_use", 1, 1).task, "finding")
    np.testing.assert_array_equal(finding.leaning(np.eye(3), np.zeros(3)), np.eye(3))


def test_a_hand_is_set_upright_round_its_own_axis() -> None:
    finding = module(build_stations("tool_use", 1, 1).task, "finding")
    at = np.array([0.4, -0.1, 0.3])
    turned = Rotation.from_euler("ZYX", (finding.azimuth(at), 0.4, -1.3)).as_matrix()
    frame = finding.unrolled(turned, at)
    np.testing.assert_allclose(frame.T @ frame, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(frame[:, 0], turned[:, 0], atol=1e-12)
    assert frame[2, 1] == pytest.approx(0.0, abs=1e-12), "it opens level"
    assert frame[2, 2] > 0.0
    down = finding.unrolled(finding.down(2.0), at)
    np.testing.assert_allclose(down, finding.outward(at), atol=1e-12)


def lies(stations: Stations, at: tuple[float, ...], turned: Rotation):  # type: ignore[no-untyped-def]
    """What a hand that is raised sees of a cutter there, and skills that have seen nothing yet."""
    task = stations.task
    target = task.sample(np.random.default_rng(0))[: len(task.target_names)]
    half = [(turned * Rotation.from_euler("x", side * 0.2)).as_matrix() for side in (-1, 1)]
    names = ("CLAMP_AT", "STAND_AT", "STRAP_AT")
    clamp, stand, strap = (getattr(module(stations.task, "task"), name) for name in names)
    seen = module(stations.task, "finding").Situation(
        pivot=np.array(at),
        frame=turned.as_matrix(),
        halves=np.array(half),
        hand=np.array([0.40, -0.05, 0.25]),
        hand_frame=np.eye(3),
        strap=strap,
        stand=stand,
        clamp=clamp,
        bundle=clamp,
        gap=0.0,
        gripper=0.043,
    )
    return seen, task.restorer(np.random.default_rng(0), target)


def test_one_that_leans_is_taken_along_its_hinge_and_set_upright_before_it_is_lifted() -> None:
    stations = build_stations("tool_use", 1, 1)
    seen, skills = lies(stations, (0.46, -0.05, 0.12), Rotation.from_euler("x", -0.9))
    skills._plan(seen)
    *_, takes, upright, lifts = skills._hand.moves
    np.testing.assert_allclose(takes.to, seen.handles)
    np.testing.assert_allclose(takes.frame, seen.frame)
    np.testing.assert_allclose(upright.frame, np.eye(3), atol=1e-9)
    np.testing.assert_allclose(upright.to[:2], seen.pivot[:2], atol=1e-9)
    np.testing.assert_allclose(lifts.to[:2], upright.to[:2])
    assert lifts.to[2] > upright.to[2]


def test_a_hand_does_not_come_along_the_hinge_where_joint_5_would_be_at_its_stop() -> None:
    stations = build_stations("tool_use", 1, 1)
    seen, skills = lies(stations, (0.42, -0.05, 0.12), Rotation.from_euler("x", -0.9))
    assert np.isinf(
        module(stations.task, "finding").bend(seen.handles - (0.075, 0, 0), np.eye(3)[0])
    )
    skills._plan(seen)
    assert skills._hand.moves[-1].frame[2, 0] == pytest.approx(-1.0)


def test_a_hand_that_has_touched_something_on_its_way_closes_there() -> None:
    stations = build_stations("tool_use", 1, 1)
    _, skills = lies(stations, (0.42, -0.05, 0.12), Rotation.identity())
    move, to = module(stations.task, "moving").Move, np.array([0.40, -0.10, 0.10])
    skills._hand.moves.extend([move(to, np.eye(3), -1.0, gentle=True), move(to, np.eye(3), 0.15)])
    skills._hand.grip = -1.0
    hand = module(stations.task, "layout").HAND
    for felt in (0.0, 10.0):
        readings = Felt((0.40, -0.10, 0.15), (0.0, 0.0, felt), hand)
        readings.joints = np.full((1, 2, 6), 0.8)
        skills._hand.step(readings)
    np.testing.assert_allclose(skills._hand.moves[0].to, (0.40, -0.10, 0.15))


@pytest.mark.parametrize("felt", [1.0, 3.0])
def test_a_hand_that_comes_no_nearer_has_touched_what_holds_it_up(felt: float) -> None:
    stations = build_stations("tool_use", 1, 1)
    _, skills = lies(stations, (0.42, -0.05, 0.12), Rotation.identity())
    moving, hand = module(stations.task, "moving"), skills._hand
    frame, to = module(stations.task, "finding").down(0.0), np.array([0.40, -0.10, 0.0125])
    hand.moves.extend([moving.Move(to, frame, 0.95, gentle=True), moving.Move(to, frame, 0.15)])
    readings = Felt((0.40, -0.10, 0.025), (0.0,) * 3, frame @ module(stations.task, "layout").HAND)
    readings.joints = np.full((1, 2, 6), 0.8)
    hand.step(readings)
    readings.wrist_force[0, 1, 2] = -felt
    for _ in range(moving.PATIENCE + 1):
        assert len(hand.moves) == 2
        hand.step(readings)
    assert hand.gave_up == (felt < 2.0)
    assert len(hand.moves) == (0 if felt < 2.0 else 1), "it closes there"


def test_fingers_that_do_not_open_are_not_torn_at() -> None:
    stations = build_stations("tool_use", 1, 1)
    seen, skills = lies(stations, (0.40, -0.05, 0.185), Rotation.identity())
    for gripper in (0.046, 0.036):
        skills._holds, skills._hand.grip = "cutter", 0.15  # 43 mm
        skills._plan(replace(seen, gripper=gripper))
        assert skills._done == (gripper < 0.043)


@pytest.mark.parametrize("stop", [0.2, 0.02])
def test_a_level_hand_whose_arm_runs_into_a_stop_gives_up(stop: float) -> None:
    stations = build_stations("tool_use", 1, 1)
    _, skills = lies(stations, (0.42, -0.05, 0.12), Rotation.identity())
    to = np.array([0.40, -0.10, 0.12])
    skills._hand.moves.append(module(stations.task, "moving").Move(to, np.eye(3), 0.95))
    readings = Felt((0.40, -0.10, 0.25), (0.0,) * 3, module(stations.task, "layout").HAND)
    readings.joints = np.zeros((1, 2, 6))
    readings.joints[0, 1] = 0.5, 1.5, 0.5, np.pi / 2 - stop - 0.005, 0.3, 0.0
    assert skills._hand.step(readings) is not None
    readings.joints[0, 1, 3] += 0.005
    gone_on = skills._hand.step(readings) is not None
    assert gone_on == (stop > 0.1)


@pytest.mark.parametrize(
    ("at", "turned"),
    [
        ((0.42, -0.05, 0.12), Rotation.from_euler("x", -0.9)),  # leans on the bundle
        ((0.30, -0.20, 0.015), Rotation.from_euler("zx", (0.4, -1.4))),  # on its edge
        ((0.28, -0.20, 0.006), Rotation.from_euler("zyx", (1.5, -np.pi / 2, 0.0))),  # flat
    ],
)
def test_what_did_not_help_gives_way_to_another_way(
    at: tuple[float, ...], turned: Rotation
) -> None:
    stations = build_stations("tool_use", 1, 1)
    seen, skills = lies(stations, at, turned)
    ways = []
    for _ in range(2):
        skills._plan(seen)
        ways.append(tuple((*move.to.round(6), move.grip) for move in skills._hand.moves))
        skills._hand.moves.clear()
        skills._holds = ""
    assert ways[0] != ways[1]


def test_one_that_lies_the_wrong_way_round_is_taken_by_both_handles_and_turned() -> None:
    stations = build_stations("tool_use", 1, 1)
    flat = Rotation.from_euler("zyx", (np.pi, -np.pi / 2, 0.0))  # its handles to the robot
    seen, skills = lies(stations, (0.34, -0.20, 0.006), flat)
    skills._plan(seen)
    *_, closes, lifts = skills._hand.moves
    assert closes.grip == pytest.approx(0.15), "round both handles"
    assert closes.frame[:, 2] @ seen.frame[:, 2] == pytest.approx(-1.0, abs=1e-6)
    skills._hand.moves.clear()
    skills._hand.grip = closes.grip
    held = replace(seen, hand=seen.handles, hand_frame=lifts.frame, gripper=0.046)
    skills._plan(held)
    *_, lays, opens, _ = skills._hand.moves
    turned = lays.frame @ lifts.frame.T @ seen.frame[:, 2]
    finding = module(stations.task, "finding")
    off = finding.azimuth(finding.ROOM) - np.arctan2(turned[1], turned[0])
    assert abs(finding.wrap(off)) < 1.5, "where the wrist then brings it upright"
    assert opens.grip > 0.9


def test_a_hand_does_not_go_for_what_lies_out_of_its_reach() -> None:
    stations = build_stations("tool_use", 1, 1)
    flat = Rotation.from_euler("zyx", (0.0, -np.pi / 2, 0.0))
    seen, skills = lies(stations, (0.70, -0.20, 0.006), flat)
    skills._plan(seen)
    assert all(move.to[0] < 0.585 for move in skills._hand.moves)


def test_a_cutter_that_stands_in_its_stand_is_let_go_of_before_it_is_taken_anew() -> None:
    stations = build_stations("tool_use", 1, 1)
    layout, task = module(stations.task, "layout"), module(stations.task, "task")
    at = task.STAND_AT + np.array([0.0, 0.0, layout.STANDING + 0.006])
    seen, skills = lies(stations, tuple(at), Rotation.identity())
    skills._hand.grip, skills._first = 0.15, False
    skills._plan(replace(seen, hand=seen.handles))
    opens, backs = skills._hand.moves
    assert opens.grip > 0.9
    assert backs.to[0] < seen.handles[0] - 0.03
    assert not skills._holds


def test_a_cutter_that_is_pitched_is_laid_down_where_the_wrist_does_not_lower_it() -> None:
    stations = build_stations("tool_use", 1, 1)
    finding, restorer = module(stations.task, "finding"), module(stations.task, "restorer")
    for pitch in (0.0, 0.2):
        seen, skills = lies(stations, (0.42, -0.04, 0.167), Rotation.from_euler("y", pitch))
        seen = replace(seen, hand=seen.handles)
        frame, from_pivot, place = skills._upright_in_hand(seen)
        over = place + from_pivot + (0.0, 0.0, restorer.FUNNEL)
        assert finding.bend(over, frame[:, 0]) < restorer.CARRIES, "it gets over the stand"
        skills._plan(seen)
        lays = all(move.frame[2, 0] < -0.9 for move in skills._hand.moves)
        assert lays == (pitch > 0.0)


def test_a_hand_takes_a_cutter_from_its_stand_no_further_up_than_its_wrist_bends() -> None:
    stations = build_stations("tool_use", 1, 1)
    finding, layout = module(stations.task, "finding"), module(stations.task, "layout")
    at = module(stations.task, "task").STAND_AT + np.array([0.0, 0.0, layout.STANDING])
    for leans in (0.0, -0.1):  # to the robot: the hand has to come from further below
        seen, skills = lies(stations, tuple(at), Rotation.from_euler("y", leans))
        skills._grasp = np.array([0.0, 0.0, -0.1])
        skills._plan(seen)
        takes = skills._hand.moves[-2]
        assert abs(finding.bend(takes.to, takes.frame[:, 0])) < np.pi / 2


class Felt:
    """Readings of a hand at a place, that feels a force."""

    def __init__(self, at: tuple[float, ...], felt: tuple[float, ...], frame: object) -> None:
        self.hand_position = np.array([[(0.3, 0.3, 0.25), at]])
        self.hand_rotation = np.array([[np.eye(3), frame]])
        self.wrist_force = -np.array([[(0.0,) * 3, felt]])  # from the hand on what it touches


def test_a_hand_retreats_backwards_and_up_and_gives_way_to_what_it_feels() -> None:
    stations = build_stations("tool_use", 1, 1)
    retreat, layout = module(stations.task, "retreat"), module(stations.task, "layout")
    level = layout.HAND  # approach along x
    way, _ = retreat.Retreat(0.26).step(Felt((0.43, -0.1, 0.15), (0.0, 0.0, 0.0), level))
    assert way[0] < 0.0 < way[2]
    way, _ = retreat.Retreat(0.26).step(Felt((0.43, -0.1, 0.15), (20.0, 0.0, 0.0), level))
    assert way[0] > 0.0, "away from what is behind it"
    way, _ = retreat.Retreat(0.26).step(Felt((0.43, -0.1, 0.15), (0.0, 0.0, -20.0), level))
    assert way[2] < 0.0, "down, from under something"
    assert retreat.Retreat(0.26).step(Felt((0.43, -0.1, 0.27), (0.0,) * 3, level)) is None


def test_a_hand_that_does_not_come_up_tries_other_ways_and_gives_up_in_the_end() -> None:
    stations = build_stations("tool_use", 1, 1)
    retreat, layout = module(stations.task, "retreat"), module(stations.task, "layout")
    one, ways = retreat.Retreat(0.26), []
    while (step := one.step(Felt((0.43, -0.1, 0.15), (0.0,) * 3, layout.HAND))) is not None:
        ways.append(np.sign(np.round(step[0], 6)))
        assert len(ways) < 2000
    assert len({tuple(way) for way in ways}) >= 4


@pytest.mark.parametrize(
    "at",
    [(0.44, -0.09, 0.12), (0.42, 0.03, 0.16), (0.55, -0.10, 0.08), (0.30, 0.15, 0.08)],
)
def test_what_falls_slides_to_the_floor_where_a_hand_gets_at_it(at: tuple[float, ...]) -> None:
    stations = build_stations("tool_use", 1, 1)
    twin, model = stations.twin, stations.twin.model
    stations.set_initial_state(0, stations.task.sample(np.random.default_rng(0)))
    twin.eq_active[0, model.equality("reset_cutter").id] = 0.0
    cutter = model.joint("task_cutter").qposadr[0]
    twin.qpos[0, cutter : cutter + 7] = (*at, HALF, 0.0, HALF, 0.0)
    twin.advance(0, 1500)
    x, y, z = twin.qpos[0, cutter : cutter + 3]
    assert z < 0.03
    assert 0.20 < x < 0.60
    assert -0.41 < y < 0.13


@pytest.mark.parametrize("at", [(0.30, 0.09, 0.10), (0.55, -0.10, 0.10)])  # to the left; forward
def test_what_is_flung_at_a_panel_does_not_stick_in_it(at: tuple[float, ...]) -> None:
    stations = build_stations("tool_use", 1, 1)
    twin, model = stations.twin, stations.twin.model
    cutter, speed = model.joint("task_cutter").qposadr[0], model.joint("task_cutter").dofadr[0]
    rng = np.random.default_rng(0)
    for _ in range(5):
        stations.set_initial_state(0, stations.task.sample(np.random.default_rng(0)))
        twin.eq_active[0, model.equality("reset_cutter").id] = 0.0
        turn = Rotation.random(random_state=rng).as_quat(scalar_first=True)
        twin.qpos[0, cutter : cutter + 7] = (*at, *turn)
        twin.qvel[0, speed : speed + 3] = (0.0, 2.0, 0.0) if at[0] < 0.4 else (2.0, 0.0, 0.0)
        twin.advance(0, 750)
        _, data = twin.simulation(0)
        x, y, z = twin.qpos[0, cutter : cutter + 3]
        assert x < 0.64
        assert y < 0.18
        assert z > 0.0
        assert data.contact.dist.min() > -0.002
