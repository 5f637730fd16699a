"""Physical resets: skills, posture, look; tries; and a station that cannot be helped."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from enpire.environment import (
    ActionSpec,
    ArmAction,
    Job,
    Readings,
    ResetMode,
    Restorer,
    Stations,
)
from enpire.environment.control import kernels
from enpire.environment.resets.physical_reset import (
    AT,
    TRIES,
    TRIM,
    TRIM_LIMIT,
    PhysicalReset,
    within_stretch,
)
from enpire.environment.stations.episode_state import StationPhase
from enpire.errors import PackError, ResetFailed
from enpire.twin import Twin
from enpire.types import Episode, Float32Array, FloatArray, Outcome, Predicate, Purpose
from tests.environment.reach import Reach, Restored, Speed, posture, reach_stations


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
    # Joints come within 2 mrad of their posture, and then sag as they do after a fast reset.
    np.testing.assert_allclose(put_back.observations[0], placed.observations[0], atol=0.05)
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
    setpoints = stations.control.setpoints[0]
    np.testing.assert_array_equal(setpoints, posture(target)[0])
    np.testing.assert_allclose(joints, posture(target)[0][0], atol=AT)


def test_setpoints_make_up_for_the_arms_weight_before_the_hands_rest() -> None:
    restoring = eased()
    assert restoring.next(readings(np.full((1, 5), 0.02))) is None
    assert (restoring.homing, restoring.arrived) == (True, False)
    np.testing.assert_allclose(restoring.posture[0], -TRIM * 0.02)
    restoring.next(readings(np.full((1, 5), 0.02)))
    np.testing.assert_allclose(restoring.posture[0], -2 * TRIM * 0.02)
    restoring.next(readings(np.full((1, 5), 0.001)))
    assert (restoring.homing, restoring.arrived) == (False, True)
    restoring.next(readings(np.full((1, 5), 0.01)))
    assert (restoring.homing, restoring.arrived) == (False, False), "they sag, and rest"


def test_setpoints_of_hands_that_bear_a_load_stay_ahead_of_joints_at_their_posture() -> None:
    class Bearing(Look):
        bearing = np.full((1, 5), 0.05)

    restoring = PhysicalReset(Reach(), Bearing(), 0.04)
    for _ in range(6):
        restoring.next(readings(np.zeros((1, 5))))
    np.testing.assert_allclose(restoring.posture[0], 0.05)
    restoring.next(readings(np.full((1, 5), 0.02)))
    np.testing.assert_allclose(restoring.posture[0], 0.05 - TRIM * 0.02)
    restoring.next(readings(np.full((1, 5), 0.001)))
    assert restoring.arrived, "joints are measured at the posture, and not at their setpoints"
    np.testing.assert_allclose(restoring.start(np.zeros((1, 5))), 0.05)


def test_a_policy_begins_with_the_setpoints_of_a_fast_reset_but_of_a_joint_that_is_held() -> None:
    measured = np.array([[0.001, -0.0015, 0.0, 0.02, 0.001]])
    np.testing.assert_array_equal(eased().start(measured), [[0.0, 0.0, 0.0, 0.02, 0.0]])


@pytest.mark.parametrize("period", [0.02, 0.04, 0.08])
def test_setpoints_of_a_joint_that_is_held_go_as_far_in_a_time_at_any_control_rate(
    period: float,
) -> None:
    restoring = PhysicalReset(Reach(), Look(), period)
    while not restoring.homing:
        restoring.next(readings(np.full((1, 5), 0.02)))
    for _ in range(round(0.08 / period) - 1):
        restoring.next(readings(0.02 + restoring.posture[0]))  # joints follow their setpoints
    np.testing.assert_allclose(0.02 + restoring.posture[0], 0.02 * (1 - TRIM) ** 2)


def test_a_joint_that_is_held_off_its_posture_is_left_to_the_look() -> None:
    restoring = eased()
    periods = 0
    while not restoring.arrived:
        restoring.next(readings(np.full((1, 5), 0.02)))
        periods += 1
    assert periods * 0.04 == pytest.approx(TRIM_LIMIT, abs=0.05)


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
    assert lost.verdict.reason == f"reset failed {TRIES} times: tidy 0 (needs 0.5)"
    assert lost.times.reset > 1.0
    assert len(lost) == 0
    assert stations.idle == [1]
    assert stations.aside == {0: lost.verdict.reason}
    assert episode(stations, 5, row=1).success
    stations.recover(0)
    assert stations.idle == [0, 1]
    stations.begin(0, job(6))
    assert not stations.restoring(0), "somebody has set it up"


class Fed(Restored):
    """Its skills ask for a feeder, which may have no way."""

    def __init__(self, failing: int = 0) -> None:
        super().__init__(failing)
        self.blocked = False
        self.on: list[tuple[str, ...]] = []

    def restorer(self, rng: np.random.Generator, target: FloatArray) -> Restorer:
        made = super().restorer(rng, target)
        made.fixture = ("feeder",)
        return made

    def operate(self, twin: Twin, row: int, on: tuple[str, ...]) -> None:
        self.on.append(on)
        if on and self.blocked:
            raise ResetFailed("a hand is in the feeder's way")


def test_a_fixture_is_on_while_skills_say_so_and_off_afterwards() -> None:
    task = Fed()
    stations = physical(task)
    episode(stations, 3)
    assert task.on == []
    assert episode(stations, 4).success
    assert set(task.on[:-1]) == {("feeder",)}
    assert task.on[-1] == ()
    task.blocked = True
    lost = episode(stations, 5)
    assert lost.verdict.reason == f"reset failed {TRIES} times: a hand is in the feeder's way"
    assert task.on[-1] == ()
    task.blocked = False
    stations.recover(0)
    episode(stations, 6)
    stations.begin(0, job(7))
    for _ in range(5):
        stations.tick()
    assert task.on[-1] == ("feeder",)
    stations.abort("enough")
    assert task.on[-1] == ()


class Reaches(Restored):
    """A reset's hand may move twice as far in a period as a policy's."""

    reset_actions = ActionSpec((replace(Restored.actions.arms[0], translation=(0.016,) * 3),))


def test_skills_have_actions_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    stations = physical(Reaches())
    used: dict[StationPhase, set[float]] = defaultdict(set)
    apply = kernels.move

    def watched(*given: Any) -> None:
        _, scale, *_ = given[-1]
        used[stations.phase(0)].add(float(scale[0, 0]))
        apply(*given)

    monkeypatch.setattr(kernels, "move", watched)
    episode(stations, 3)
    episode(stations, 4)
    assert used[StationPhase.RESET] == {0.016}
    assert used[StationPhase.EXECUTE] == {0.008}


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


def test_no_setpoint_of_a_skill_goes_too_far_ahead_of_its_hand() -> None:
    """A hand that is held back is stretched no further, and one that is too far comes back."""
    arm = ArmAction((0.002,) * 3, (0.025,) * 3)
    spec = ActionSpec((arm, arm))
    action = np.array([1, 0, 0, 0.5, 0, 0, 1.0] * 2, dtype=np.float32)
    lead = np.array([[0.017, 0.0, 0.0], [0.0, -0.030, 0.0]])
    seen = replace(readings(np.zeros((2, 6))), lead=lead[None])
    moves = within_stretch(action, seen, spec, 0.018).reshape(2, 7)
    np.testing.assert_allclose(moves[0], [0.5, 0, 0, 0.5, 0, 0, 1], atol=1e-6)
    assert moves[1, 1] == 1.0, "back as fast as it may"
    np.testing.assert_array_equal(moves[:, 3:], action.reshape(2, 7)[:, 3:])
    free = replace(seen, lead=np.zeros((1, 2, 3)))
    np.testing.assert_array_equal(within_stretch(action, free, spec, 0.018), action)
    np.testing.assert_array_equal(within_stretch(action, seen, spec, np.inf), action)


def test_a_hand_that_presses_when_a_try_begins_gives_way() -> None:
    restoring = PhysicalReset(Reach(), Look(), 0.04)
    restoring.next(readings(np.zeros((1, 5)), force=19.0))
    assert not restoring.pressed.any()
    restoring.next(readings(np.zeros((1, 5)), force=21.0))
    assert restoring.pressed.all(), "more than half of the limit"
    for _ in range(5):
        restoring.next(readings(np.zeros((1, 5)), force=21.0))
    assert not restoring.pressed.any(), "the skills' own doing"


class Look(Restorer):
    """Nothing to do but to look."""

    posture = (np.zeros((1, 5)), np.zeros(1))

    def clear(self, readings: Readings) -> Float32Array | None:
        return None

    def act(self, readings: Readings) -> Float32Array | None:
        return None

    def in_place(self, readings: Sequence[Readings]) -> tuple[Predicate, ...]:
        return (Predicate("enough", len(readings), 10, ""),)


def eased() -> PhysicalReset:
    """A try that has given the hands time to yield, whatever they felt."""
    restoring = PhysicalReset(Reach(), Look(), 0.04)
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
    for i in range(11):
        restoring.next(readings(np.full((1, 5), 0.001)))
        assert restoring.arrived == (i == 0)
        assert restoring.looked() == (i == 10)


def test_an_arm_that_leaves_its_posture_is_not_in_place() -> None:
    restoring = eased()
    for i in range(11):
        restoring.next(readings(np.full((1, 5), 0.001 if i < 10 else 0.1)))
    with pytest.raises(ResetFailed, match=r"posture 5\.73 deg"):
        restoring.looked()


class Forgot(Reach):
    target_names = ("goal_x",)


def test_targets_without_a_restorer_are_told() -> None:
    stations = reach_stations(task=Forgot(), reset=ResetMode.PHYSICAL)
    episode(stations, 3)
    with pytest.raises(PackError, match="no restorer"):
        stations.begin(0, job(4))
