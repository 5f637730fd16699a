"""Episodes on stations with arms: from whatever lies there, by skills, up to a stop."""

from __future__ import annotations

import numpy as np
import pytest

from enpire.drivers.wire import Fault
from enpire.environment import Job
from enpire.environment.hardware.cell import StationStop
from enpire.environment.stations.episode_state import StationPhase
from enpire.safety.rules import GateRule
from enpire.types import LOST, Outcome, Purpose

from .rig import Bench, episode, stations


def test_an_episode_begins_with_the_tasks_own_skills_and_is_judged_by_its_verifier() -> None:
    bench = Bench("pick_cube")
    cells = stations(bench)
    for seed in range(3):
        ended = episode(cells, seed)
        assert ended.verdict.outcome is Outcome.SUCCESS
        names = [p.name for p in ended.verdict.predicates]
        assert names == ["lifted", "in_hand", "covered", "gripped", "shut", "still"]
        assert ended.times.reset > 2.0  # skills take their time
        assert len(ended.observations) == len(ended.actions) > 20
    assert (bench.begun, bench.wire.varied) == (3, 3)
    assert not cells.repeatable


def test_the_arms_do_what_they_are_told_and_what_is_recorded_is_what_was_seen() -> None:
    bench = Bench("pick_cube")
    cells = stations(bench)
    ended = episode(cells, 5)
    assert np.isfinite(ended.observations).all()
    arm = cells.twin.scene.arms[0]
    cube = bench.cell.twin.site_xpos[0, bench.cell.twin.model.site("task_cube").id]
    assert abs(cells.twin.qpos[0, arm.qpos] - bench.cell.twin.qpos[0, arm.qpos]).max() < 1e-3
    assert np.linalg.norm(cells.twin.site_xpos[0, arm.grasp] - cube) < 0.025  # in the hand


def test_a_stop_in_a_reset_is_recovered_from_and_the_reset_begins_anew() -> None:
    stop = StationStop("stopped: lag", GateRule.LAG)
    bench = Bench("pick_cube", stops={40: stop, 90: stop})
    ended = episode(stations(bench), 0)
    assert ended.verdict.outcome is Outcome.SUCCESS
    assert bench.recovered == 2


def test_a_fourth_stop_in_an_episode_sets_the_station_aside() -> None:
    stop = StationStop("stopped: lag", GateRule.LAG)
    cells = stations(Bench("pick_cube", stops=dict.fromkeys((40, 60, 80, 100), stop)))
    ended = episode(cells, 0)
    assert (ended.verdict.outcome, ended.verdict.stage) == (Outcome.INVALID, LOST)
    assert "after 3 recoveries" in ended.verdict.reason
    assert cells.aside.keys() == {0}
    cells.recover(0)
    assert episode(cells, 1).verdict.outcome is Outcome.SUCCESS


@pytest.mark.parametrize(
    ("rules", "outcome", "stage"),
    [
        (GateRule.SELF_COLLISION | GateRule.SPEED, Outcome.FAILURE, "stopped"),
        (GateRule.WRIST_FORCE, Outcome.FAILURE, "stopped"),
        (GateRule.DRIVER_AGE, Outcome.INVALID, LOST),
        (GateRule.WRIST_FORCE | GateRule.HEARTBEAT, Outcome.INVALID, LOST),
        (GateRule.ASKED, Outcome.ABORTED, "stopped"),
    ],
)
def test_a_stop_ends_an_execution_and_says_whose_it_was(rules, outcome, stage) -> None:
    bench = Bench("pick_cube")
    cells = stations(bench)
    name, controller = cells.starter
    cells.begin(0, Job(1, Purpose.DEMONSTRATION, controller, name))
    while cells.phase(0) is not StationPhase.EXECUTE:
        assert not cells.tick()
    bench.stops = {bench.periods + 5: StationStop("stopped", rules)}
    ended = []
    while not ended:
        ended = cells.tick()
    assert (ended[0].verdict.outcome, ended[0].verdict.stage) == (outcome, stage)
    assert 0 < len(ended[0]) < 10
    assert not cells.aside
    assert episode(cells, 2).verdict.outcome is Outcome.SUCCESS  # after a reset, no more


class Slow:
    """A policy that needs 20 periods for its first action, and then does nothing."""

    def __init__(self) -> None:
        self.looked = 0
        self.acted = 0

    def begin(self, row, rng, exploration) -> None:
        self.looked = 0

    def decided(self, row, observation) -> bool:
        assert np.isfinite(observation).all()
        self.looked += 1
        return self.looked > 20

    def act(self, rows, observations, readings):
        self.acted += 1
        still = np.zeros((1, 7), np.float32)
        still[:, 6] = 1.0
        return still


def test_an_arm_rests_until_its_policy_has_come_to_its_first_action() -> None:
    bench = Bench("pick_cube")
    cells, slow = stations(bench), Slow()
    cells.begin(0, Job(1, Purpose.EVALUATION, slow, "slow"))
    while not slow.looked:
        assert not cells.tick()
    cells.wait()
    sent, at = bench._sent.copy(), bench.periods
    while not slow.acted:
        np.testing.assert_array_equal(bench._sent, sent)
        assert not cells.tick()
        cells.wait()
    assert bench.periods - at == 20  # they pass: what goes wrong would be seen
    bench.stops = {bench.periods + 5: StationStop("stopped: asked", GateRule.ASKED)}
    ended = []
    while not ended:
        ended = cells.tick()
    assert len(ended[0]) == slow.acted < 10
    assert ended[0].times.execute == pytest.approx(len(ended[0]) * cells.period)
    assert ended[0].times.reset > 20 * cells.period


def test_a_latched_station_and_one_that_loses_episode_after_episode_are_set_aside() -> None:
    bench = Bench("pick_cube")
    cells = stations(bench)
    bench.refuses = "latched (emergency): enpire station clear"
    ended = episode(cells, 0)
    assert (ended.verdict.outcome, ended.verdict.stage) == (Outcome.INVALID, LOST)
    assert "station clear" in cells.aside[0]


def test_faults_are_told_with_what_came_of_them() -> None:
    bench = Bench("pick_cube", stops={40: StationStop("stopped: driver age", GateRule.DRIVER_AGE)})
    cells = stations(bench)
    begun = bench.now + 40 * 40_000_000 - 10**8
    bench.wire.told = [Fault(1, "drop", "all of joint states dropped", begun, 0.5)]
    bench.wire.told += [Fault(2, "delay", "tracker 90 ms late", begun + 3 * 10**9, 0.5)]
    episode(cells, 0)
    found = [h.text for h in cells.new_events(last=True)]
    assert found[0] == "stopped: driver age"
    assert "fault 1, all of joint states dropped for 0.50 s" in found[1]
    assert found[1].endswith("idle: stopped: driver age")
    assert found[2].endswith("no stop")
