"""An examination passes a sound task, and every check has a task that trips it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np
import pytest

from enpire.certification import hostile, verifier
from enpire.certification.examination import CHECKS, Counts, TaskExamination
from enpire.certification.limits import LimitWatcher
from enpire.certification.row import CheckRow
from enpire.environment import (
    CartesianControl,
    Demonstrator,
    Evidence,
    Readings,
    ResetMode,
    Restorer,
    Stations,
    Task,
)
from enpire.errors import PackError
from enpire.twin import Twin
from enpire.types import Float32Array, FloatArray, Outcome, Predicate, Verdict
from tests.environment.reach import NEAR, Reach, Restored, reach_stations
from tests.graphics import verifier_cameras_of


class Sound(Reach):
    """Reach with its truth."""

    def ground_truth(self, twin: Twin, row: int) -> tuple[Predicate, ...]:
        goal = twin.site_xpos[row, twin.model.site("task_goal").id]
        gap = abs(goal - twin.site_xpos[row, twin.scene.arms[0].grasp])[0]
        return (Predicate("near", 1e3 * float(gap), 1e3 * NEAR, "mm", at_least=False),)


def examined(task: Callable[[], Task], check: str, number: int = 6) -> dict[str, CheckRow]:
    """Rows of one check, by name."""

    def build(stations: int, threads: int) -> Stations:
        return reach_stations(stations, threads or 1, task())

    return {row.check: row for row in TaskExamination(build, Counts.all(number)).rows([check])}


@pytest.mark.parametrize("check", sorted(set(CHECKS) - {"random"}))
def test_a_sound_task_passes(check: str) -> None:
    rows = examined(Sound, check)
    assert rows
    assert all(row.passed is not False for row in rows.values()), rows
    assert all(row.trials > 0 for row in rows.values() if row.passed is not None), rows


class Helpless(Sound):
    def demonstrator(self, rng: np.random.Generator) -> Demonstrator:
        return Sits()


class Sits(Demonstrator):
    def act(self, readings: Readings) -> Float32Array:
        return np.zeros(7, dtype=np.float32)


def test_a_demonstrator_that_fails_is_told_by_predicates_and_with_a_seed() -> None:
    row = examined(Helpless, "demonstrator")["demonstrator"]
    assert (row.passed, row.hits, row.trials) == (False, 0, 6)
    assert row.detail.startswith("near failed in 6; seed ")


class Kind(Sound):
    """Calls anything a success."""

    def verify(self, evidence: Evidence) -> Verdict:
        return Verdict(Outcome.SUCCESS)


@pytest.mark.parametrize(
    ("check", "name"), [("nothing", "nothing"), ("random", "random"), ("reset", "after reset")]
)
def test_success_for_nothing_is_found(check: str, name: str) -> None:
    row = examined(Kind, check)[name]
    assert (row.passed, row.hits, row.trials) == (False, 6, 6)


def test_a_kind_verifier_is_found() -> None:
    rows = examined(Kind, "verifier")
    assert rows["verifier agrees"].passed is False
    assert rows["false success"].passed is False
    assert rows["false success"].hits == rows["false success"].trials > 0
    assert "truly near" in rows["false success"].detail


class Strict(Sound):
    """Calls nothing a success but what the reset would have to have done."""

    def verify(self, evidence: Evidence) -> Verdict:
        return Verdict(Outcome.FAILURE, reason="never")


def test_a_verifier_that_misses_successes_is_found() -> None:
    def build(stations: int, threads: int) -> Stations:
        return reach_stations(stations, 1, Strict())

    examination = TaskExamination(build, Counts.all(6))
    (agrees, false, _) = examination.rows(["verifier"])
    assert agrees.passed is False
    assert false.hits == 0
    matrix = examination.matrices["mixed"]
    assert matrix.said_failure_was_success >= 5
    assert matrix.said_success_was_success == 0


def test_a_task_that_knows_no_truth_is_not_certified() -> None:
    (row,) = examined(Reach, "verifier").values()
    assert row.passed is False
    assert "truth" in row.detail


def test_near_misses_are_counted_apart() -> None:
    rows = examined(Sound, "verifier", number=30)
    near = rows["near misses"]
    assert near.passed is None
    assert 0 < near.trials <= 30


def test_near_misses_lie_on_both_sides_of_the_threshold() -> None:
    def build(stations: int, threads: int) -> Stations:
        return reach_stations(stations, threads or 1, Sound())

    examination = TaskExamination(build, Counts.all(36))
    examination.rows(["verifier"])
    _, made = examination.audited
    assert len(made) == 36
    was = [each.was for each in made]
    assert 6 <= sum(was) <= 30, "stops are neither all too late nor all too early"
    near = examination.matrices["near"]
    assert near.failures
    assert near.successes


class Invalid(Sound):
    """Its reset never comes to an end."""

    def settle(self, twin: Twin, control: CartesianControl, row: int, elapsed: float) -> float:
        return 1.0

    settle_limit = 0.04


def test_episodes_that_nobody_judged_prove_nothing() -> None:
    row = examined(Invalid, "nothing")["nothing"]
    assert row.passed is False
    assert "not settled" in row.detail


class Elsewhere(Sound):
    """Starts a little differently on every station."""

    def set_initial_state(
        self, twin: Twin, control: CartesianControl, row: int, variation: FloatArray
    ) -> None:
        super().set_initial_state(twin, control, row, variation + 1e-9 * row)


class Moody(Sound):
    """Judges by how often it was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = count()

    def verify(self, evidence: Evidence) -> Verdict:
        return replace(super().verify(evidence), score=1.0 / (1 + next(self.asked)))


def test_a_seed_that_does_not_fix_the_episode_is_found() -> None:
    rows = examined(Elsewhere, "repeat")
    assert rows["same start"].passed is False
    assert "on 8 stations" in rows["same start"].detail
    rows = examined(Moody, "repeat")
    assert rows["same start"].passed is True
    assert rows["same verdict"].passed is False


# Limits


def watched(**limits: Any) -> dict[str, CheckRow]:
    """Rows of the limits, as if the robot had those limits and its control knew nothing of them."""

    def build(stations: int, threads: int) -> Stations:
        made = reach_stations(stations, 1, Sound())
        scene = made.twin.scene
        robot = replace(scene.robot, limits=replace(scene.robot.limits, **limits))
        made.twin.scene = replace(scene, robot=robot)
        return made

    return {row.check: row for row in TaskExamination(build, Counts.all(4)).rows(["limits"])}


@pytest.mark.parametrize(
    ("name", "limits", "words"),
    [
        ("joint speed", {"joint_speed": (0.01,) * 5}, ["rad/s in execute, seed", "joint"]),
        ("workspace", {"workspace_high": (0.2, 0.2, 0.2)}, ["hand", "mm beyond"]),
        ("hand speed", {"cartesian_speed": 0.02}, ["m/s in execute"]),
    ],
)
def test_a_limit_that_is_exceeded_is_told(
    name: str, limits: dict[str, Any], words: list[str]
) -> None:
    rows = watched(**limits)
    assert rows[name].passed is False
    assert rows[name].hits > 0
    assert all(word in rows[name].detail for word in words), rows[name].detail
    assert [row.check for row in rows.values() if row.passed is False] == [name]


class Bent(Sound):
    """Places a joint beyond its stop."""

    def set_initial_state(
        self, twin: Twin, control: CartesianControl, row: int, variation: FloatArray
    ) -> None:
        super().set_initial_state(twin, control, row, variation)
        joint = control.arms[0].joints[4]
        twin.qpos[row, control.arms[0].qpos[4]] = twin.model.jnt_range[joint, 1] + 0.5


def test_a_joint_beyond_its_range_is_told() -> None:
    row = examined(Bent, "limits")["joint range"]
    assert row.passed is False
    assert "arm joint5" in row.detail
    assert "in reset" in row.detail


class Weak(Sound):
    force_limit = 0.2


def test_a_force_beyond_the_limit_is_told() -> None:
    rows = examined(Weak, "limits")
    assert rows["force"].passed is False
    assert "arm wrist" in rows["force"].detail


def test_a_second_try_at_a_reset_is_no_motion() -> None:
    stations = reach_stations(task=Sound())
    limits = LimitWatcher(stations)
    controller = TaskExamination(lambda n, t: stations, Counts.all(1)).demonstrations
    assert controller
    for goal in (0.02, 0.06):  # the second is placed before the first episode has ended
        stations.set_initial_state(0, np.array([goal]))
        limits._seed[0] = 1
        limits._felt.setdefault(0, [])
        limits.look(stations, 0)
    assert limits.hand_speed.looks == 0


# Cameras


class Gullible(Sound):
    """Calls whatever it sees a success."""

    def verify_views(self, evidence: Evidence) -> Verdict:
        return Verdict(Outcome.SUCCESS)


@pytest.mark.medium
def test_cameras_are_audited_over_the_same_episodes_as_sensors(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stations = reach_stations(8, 1, Gullible())
    verifier_cameras_of(stations).close()
    monkeypatch.setattr(hostile, "scenes", lambda *_: [hostile.HostileScene("as it is")])
    examination = TaskExamination(lambda n, t: stations, Counts.all(8))
    rows = {row.check: row for row in examination.rows(["verifier", "cameras"])}
    seen = [rows[name] for name in verifier.CAMERAS]
    sensed = [rows[name] for name in verifier.SENSORS]
    assert [row.trials for row in seen] == [row.trials for row in sensed]
    assert [row.passed for row in sensed] == [True, True, None]
    assert [row.passed for row in seen] == [False, False, None]
    assert seen[1].hits == seen[1].trials > 0
    assert rows["hostile scenes"].passed is False
    assert stations.verified_by == "sensors only", "as it was"


# Physical resets


def test_skills_that_put_a_scene_back_pass() -> None:
    rows = examined(Restored, "physical", number=24)
    assert (rows["physical reset"].hits, rows["physical reset"].trials) == (24, 24)
    assert "24 at the first try" in rows["physical reset"].detail
    assert rows["same starts"].passed is True
    assert rows["same starts"].trials == 2


def test_a_task_without_skills_is_told_so() -> None:
    (row,) = examined(Sound, "physical").values()
    assert row.passed is None
    assert "no restorer" in row.detail


def test_messes_that_are_not_put_back_are_counted() -> None:
    stations = reach_stations(1, 1, Restored(failing=2 * 3 + 1))
    examination = TaskExamination(lambda n, t: stations, Counts.all(24))
    row, _ = examination.rows(["physical"])
    assert (row.passed, row.hits, row.trials) == (False, 22 - 2, 24 - 2)
    assert "19 at the first try" in row.detail
    assert "reset failed 3 times: tidy" in row.detail


class Turned(Restored):
    """Brings the hand back, but not to where it is asked to."""

    def restorer(self, rng: np.random.Generator, target: FloatArray) -> Restorer:
        return super().restorer(rng, 0.5 * target + 0.7)


def test_starts_that_differ_are_found() -> None:
    rows = examined(Turned, "physical", number=24)
    assert rows["physical reset"].passed is True
    assert rows["same starts"].passed is False
    assert rows["same starts"].hits > 0


def test_limits_are_watched_in_physical_resets_and_not_in_the_messes() -> None:
    stations = reach_stations(1, 1, Restored())
    examination = TaskExamination(lambda n, t: stations, Counts.all(10))
    assert len(examination.demonstrations) == 10
    limit = examination._limits.joint_range
    before = limit.looks
    assert examination.resets is not None
    assert examination.resets.tried == 10
    periods = sum(examination.resets.reset_s) / stations.period
    assert limit.looks - before == round(periods) - 10 > 0, "not in the first period of each"
    assert stations.reset is ResetMode.FAST, "as it was"


class Drifts(Restored):
    """Its physics carries joint 5 over its stop in the fourth period of a physical reset."""

    periods = 0

    def restorer(self, rng: np.random.Generator, target: FloatArray) -> Restorer:
        self.periods = 0
        return super().restorer(rng, target)

    def after_step(self, twin: Twin, row: int) -> None:
        self.periods += 1
        if self.targets and self.periods == 4:
            arm = twin.scene.arms[0]
            twin.qpos[row, arm.qpos[4]] = twin.model.jnt_range[arm.joints[4], 1] + 0.3


def test_a_limit_that_a_physical_reset_exceeds_is_told() -> None:
    stations = reach_stations(1, 1, Drifts())
    rows = TaskExamination(lambda n, t: stations, Counts.all(6)).rows(["limits"])
    row = next(row for row in rows if row.check == "joint range")
    assert row.passed is False
    assert "arm joint5" in row.detail
    assert "in reset" in row.detail


# What does not fit


class Wide(Sound):
    def observe(self, readings: Readings) -> Float32Array:
        return np.zeros((len(readings.joints), 5), dtype=np.float32)


def test_what_does_not_fit_is_told_before_anything_runs() -> None:
    with pytest.raises(PackError, match=r"observe returns shape \(1, 5\), expected \(1, 2\)"):
        examined(Wide, "nothing")
