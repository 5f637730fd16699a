"""A fleet keeps its stations busy, records everything, and accounts for all of its time."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from enpire.environment import Evidence, Job, ResetMode, Stations
from enpire.environment.resets.physical_reset import TRIES
from enpire.errors import PolicyError, ResetFailed
from enpire.rollout.fleet import requests
from enpire.rollout.fleet.clock import SimulatedClock
from enpire.rollout.fleet.fleet import Fleet, Stopped
from enpire.rollout.fleet.recovery import Recovery
from enpire.rollout.fleet.requests import Request, Requests, ask
from enpire.store import Interval, Phase
from enpire.types import Episode, Outcome, Purpose, Verdict
from tests.environment.reach import Restored, Speed, reach_stations


class Kept:
    """Stands in for the writer."""

    def __init__(self) -> None:
        self.episodes: list[Episode] = []
        self.intervals: list[Interval] = []

    def put(self, episodes: Sequence[Episode], intervals: Sequence[Interval] = ()) -> None:
        self.episodes += episodes
        self.intervals += intervals


class Speeds(Speed):
    """Some stations are slow to finish: those that hold still run out of time."""

    def act(self, rows: np.ndarray, observations: np.ndarray, readings: object) -> np.ndarray:
        actions = super().act(rows, observations, readings)
        actions[rows == 0, 0] = 0.0
        return actions


def jobs(count: int, controller: object | None = None) -> list[Job]:
    chosen = controller or Speed()
    return [Job(seed, Purpose.COLLECTION, chosen, "p") for seed in range(count)]


def fleet_of(stations: int, **settings: Callable[..., object]) -> tuple[Fleet, Kept]:
    kept = Kept()
    return Fleet(reach_stations(stations), kept, **settings), kept


def account(kept: Kept, stations: int) -> float:
    """Check that every station's intervals follow one another from zero to one common end."""
    by_station: dict[int, list[Interval]] = defaultdict(list)
    for interval in kept.intervals:
        by_station[interval.station].append(interval)
    assert sorted(by_station) == list(range(stations))
    ends = []
    for rows in by_station.values():
        rows.sort(key=lambda i: (i.start_s, i.end_s))
        assert rows[0].start_s == 0.0
        for before, after in itertools.pairwise(rows):
            assert after.start_s == pytest.approx(before.end_s, abs=1e-9)
            assert after.end_s >= after.start_s
        ends.append(rows[-1].end_s)
    assert ends == pytest.approx([ends[0]] * stations)
    return ends[0]


def test_every_job_is_run_once_and_recorded_before_it_is_handed_on() -> None:
    fleet, kept = fleet_of(3)
    seen = []
    for episode in fleet.run(jobs(10)):
        assert episode.id in {e.id for e in kept.episodes}
        seen.append(episode.id)
    assert sorted(seen) == sorted(job.id for job in jobs(10))
    assert len(kept.episodes) == 10
    assert not fleet.stations.busy


def test_no_jobs() -> None:
    fleet, kept = fleet_of(2)
    assert list(fleet.run([])) == []
    assert kept.episodes == []


def test_a_station_that_is_free_takes_the_next_job_at_once() -> None:
    fleet, kept = fleet_of(3)
    list(fleet.run(jobs(12, Speeds())))
    counts = np.bincount([e.station for e in kept.episodes], minlength=3)
    assert counts[0] < counts[1], "the slow station holds nobody up"
    assert counts[0] < counts[2]
    last = {
        row: max(i.end_s for i in kept.intervals if i.episode and i.station == row)
        for row in range(3)
    }
    for interval in kept.intervals:
        if interval.phase is Phase.IDLE:
            assert interval.start_s == pytest.approx(last[interval.station]), "idle at the end only"


def test_what_a_process_that_died_had_under_way_leaves_no_gap() -> None:
    stations, kept = 3, Kept()
    running = Fleet(reach_stations(stations), kept).run(jobs(9, Speeds()))
    list(itertools.islice(running, 4))  # and now it is killed
    end = max(interval.end_s for interval in kept.intervals)
    assert len({i.end_s for i in kept.intervals if i.phase is Phase.VERIFY}) > 1
    again = Fleet(
        reach_stations(stations), kept, clock=SimulatedClock(end), before=tuple(kept.intervals)
    )
    list(again.run(jobs(5, Speeds())))
    assert account(kept, stations) == pytest.approx(again.clock.now)


@pytest.mark.parametrize("stations", [1, 3])
def test_intervals_add_up_to_the_clock(stations: int) -> None:
    fleet, kept = fleet_of(stations)
    list(fleet.run(jobs(7, Speeds())))
    end = account(kept, stations)
    list(fleet.run(jobs(2)))
    later = account(kept, stations)
    assert later > end
    spent = sum(i.end_s - i.start_s for i in kept.intervals if i.phase is not Phase.IDLE)
    assert fleet.robot_s == pytest.approx(spent)
    assert spent == pytest.approx(sum(e.times.total for e in kept.episodes))


def test_intervals_have_the_lengths_of_their_phases() -> None:
    fleet, kept = fleet_of(2)
    list(fleet.run(jobs(5)))
    for episode in kept.episodes:
        mine = {i.phase: i.end_s - i.start_s for i in kept.intervals if i.episode == episode.id}
        assert mine[Phase.RESET] == pytest.approx(episode.times.reset)
        assert mine[Phase.EXECUTE] == pytest.approx(episode.times.execute)
        assert mine[Phase.VERIFY] == pytest.approx(episode.times.verify)


def test_jobs_are_drawn_when_a_station_is_free() -> None:
    drawn: list[int] = []

    def late() -> Iterator[Job]:
        for job in jobs(9):
            drawn.append(job.seed)
            yield job

    fleet, kept = fleet_of(2)
    for _ in fleet.run(late()):
        assert len(drawn) - len(kept.episodes) <= 2


def aborted(kept: Kept) -> list[Episode]:
    return [e for e in kept.episodes if e.verdict.outcome is Outcome.ABORTED]


def test_a_reason_to_stop_ends_the_run_and_keeps_what_was_under_way() -> None:
    def enough(robot_s: float) -> str | None:
        return "used up" if robot_s > 2.0 else None

    fleet, kept = fleet_of(3, should_stop=enough)
    with pytest.raises(Stopped, match="used up"):
        list(fleet.run(jobs(100)))
    assert len(aborted(kept)) == 3
    assert {e.verdict.reason for e in aborted(kept)} == {"used up"}
    assert not fleet.stations.busy
    account(kept, 3)


class Wrong(Speed):
    """Goes wrong in its tenth period."""

    def act(self, rows: np.ndarray, observations: np.ndarray, readings: object) -> np.ndarray:
        actions = super().act(rows, observations, readings)
        return actions * np.nan if len(self.asked) == 10 else actions


def test_a_policy_that_goes_wrong() -> None:
    fleet, kept = fleet_of(2)
    with pytest.raises(PolicyError):
        list(fleet.run(jobs(6, Wrong())))
    assert len(aborted(kept)) == 2
    account(kept, 2)
    assert len(list(fleet.run(jobs(2)))) == 2, "the fleet can be used again"
    account(kept, 2)


def test_jobs_that_raise() -> None:
    def broken() -> Iterator[Job]:
        yield from jobs(4)
        raise RuntimeError("no more seeds")

    fleet, kept = fleet_of(3)
    with pytest.raises(RuntimeError, match="no more seeds"):
        list(fleet.run(broken()))
    assert len(kept.episodes) == 4
    assert aborted(kept)
    account(kept, 3)


def test_whoever_raises_on_an_episode_loses_none() -> None:
    """Two stations end in one period; the first of their episodes brings the exception."""

    def interrupt(episode: Episode) -> None:
        raise KeyboardInterrupt

    fleet, kept = fleet_of(2, on_episode=interrupt)
    same = [Job(5, Purpose.COLLECTION, Speed(), name) for name in ("p", "q")]
    with pytest.raises(KeyboardInterrupt):
        list(fleet.run(same))
    assert [e.success for e in kept.episodes] == [True, True]


def test_a_reader_that_leaves_early_loses_none() -> None:
    fleet, kept = fleet_of(2)
    running = fleet.run(Job(5, Purpose.COLLECTION, Speed(), name) for name in "abcdef")
    next(running)
    running.close()
    assert not fleet.stations.busy
    assert sorted(e.policy for e in kept.episodes) == ["a", "b"]
    account(kept, 2)


def test_invalid_episodes_are_recorded_too() -> None:
    def diverge(robot_s: float) -> None:
        stations: Stations = fleet.stations
        if 1 in stations._running and not kept.episodes:
            stations.wait()
            stations.twin.qvel[1] = np.nan

    fleet, kept = fleet_of(2, should_stop=diverge)
    assert len(list(fleet.run(jobs(4)))) == 4
    outcomes = [e.verdict.outcome for e in kept.episodes]
    assert outcomes.count(Outcome.INVALID) == 1
    assert outcomes.count(Outcome.SUCCESS) == 3
    account(kept, 2)


def physical_fleet(task: Restored, stations: int, **settings: object) -> tuple[Fleet, Kept]:
    kept = Kept()
    return Fleet(reach_stations(stations, 1, task, ResetMode.PHYSICAL), kept, **settings), kept


def test_a_fleet_goes_on_without_a_station_that_is_set_aside() -> None:
    task = Restored()
    fleet, kept = physical_fleet(task, 2)
    running = fleet.run(jobs(10))
    done = [next(running).id]
    task.failing = 2 * TRIES - 1  # however they meet them, one station fails for good
    done += [episode.id for episode in running]
    assert sorted(done) == sorted(job.id for job in jobs(10)), "its work went to the other"
    lost = [e for e in kept.episodes if e.verdict.outcome is Outcome.INVALID]
    assert len(lost) == 1
    assert lost[0].times.reset > 1.0
    assert len(kept.episodes) == 11
    after = kept.episodes[kept.episodes.index(lost[0]) + 1 :]
    assert after
    assert {e.station for e in after} == {1 - lost[0].station}
    account(kept, 2)


def test_no_station_left_is_told_with_the_reasons() -> None:
    task = Restored()
    fleet, kept = physical_fleet(task, 2)
    running = fleet.run(jobs(10))
    next(running)
    task.failing = 100
    with pytest.raises(
        ResetFailed, match=r"0: reset failed 3 times: tidy.*1: reset failed"
    ) as told:
        list(running)
    assert "set their scenes up" in str(told.value)
    assert sorted(fleet.stations.aside) == [0, 1]
    account(kept, 2)


class Notes(list[tuple[str, int]]):
    """What is noted of stations that are set aside, but for the words."""

    def __call__(self, kind: str, station: int, text: str) -> None:
        self.append((kind, station))


def test_a_station_comes_back_when_help_has_come() -> None:
    task, notes = Restored(), Notes()
    with Recovery("exit 0", 60.0, "reach") as recovery:
        fleet, kept = physical_fleet(task, 1, recovery=recovery, note=notes)
        running = fleet.run(jobs(5))
        next(running)
        task.failing = TRIES
        list(running)
    assert [e.verdict.outcome for e in kept.episodes].count(Outcome.INVALID) == 1
    assert len(kept.episodes) == 6, "what was lost is run again"
    assert notes == [("aside", 0), ("back", 0)]
    account(kept, 1)


def test_others_go_on_while_help_is_under_way(tmp_path: Path) -> None:
    """The command ends only once the other station has gone on; the station then is back."""
    task, notes, sign = Restored(), Notes(), tmp_path / "sign"
    command = f"until [ -e {sign} ]; do sleep 0.02; done"
    with Recovery(command, 60.0, "reach") as recovery:
        fleet, kept = physical_fleet(task, 2, recovery=recovery, note=notes)
        running = fleet.run(jobs(10_000))
        next(running)
        task.failing = 2 * TRIES - 1
        for _ in running:
            lost = [e for e in kept.episodes if e.verdict.outcome is Outcome.INVALID]
            if not lost:
                continue
            later = {e.station for e in kept.episodes[kept.episodes.index(lost[0]) + 1 :]}
            if len(later) == 1:
                assert later == {1 - lost[0].station}
                sign.touch()
            if len(later) == 2:
                break
        assert notes == [("aside", lost[0].station), ("back", lost[0].station)]


def test_no_help_leaves_a_station_aside() -> None:
    task, notes = Restored(), Notes()
    with Recovery("exit 1", 60.0, "reach") as recovery:
        fleet, kept = physical_fleet(task, 1, recovery=recovery, note=notes)
        running = fleet.run(jobs(5))
        next(running)
        task.failing = TRIES
        with pytest.raises(ResetFailed, match="set their scenes up"):
            list(running)
    assert notes == [("aside", 0), ("left aside", 0)]
    account(kept, 1)


def test_a_fleet_that_waits_for_help_can_be_stopped() -> None:
    task, notes = Restored(), Notes()
    with Recovery("sleep 600", 600.0, "reach") as recovery:

        def stop(robot_s: float) -> str | None:
            return "interrupted" if notes else None

        fleet, _ = physical_fleet(task, 1, recovery=recovery, note=notes, should_stop=stop)
        running = fleet.run(jobs(5))
        next(running)
        task.failing = TRIES
        with pytest.raises(Stopped, match="interrupted"):
            list(running)
    assert notes == [("aside", 0)]


def test_jobs_that_are_over_need_no_station() -> None:
    task = Restored()
    fleet, kept = physical_fleet(task, 1)
    list(fleet.run(jobs(1)))
    task.failing = TRIES
    with pytest.raises(ResetFailed):
        list(fleet.run(jobs(1)))
    assert kept.episodes[-1].verdict.outcome is Outcome.INVALID
    assert list(fleet.run([])) == []


def test_work_beside_takes_what_would_be_idle_and_outlasts_a_run() -> None:
    fleet, kept = fleet_of(3)
    other = fleet.beside([replace(job, policy="q") for job in jobs(5)])
    done = [episode.policy for episode in fleet.run(jobs(7, Speeds()))]
    assert done.count("p") == 7
    assert {e.policy for e in kept.episodes} == {"p"}
    assert fleet.stations.busy, "the last ones left stations free"
    assert Phase.IDLE not in {i.phase for i in kept.intervals}
    list(fleet.run_out(other))
    assert len(kept.episodes) == 12
    assert not fleet.stations.busy
    account(kept, 3)


def test_work_beside_goes_on_while_nothing_else_is_due() -> None:
    """As while a candidate is trained."""
    fleet, kept = fleet_of(2)
    fleet.beside([replace(job, policy="q") for job in jobs(6)])

    def until_there_are(count: int) -> Iterator[Job | None]:
        while len(kept.episodes) < count:
            yield None

    list(fleet.run(until_there_are(4)))
    assert 4 <= len(kept.episodes) <= 5
    fleet.stop("over")
    assert {e.verdict.outcome for e in kept.episodes[-1:]} == {Outcome.ABORTED}
    account(kept, 2)


def test_a_person_pauses_a_station_and_resumes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requests, "LOOK_S", 0.0)
    notes = Notes()
    fleet, kept = fleet_of(2, note=notes, requests=Requests(tmp_path))
    running = fleet.run(jobs(60))
    next(running)
    assert {s.doing for s in fleet.states} <= {"running", "idle"}
    assert any(s.job and s.purpose for s in fleet.states)
    ask(tmp_path, Request(1, True, "a cable"))
    for _ in running:
        if len(kept.episodes) == 20:
            assert fleet.stations.aside == {1: "a cable"}
            assert [(s.number, s.reason) for s in fleet.states if s.doing == "aside"] == [
                (1, "a cable")
            ]
            assert {e.station for e in kept.episodes[-10:]} == {0}
            ask(tmp_path, Request(1, False, "mended"))
    assert notes == [("aside", 1), ("back", 1)]
    assert {e.station for e in kept.episodes[-10:]} == {0, 1}
    assert {e.verdict.outcome for e in kept.episodes} == {Outcome.SUCCESS}, "none was cut short"
    phases = {i.phase for i in kept.intervals if i.station == 1}
    assert Phase.ASIDE in phases
    account(kept, 2)


def test_all_paused_are_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, "LOOK_S", 0.0)
    looks = iter(range(1000))

    def resume(robot_s: float) -> None:
        if next(looks) == 100:
            ask(tmp_path, Request(0, False, "back from lunch"))

    fleet, kept = fleet_of(1, requests=Requests(tmp_path), should_stop=resume)
    monkeypatch.setattr("enpire.rollout.fleet.fleet.WAIT_S", 0.001)
    running = fleet.run(jobs(3))
    next(running)
    ask(tmp_path, Request(0, True, "lunch"))
    assert len(list(running)) == 2
    assert len(kept.episodes) == 3


def test_a_station_whose_verifier_is_unsure_again_and_again_is_set_aside() -> None:
    task, notes = Restored(), Notes()
    fleet, kept = physical_fleet(task, 2, note=notes)
    judge = task.verify

    def blind(evidence: Evidence) -> Verdict:
        verdict = judge(evidence)
        if len(kept.episodes) in (3, 4, 5):
            unseen = tuple(replace(p, value=np.nan) for p in verdict.predicates)
            return replace(verdict, outcome=Outcome.FAILURE, predicates=unseen)
        return verdict

    task.verify = blind
    list(fleet.run(jobs(12)))
    assert notes[0][0] == "aside"
    row = notes[0][1]
    mine = [e for e in kept.episodes if e.station == row]
    assert [e.verdict.unsure for e in mine[-2:]] == [True, True]
    assert "unsure" in fleet.stations.aside[row]
    account(kept, 2)
