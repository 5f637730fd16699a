"""A point of the stress grid: what is counted there, and where it does not apply."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from enpire.certification.grid import BASELINE, GRID, NAMES
from enpire.certification.stress import StressResult, lacks, measure
from enpire.environment import CartesianControl, Demonstrations, Evidence, Stations, Task
from enpire.environment.resets.perturbation import Change, Perturbation
from enpire.errors import PackError
from enpire.rollout.evaluation.statistics import Confusion, estimate
from enpire.twin import Twin
from enpire.types import FloatArray, Outcome, Verdict
from tests.environment.reach import Restored, reach_stations

from .test_examination import Sound

SEEDS = range(8)
FAR = Perturbation("far", Change.NOISE, 1.0)


def measured(task: Callable[[], Task], point: Perturbation = FAR) -> StressResult:
    def build(change: Perturbation) -> Stations:
        return reach_stations(2, task=task(), perturbation=change)

    return measure(build, lambda s: Demonstrations(s.task), point, SEEDS, "d")


def test_success_and_the_audit_are_counted() -> None:
    result = measured(Sound)
    assert result.success == estimate(8, 8)
    assert result.audit == Confusion(8, 0, 0, 0)
    assert (result.invalid, result.tried_again, result.passed) == (0, 0, True)


class Credulous(Sound):
    time_limit = 0.04  # too short to get there

    def verify(self, evidence: Evidence) -> Verdict:
        return Verdict(Outcome.SUCCESS)


def test_false_successes_miss_the_bar() -> None:
    result = measured(Credulous)
    assert (result.success.rate, result.false_successes, result.passed) == (1.0, 8, False)
    assert result.as_json()["false_successes_ci95"][0] > 0.6
    assert result.example.startswith("seed 0: judged a success; truly near ")


@pytest.mark.parametrize(
    ("false", "audited", "passed"), [(0, 0, None), (1, 99, False), (1, 100, True), (2, 100, False)]
)
def test_the_bar_is_one_percent_of_what_is_audited(
    false: int, audited: int, passed: bool | None
) -> None:
    audit = Confusion(audited - false, false, 0, 0)
    assert StressResult("p", estimate(0, 0), audit=audit).passed is passed


class Unreachable(Sound):
    def set_initial_state(
        self, twin: Twin, control: CartesianControl, row: int, variation: FloatArray
    ) -> None:
        if variation[0] > 0.04:
            raise ValueError("no hand gets there")
        super().set_initial_state(twin, control, row, variation)


def test_scenes_that_cannot_be_placed_count_apart() -> None:
    result = measured(Unreachable)
    assert 0 < result.invalid < 8
    assert result.success.trials == 8 - result.invalid
    assert "no hand gets there" in result.reason


def test_without_a_change_they_are_a_fault_of_the_pack() -> None:
    with pytest.raises(PackError, match="no hand gets there"):
        measured(Unreachable, BASELINE)


class Unsettled(Sound):
    settle_limit = 0.04

    def set_initial_state(
        self, twin: Twin, control: CartesianControl, row: int, variation: FloatArray
    ) -> None:
        super().set_initial_state(twin, control, row, variation)
        self.far = {**getattr(self, "far", {}), row: variation[0] > 0.04}

    def settle(self, twin: Twin, control: CartesianControl, row: int, elapsed: float) -> float:
        return 1.0 if self.far[row] else 0.0


@pytest.mark.parametrize("point", [FAR, BASELINE])
def test_resets_that_are_tried_again_are_counted(point: Perturbation) -> None:
    result = measured(Unsettled, point)
    draws = np.array([_tries(seed) for seed in SEEDS])
    assert result.tried_again == (np.minimum(draws, 4) - 1).sum() > 0
    assert result.invalid == (draws > 4).sum()


def _tries(seed: int) -> int:
    """Draws of an episode until one is near."""
    rng = np.random.default_rng(seed).spawn(6)[0]
    return next(i for i in range(1, 100) if Sound().sample(rng)[0] <= 0.04)


def test_where_a_change_means_nothing_that_is_said() -> None:
    stations = reach_stations(task=Sound())
    said = {point.name: lacks(point, stations) for point in GRID}
    assert said["clearance-0.1mm"] == "the task has no `tighten`"
    assert said["poses-x2"] == "the task has no `target_names`"
    assert said["light-moved"] == said["cameras-off"] == "nobody sees by cameras"
    assert said["stiffness-x0.6"] == "the scene has none"
    assert not said["baseline"] + said["kp-x0.7"] + said["noise-x2"] + said["mass-x1.4"]
    assert not lacks(GRID[NAMES.index("poses-x2")], reach_stations(task=Restored()))
    assert (
        measured(Sound, GRID[NAMES.index("poses-x2")]).missing == "the task has no `target_names`"
    )


def test_the_grid_s_points_have_names_of_their_own() -> None:
    assert len(set(NAMES)) == len(GRID)
    assert {point.change for point in GRID} == set(Change)
