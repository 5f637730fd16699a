"""One station's process, without a cluster around it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future

import numpy as np
import pytest

from enpire.cluster import station_actor
from enpire.cluster.serialization import PackedController, pack, settings_of
from enpire.cluster.station_actor import (
    EndedEpisode,
    RemoteFailure,
    StationActor,
    StationDescription,
)
from enpire.environment import Controller, Demonstrations, Job, Order
from enpire.environment.resets.physical_reset import TRIES
from enpire.environment.stations.resets import ResetMode
from enpire.errors import UsageError
from enpire.types import Outcome, Purpose
from tests.environment.reach import Restored, Speed, reach_stations
from tests.needs import needs

needs("ray")


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> StationActor:
    monkeypatch.setattr(station_actor, "open_stations", lambda *_, **__: reach_stations())
    made = StationActor()
    assert isinstance(made.open(Order("reach")), StationDescription)
    return made


def job(controller: Controller, seed: int = 5) -> Job:
    return Job(seed, Purpose.COLLECTION, controller, "p")


def run(host: StationActor, ticket: int, asked: Job) -> EndedEpisode | RemoteFailure:
    return host.run(ticket, settings_of(asked), pack(asked.controller))


def ended(host: StationActor, ticket: int, asked: Job) -> EndedEpisode:
    found = run(host, ticket, asked)
    assert isinstance(found, EndedEpisode)
    return found


def test_it_runs_episodes_as_stations_do(host: StationActor) -> None:
    here = reach_stations()
    for ticket, seed in enumerate((5, 6)):
        asked = job(Demonstrations(here.task), seed)
        here.begin(0, asked)
        ticks = 1
        while not (ours := here.tick()):
            ticks += 1
        theirs = ended(host, ticket, asked)
        assert theirs.periods == ticks
        assert theirs.steps > 0
        assert theirs.aside == ""
        np.testing.assert_array_equal(ours[0].actions, theirs.episode.actions)
        assert ours[0].times == theirs.episode.times


class Waits(Speed):
    """Acts when it is allowed to."""

    def __init__(self, go: threading.Event) -> None:
        super().__init__(0.0)
        self.go = go

    def act(self, *seen: object) -> np.ndarray:
        self.go.wait(60.0)
        return super().act(*seen)


def in_thread[T](call: Callable[[], T]) -> Future[T]:
    answer: Future[T] = Future()
    threading.Thread(target=lambda: answer.set_result(call()), daemon=True).start()
    return answer


def test_it_is_stopped_and_says_how_far_it_is(
    host: StationActor, monkeypatch: pytest.MonkeyPatch
) -> None:
    go = threading.Event()
    monkeypatch.setattr(station_actor, "unpack", lambda version, task: Waits(go))
    asked = job(Speed())
    coming = in_thread(lambda: host.run(1, settings_of(asked), PackedController("v", b"")))
    assert host.passed(1, 1) >= 1
    later = in_thread(lambda: host.passed(1, 10_000))
    host.stop(1, "used up")
    go.set()
    came = coming.result(60.0)
    assert isinstance(came, EndedEpisode)
    verdict = came.episode.verdict
    assert (verdict.outcome, verdict.reason) == (Outcome.ABORTED, "used up")
    assert came.periods >= 1
    assert later.result(60.0) == came.periods, "whoever waits for more of it is told"
    monkeypatch.undo()
    again = ended(host, 2, job(Demonstrations(reach_stations().task)))
    assert again.episode.verdict.outcome is Outcome.SUCCESS, "the station can be used again"
    assert host.passed(2, 10_000) == again.periods - 1, "its last period is for its end to tell"
    assert host.passed(1, 10_000) == 0, "of an earlier one nothing is known any more"


def test_what_goes_wrong_is_told_by_kind(
    host: StationActor, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = run(host, 1, job(Speed(float("nan"))))
    assert isinstance(wrong, RemoteFailure)
    assert wrong.kind == "PolicyError"
    spoiled = host.run(2, settings_of(job(Speed())), PackedController("x", b"no pickle"))
    assert isinstance(spoiled, RemoteFailure)
    assert "policy 'p': it cannot be loaded" in spoiled.text
    assert ended(host, 3, job(Demonstrations(reach_stations().task))).episode.success

    def missing(*_: object, **__: object) -> None:
        raise UsageError("no such task")

    monkeypatch.setattr(station_actor, "open_stations", missing)
    assert StationActor().open(Order("x")) == RemoteFailure("UsageError", "no such task")


def test_a_station_that_is_set_aside_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    task = Restored()
    stations = reach_stations(1, 1, task, ResetMode.PHYSICAL)
    monkeypatch.setattr(station_actor, "open_stations", lambda *_, **__: stations)
    host = StationActor()
    host.open(Order("reach"))
    assert ended(host, 1, job(Speed())).aside == ""
    task.failing = TRIES
    assert "reset failed" in ended(host, 2, job(Speed())).aside
    host.recover()
    assert ended(host, 3, job(Speed())).aside == ""
