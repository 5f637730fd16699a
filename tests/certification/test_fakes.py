"""Constructed fakes are shown to the verifier and to the truth, and what they deceive is told."""

from __future__ import annotations

import numpy as np

from enpire.certification.examination import Counts, TaskExamination
from enpire.certification.row import CheckRow
from enpire.environment import CartesianControl, Evidence, Fake, Readings, Stations
from enpire.twin import Twin
from enpire.types import Float32Array, FloatArray, Outcome, Predicate, Verdict
from tests.environment.reach import START, reach_stations

from .test_examination import Sound

SEEDS = 3


def write_start(twin: Twin, control: CartesianControl, row: int, rng: np.random.Generator) -> None:
    """Put the arm where it begins: far from every goal."""
    twin.qpos[row, control.arms[0].qpos] = START
    control.set(row, np.array([START]), np.zeros(1))


def write_nonsense(
    twin: Twin, control: CartesianControl, row: int, rng: np.random.Generator
) -> None:
    """A speed at which physics diverges."""
    twin.qvel[row] = 1e12


class Faked(Sound):
    """Reach with one fake."""

    fake = Fake("the arm at its start", "the goal is elsewhere", write_start)

    def fakes(self) -> tuple[Fake, ...]:
        return (self.fake,)


def rows(task: Sound) -> dict[str, CheckRow]:
    def build(stations: int, threads: int) -> Stations:
        return reach_stations(stations, threads or 1, task)

    return {row.check: row for row in TaskExamination(build, Counts.all(SEEDS)).rows(["fakes"])}


def test_a_verifier_that_is_not_deceived_passes() -> None:
    found = rows(Faked())
    for row in (found["fakes"], found["fakes' truth"]):
        assert (row.passed, row.hits, row.trials) == (True, 0, SEEDS)
        assert row.detail == "1 states, by sensors"


class Deceived(Faked):
    def verify(self, evidence: Evidence) -> Verdict:
        return Verdict(Outcome.SUCCESS)


def test_a_deceived_verifier_is_told_with_the_state_and_the_seed() -> None:
    found = rows(Deceived())
    assert found["fakes"].passed is False
    assert found["fakes"].hits == SEEDS
    assert "the arm at its start, by sensors, seed " in found["fakes"].detail
    assert found["fakes' truth"].passed is True


class Credulous(Faked):
    def ground_truth(self, twin: Twin, row: int) -> tuple[Predicate, ...]:
        return (Predicate("near", 0.0, 1.0, "mm", at_least=False),)


def test_a_deceived_truth_is_told() -> None:
    found = rows(Credulous())
    assert found["fakes"].passed is True
    assert (found["fakes' truth"].passed, found["fakes' truth"].hits) == (False, SEEDS)


class Hidden(Faked):
    fake = Fake("an arm that flies off", "nothing is where it was", write_nonsense)


def test_a_fake_that_never_comes_to_the_verifier_shows_nothing() -> None:
    row = rows(Hidden())["fakes"]
    assert row.passed is False
    assert row.hits == 0
    assert f"{SEEDS} came to no verdict" in row.detail


def test_a_fake_s_hands_act_after_it_is_written() -> None:
    asked: list[FloatArray] = []

    def act(readings: Readings) -> Float32Array:
        asked.append(readings.joints[0, 0])
        return np.zeros(7, np.float32)

    class Acting(Faked):
        fake = Fake("the arm at its start", "the goal is elsewhere", write_start, act, periods=5)

    assert rows(Acting())["fakes"].passed is True
    assert len(asked) == SEEDS * 4
    np.testing.assert_allclose(asked[-1], START, atol=0.02)


def test_a_task_without_fakes_is_told_so() -> None:
    row = rows(Sound())["fakes"]
    assert row.passed is None
    assert row.detail == "task.py constructs no fakes"


def test_the_time_limit_is_put_back() -> None:
    stations = reach_stations(1, 1, Faked())
    before = stations.execute_periods
    examination = TaskExamination(lambda n, t: stations, Counts.all(1))
    list(examination.rows(["fakes"]))
    assert stations.execute_periods == before
