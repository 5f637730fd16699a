"""Physical resets of the zip tie: the fixture presents it, the hands bring it round the bundle."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from enpire.certification.examination import Counts, TaskExamination
from enpire.environment import Demonstrations, Job, ResetMode, Stations, build_stations
from enpire.types import Episode, Float32Array, FloatArray, Purpose

from .test_physics import ROW, fastened, module, task, tip
from .test_verify import readings

pytestmark = pytest.mark.medium

fixture = module("fixture")
PAWL, LINES = fixture.PAWL, fixture.LINES


class Leaves:
    """Makes a mess: opens hands and moves them, or does nothing; notes the fixture meanwhile."""

    def __init__(self, stations: Stations, action: Float32Array) -> None:
        self.stations, self.action = stations, action
        self.fixture: list[FloatArray] = []

    def begin(self, row: int, rng: np.random.Generator, exploration: float) -> None:
        pass

    def act(self, rows: object, observations: object, readings: object) -> Float32Array:
        self.fixture.append(at_work(self.stations))
        return self.action[None]


def at_work(stations: Stations) -> FloatArray:
    """What the fixture does: the lines' stiffness and damping, and all applied torques."""
    twin = stations.twin
    parts = [twin.expand(f"tendon_{name}")[0] for name in ("stiffness", "damping")]
    return np.concatenate([*parts, twin.bind("qfrc_applied")[0]])


def dropped(sideways: float = 0.0) -> Float32Array:
    """Both hands let go; and move apart."""
    action = np.zeros(14, dtype=np.float32)
    action[[6, 13]] = 0.4
    action[[1, 8]] = sideways, -sideways
    return action


def put_back(action: Float32Array, seed: int = 6) -> tuple[Stations, Leaves, Episode]:
    """Stations at the end of an episode that began with a reset from a mess."""
    stations = build_stations("zip_tie", 1, 1, ResetMode.PHYSICAL)
    stations.execute_periods = 20
    leaves = Leaves(stations, action)
    still = np.zeros(14, dtype=np.float32)
    still[[6, 13]] = -1.0
    done: list[Episode] = []
    for controller in (leaves, Leaves(stations, still)):
        stations.begin(0, Job(seed, Purpose.COLLECTION, controller, "mess"))
        while stations.busy:
            done += stations.tick()
        stations.wait()
        seed += 1
    return stations, controller, done[-1]


@pytest.mark.parametrize("sideways", [0.0, 1.0])
def test_a_tie_on_the_bench_is_brought_round_the_bundle(sideways: float) -> None:
    stations, leaves, episode = put_back(dropped(sideways))
    assert episode.times.execute > 0, episode.verdict.reason
    assert stations.task.target_names
    at = stations.task.observation_names.index("head_x")
    head = episode.observations[0, at : at + 3]
    (rng, *_) = np.random.default_rng(7).spawn(4)
    wanted = stations.task.sample(rng)
    np.testing.assert_allclose(0.01 * head, wanted[:3], atol=0.006)
    assert -45 < tip(stations)[0] < -6
    assert abs(tip(stations)[1]) < 10
    assert not np.any(leaves.fixture), "nothing of the fixture is at work while a policy acts"


def test_a_tie_that_was_fastened_is_taken_apart() -> None:
    stations = build_stations("zip_tie", 1, 1, ResetMode.PHYSICAL)
    done: list[Episode] = []
    for seed in (0, 1):
        job = Job(seed, Purpose.COLLECTION, Demonstrations(stations.task), "good")
        stations.begin(0, job)
        worked = False
        while stations.busy:
            done += stations.tick()
            stations.wait()
            worked |= bool(at_work(stations).any())
    assert worked
    assert [e.success for e in done] == [True, True], done[-1].verdict.reason


def test_the_lines_take_no_tail_out_that_the_pawl_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    """They pull with less than what a fastened tie has to bear; the lifter is what releases it.

    Wound in gently: the full pace may throw the light strap past the pawl, as a force at once does.
    """
    monkeypatch.setattr(fixture, "SPEED", 0.05)
    held, released = fastened(), fastened()
    away = np.zeros((1, 14), dtype=np.float32)
    away[0, [6, 13]] = 0.4
    for stations, on in ((held, (LINES,)), (released, (PAWL, LINES))):
        stations.control.apply(ROW, away, stations.control.jacobian(ROW), np.zeros((1, 2, 3)))
        assert tip(stations)[0] > 20
        for _ in range(60):
            stations.task.operate(stations.twin, 0, on)
            stations.twin.step(ROW, stations.substeps)
    assert tip(held)[0] > 15
    assert tip(released)[0] < 0


def test_a_tie_that_is_not_presented_is_dropped_and_drawn_up_again() -> None:
    target = task().sample(np.random.default_rng(1))[: len(task().target_names)]
    skills = task().restorer(np.random.default_rng(2), target)
    seen = readings()  # at the start, fastened
    while skills.clear(seen) is not None:
        assert skills.fixture == (PAWL,)
    on = []
    for _ in range(2 * module("restorer").WIND):
        assert skills.act(seen) is not None
        on.append(skills.fixture)
    changes = [on[0], *(b for a, b in pairwise(on) if a != b)]
    assert changes == [(PAWL, LINES), (PAWL,), (PAWL, LINES)]


def test_a_hand_that_has_sunk_is_lifted_at_a_joints_stop_too() -> None:
    stations = build_stations("zip_tie", 1, 1)
    stations.set_initial_state(0, task().sample(np.random.default_rng(1)))
    restorer, twin, control = module("restorer"), stations.twin, stations.control
    joints = control.measured(ROW)[0]
    joints[1] = np.radians((39, 108, 15, 90, -2, 104))  # the wrist is at its stop
    control.set(0, joints, np.full(2, 0.04))
    twin.step(ROW, 25 * stations.substeps)
    stations.sensors.begin(0, np.random.default_rng(0))
    skills = task().restorer(np.random.default_rng(2), np.zeros(len(task().target_names)))
    seen, jacobian = stations.sensors.read(ROW, [0])
    sunk = seen.hand_position[0]
    assert sunk[1, 2] < 0.11
    while (action := skills.clear(seen)) is not None:
        control.apply(ROW, action[None], jacobian, np.zeros((1, 2, 3)))
        twin.step(ROW, stations.substeps)
        seen, jacobian = stations.sensors.read(ROW, [0])
    risen = seen.hand_position[0] - sunk
    assert seen.hand_position[0, 1, 2] > restorer.RISEN
    assert abs(risen[0, 2]) < 0.005, "the other one stays as high as it was"
    assert risen[1, 1] < -0.03, "away from the bundle"


def test_hands_rise_no_longer_than_they_have_to() -> None:
    restorer = module("restorer")
    seen, high = readings(pull=0.0), np.full((1, 2, 3), 0.3)
    for sunk, periods in ((high, 0), (high - (0, 0, 0.2), restorer.RISE + 1)):
        skills = task().restorer(np.random.default_rng(2), np.zeros(len(task().target_names)))
        here = replace(seen, hand_position=sunk)
        took = 0
        while skills.clear(here) is not None:
            took += 1
        assert took == restorer.FREE + restorer.SPREAD + 1 + periods


def test_a_finger_that_catches_behind_the_bundle_is_drawn_out_along_itself() -> None:
    left, free, caught = slice(0, 3), np.zeros(3), np.array([0.0, -8.0, 0.0])
    turned = np.array([[0.0, 0.0, 0.8], [0.0, 1.0, 0.0], [-0.8, 0.0, 0.0]]) + np.diag([0.6, 0, 0.6])
    fingers = turned[:, 2]
    hands, frames = np.array([[[0.4, -0.04, 0.18], [0.42, -0.15, 0.2]]]), np.stack([turned] * 2)
    skills = task().restorer(np.random.default_rng(2), np.zeros(len(task().target_names)))
    actions = []
    for force in (*[free] * 12, free, caught):
        seen = replace(
            readings(),
            hand_position=hands,
            hand_rotation=frames[None],
            wrist_force=np.array([[force, free]]),
            gripper=np.full((1, 2), module("restorer").LOOSE),
        )
        actions.append(skills.clear(seen))
    sideways, back = actions[-2], actions[-1]
    assert 0.1 < np.abs(sideways[left]).max() < 0.3, "gently, so near to the bundle"
    assert sideways[1] > 0
    np.testing.assert_allclose(back[left] / np.linalg.norm(back[left]), -fingers, atol=1e-6)
    assert back[6] > sideways[6], "and the hand opens"


@pytest.mark.slow  # few of the same in every lane: `physical` in tests/packs/test_every_pack.py
def test_what_policies_leave_is_put_back_and_starts_are_those_of_a_fast_reset() -> None:
    def build(count: int, threads: int) -> Stations:
        stations = build_stations("zip_tie", count, threads)
        stations.execute_periods = 100
        return stations

    rows = {row.check: row for row in TaskExamination(build, Counts.all(12)).rows(["physical"])}
    assert rows["physical reset"].passed is True, rows["physical reset"].detail
    assert rows["physical reset"].trials == 12
    assert rows["same starts"].passed is True, rows["same starts"].detail
