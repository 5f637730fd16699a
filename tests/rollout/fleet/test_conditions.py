"""Twins that keep a fleet waiting as arms do."""

from __future__ import annotations

import numpy as np
import pytest

from enpire.environment import Tasked
from enpire.rollout.fleet.conditions import ConditionedStations, Conditions
from enpire.rollout.fleet.fleet import Fleet
from enpire.store import Phase
from enpire.types import LOST, Episode, Outcome
from tests.environment.reach import reach_stations
from tests.rollout.fleet.test_fleet import Kept, account, jobs


def fleet_of(stations: int, conditions: Conditions, seed: int = 0) -> tuple[Fleet, Kept]:
    kept = Kept()
    return Fleet(ConditionedStations(reach_stations(stations), conditions, seed), kept), kept


def seconds(kept: Kept, phase: Phase) -> float:
    return sum(i.end_s - i.start_s for i in kept.intervals if i.phase is phase)


def test_resets_and_verdicts_take_their_time_and_change_nothing_else() -> None:
    fleet, kept = fleet_of(2, Conditions(reset_time=4.0, latency=0.5))
    list(fleet.run(jobs(8)))
    plain = {e.id: e for e in plainly(8)}
    for episode in kept.episodes:
        before = plain[episode.id]
        np.testing.assert_array_equal(episode.actions, before.actions)
        np.testing.assert_array_equal(episode.observations, before.observations)
        assert episode.verdict == before.verdict
        assert 2.0 <= episode.times.reset - before.times.reset <= 6.1
        assert episode.times.verify - before.times.verify == pytest.approx(0.5, abs=0.05)
        assert episode.times.execute == before.times.execute
    account(kept, 2)
    assert seconds(kept, Phase.RESET) == pytest.approx(sum(e.times.reset for e in kept.episodes))


def plainly(count: int) -> list[Episode]:
    kept = Kept()
    list(Fleet(reach_stations(2), kept).run(jobs(count)))
    return kept.episodes


def test_stations_fail_and_come_back_and_no_work_is_lost() -> None:
    fleet, kept = fleet_of(3, Conditions(fault_every=5.0, repair_time=2.0))
    done = [episode.id for episode in fleet.run(jobs(60))]
    assert sorted(done) == sorted(job.id for job in jobs(60))
    lost = [e for e in kept.episodes if e.verdict.stage == LOST]
    assert lost
    assert {e.verdict.outcome for e in lost} == {Outcome.INVALID}
    assert all("-lost-" in e.id for e in lost)
    assert seconds(kept, Phase.ASIDE) > 1.0
    account(kept, 3)
    plain = {e.id: e for e in plainly(60)}
    for episode in kept.episodes:
        if episode.verdict.stage != LOST:
            np.testing.assert_array_equal(episode.actions, plain[episode.id].actions)


def test_one_station_that_fails_is_waited_for() -> None:
    fleet, kept = fleet_of(1, Conditions(fault_every=2.0, repair_time=1.0))
    assert len(list(fleet.run(jobs(20)))) == 20
    account(kept, 1)


def test_what_else_the_stations_have_is_there() -> None:
    stations = ConditionedStations(reach_stations(1), Conditions(latency=1.0), 0)
    assert isinstance(stations, Tasked)
    assert stations.task.name == stations.name
    assert not hasattr(stations, "seats")


def test_to_stop_loses_none_of_what_is_on_its_way() -> None:
    fleet, kept = fleet_of(3, Conditions(reset_time=1.0, latency=1.0))
    running = fleet.run(jobs(50))
    next(running)
    running.close()
    assert not fleet.stations.busy
    first, *cut_short = kept.episodes
    assert first.success
    assert len(cut_short) == 2
    assert {e.verdict.outcome for e in cut_short} == {Outcome.ABORTED}
    account(kept, 3)
