"""Physical resets: skills, posture, look; tries; and a station that cannot be helped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from enpire.environment import Job, Readings, ResetMode, Restorer, Stations
from enpire.environment.restoring import TRIES, Restoring
from enpire.errors import PackError, ResetFailed
from enpire.types import Episode, Float32Array, FloatArray, Outcome, Predicate, Purpose

from .reach import Reach, Restored, Speed, posture, reach_stations


def job(seed: int, speed: float = 1.0) -> Job:
    return Job(seed, Purpose.COLLECTION, Speed(speed), "p")


def episode(stations: Stations, seed: int, row: int = 0) -> Episode:
    stations.begin(row, job(seed))
    done: list[Episode] = []
    while not done:
        done = stations.tick()
    stations.wait()
    return done[0]


def physical(task: Restored | None = None, stations: int = 1) -> Stations:
    return reach_stations(stations, 1, task or Restored(), ResetMode.PHYSICAL)


def test_the_first_scene_is_placed_and_the_next_put_back() -> None:
    stations = physical()
    time = stations.twin.bind("time")
    assert episode(stations, 3).success
    before = float(time[0].item())
    stations.begin(0, job(4))
    assert stations.restoring(0)
    assert float(time[0].item()) == before, "the twin goes on from where it was"
    while not stations.tick():
        pass
    assert isinstance(stations.task, Restored)
    assert len(stations.task.targets) == 1


def test_a_seed_asks_for_the_same_start_by_either_kind_of_reset() -> None:
    placed = episode(reach_stations(task=Restored()), 4)
    stations = physical()
    episode(stations, 3)
    put_back = episode(stations, 4)
    assert put_back.success
    np.testing.assert_allclose(put_back.observations[0], placed.observations[0], atol=0.02)
    assert put_back.times.reset > placed.times.reset
    assert episode(physical(), 4).times.reset == placed.times.reset


def test_the_way_back_keeps_speeds_and_never_jumps() -> None:
    stations = physical()
    episode(stations, 3)
    limits = stations.twin.scene.robot.limits
    stations.begin(0, job(4, 0.0))
    row = np.array([0])
    joints = stations.control.measured(row)[0, 0]
    hand = stations.twin.site_xpos[0, stations.control.arms[0].grasp].copy()
    moved = 0.0
    while stations.phase(0).value == "reset":
        stations.tick()
        stations.wait()
        now = stations.control.measured(row)[0, 0]
        at = stations.twin.site_xpos[0, stations.control.arms[0].grasp].copy()
        assert (abs(now - joints) / stations.period < 0.7 * np.array(limits.joint_speed)).all()
        assert np.linalg.norm(at - hand) / stations.period < 0.7 * limits.cartesian_speed
        moved += float(np.linalg.norm(at - hand))
        joints, hand = now, at
    assert moved > 0.02
    target = stations.task.targets[0]  # type: ignore[attr-defined]
    np.testing.assert_allclose(joints, posture(target)[0][0], atol=0.005)
    np.testing.assert_array_equal(stations.control.setpoints[0], posture(target)[0])


def test_a_look_that_fails_is_another_try_for_the_same_start() -> None:
    task = Restored(failing=TRIES - 1)
    stations = physical(task)
    episode(stations, 3)
    assert episode(stations, 4).success
    assert len(task.targets) == TRIES
    assert len(set(task.targets)) == 1
    assert stations.idle == [0]


def test_a_station_that_cannot_be_put_back_is_set_aside_and_the_others_go_on() -> None:
    task = Restored()
    stations = physical(task, 2)
    episode(stations, 3)
    task.failing = TRIES
    lost = episode(stations, 4)
    assert lost.verdict.outcome is Outcome.INVALID
    assert lost.verdict.reason == f"reset failed {TRIES} times: tidy 0.0  (needs 0.5)"
    assert lost.times.reset > 1.0
    assert len(lost) == 0
    assert stations.idle == [1]
    assert stations.aside == {0: lost.verdict.reason}
    assert episode(stations, 5, row=1).success
    stations.recover(0)
    assert stations.idle == [0, 1]
    stations.begin(0, job(6))
    assert not stations.restoring(0), "somebody has set it up"


def test_a_lost_station_is_set_aside_at_the_tick_that_says_so() -> None:
    """Though stations that run ahead know it earlier."""

    def ticks(ahead: int) -> tuple[int, list[int]]:
        task = Restored()
        stations = physical(task)
        episode(stations, 3)
        task.failing = TRIES
        stations.begin(0, job(4))
        count, done = 0, []
        while not done:
            assert not stations.aside
            done = stations.tick(ahead)
            count += 1
        return count, sorted(stations.aside)

    assert ticks(8) == ticks(0)


def test_diverged_physics_leaves_nothing_to_put_back() -> None:
    stations = physical()
    episode(stations, 3)
    stations.begin(0, job(4))
    stations.tick()
    stations.wait()
    stations.twin.qvel[0] = np.nan
    while not stations.tick():
        pass
    assert not stations.aside
    stations.begin(0, job(5))
    assert not stations.restoring(0)
    while not (done := stations.tick()):
        pass
    assert done[0].success


class Stuck(Restored):
    """Its skill never ends."""

    restore_limit = 2.0

    def restorer(self, rng: np.random.Generator, target: FloatArray) -> Restorer:
        skill = super().restorer(rng, target)
        skill.act = lambda readings: np.zeros(7, np.float32)  # type: ignore[method-assign]
        return skill


def test_a_skill_that_does_not_end_is_ended() -> None:
    stations = physical(Stuck())
    episode(stations, 3)
    lost = episode(stations, 4)
    assert "skills not done after 2 s" in lost.verdict.reason
    assert lost.times.reset == pytest.approx(TRIES * (Stuck.restore_limit + stations.period))


def readings(joints: FloatArray, force: float = 0.0) -> Readings:
    values = {name: np.zeros((1, 1, 3)) for name in Readings.__slots__}
    values["joints"] = joints[None]
    values["wrist_force"] = np.array([[[force, 0.0, 0.0]]])
    return Readings(**values)


class Look(Restorer):
    """Nothing to do but to look."""

    posture = (np.zeros((1, 5)), np.zeros(1))

    def clear(self, readings: Readings) -> Float32Array | None:
        return None

    def act(self, readings: Readings) -> Float32Array | None:
        return None

    def in_place(self, readings: Sequence[Readings]) -> tuple[Predicate, ...]:
        return (Predicate("enough", len(readings), 10, ""),)


def eased() -> Restoring:
    """A try that has given the hands time to yield, whatever they felt."""
    restoring = Restoring(Reach(), Look(), 0.04, lambda: None)
    for _ in range(6):
        assert not restoring.homing
        assert restoring.next(readings(np.zeros((1, 5)), force=50.0)) is None
        assert not restoring.looked()
    return restoring


def test_a_wrist_that_feels_too_much_ends_the_try() -> None:
    restoring = eased()
    assert restoring.next(readings(np.zeros((1, 5)), force=39.0)) is None
    with pytest.raises(ResetFailed, match="wrist force 41 N above 40 N"):
        restoring.next(readings(np.zeros((1, 5)), force=41.0))


def test_the_look_begins_when_the_arms_are_there_and_takes_its_time() -> None:
    restoring = eased()
    for _ in range(20):
        assert restoring.next(readings(np.full((1, 5), 0.1))) is None
        assert not restoring.looked()
    for i in range(10):
        restoring.next(readings(np.full((1, 5), 0.001)))
        assert restoring.looked() == (i == 9)


def test_fixtures_are_moved_once_hands_are_clear_and_before_skills() -> None:
    happened: list[str] = []

    class Notes(Look):
        def clear(self, readings: Readings) -> Float32Array | None:
            happened.append("clear")
            return None if happened.count("clear") == 3 else np.zeros(7, np.float32)

        def act(self, readings: Readings) -> Float32Array | None:
            happened.append("act")
            return None

    restoring = Restoring(Reach(), Notes(), 0.04, lambda: happened.append("shift"))
    for _ in range(20):
        restoring.next(readings(np.zeros((1, 5))))
    assert happened == ["clear", "clear", "clear", "shift", "act"]


def test_skills_may_have_actions_of_their_own() -> None:
    task = Restored()
    arm = task.actions.arms[0]
    slower = replace(arm, translation=tuple(step / 8 for step in arm.translation))
    own = Restored()
    own.skills = replace(own.actions, arms=(slower,))  # type: ignore[misc]
    ways = []
    for stations in (physical(task), physical(own)):
        episode(stations, 3)
        stations.task.restorer = lambda rng, target: Forward()  # type: ignore[method-assign]
        stations.begin(0, job(4))
        hand = stations.twin.site_xpos[0, stations.control.arms[0].grasp]
        before = hand.copy()
        for _ in range(10):
            stations.tick()
        stations.wait()
        ways.append(float(np.linalg.norm(hand - before)))
        stations.abort("seen")
    assert ways[0] > 2 * ways[1] > 0.0


class Forward(Look):
    """Clears by going along x, on and on."""

    def clear(self, readings: Readings) -> Float32Array | None:
        return np.array([1, 0, 0, 0, 0, 0, 0], np.float32)


def test_an_arm_that_leaves_its_posture_is_not_in_place() -> None:
    restoring = eased()
    for i in range(10):
        restoring.next(readings(np.full((1, 5), 0.001 if i < 9 else 0.1)))
    with pytest.raises(ResetFailed, match=r"posture 5\.7 deg"):
        restoring.looked()


class Forgot(Reach):
    target_names = ("goal_x",)


def test_targets_without_a_restorer_are_told() -> None:
    stations = reach_stations(task=Forgot(), reset=ResetMode.PHYSICAL)
    episode(stations, 3)
    with pytest.raises(PackError, match="no restorer"):
        stations.begin(0, job(4))
