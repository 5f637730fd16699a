"""What a task's own code does wrong costs its station, and no other."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from enpire.environment import Evidence, Job, ResetMode, Stations
from enpire.environment.core.faults import CallLimit
from enpire.environment.stations import verifier as module
from enpire.types import Episode, Outcome, Purpose, Verdict
from tests.environment.reach import Reach, Restored, Speed, reach_stations

HERE = __file__


class Faulty(Reach):
    """Raises in one of its methods, once."""

    def __init__(self, method: str, fault: Callable[[], Any]) -> None:
        super().__init__()
        self.left = 1
        inner = getattr(self, method)

        def wrapped(*given: Any) -> Any:
            if self.left:
                self.left -= 1
                fault()
            return inner(*given)

        setattr(self, method, wrapped)

    def after_step(self, *_: Any) -> None:
        pass


def breaks() -> None:
    raise ValueError("it broke")


def finish(stations: Stations, ahead: int) -> list[Episode]:
    for row in stations.idle:
        stations.begin(row, Job(row, Purpose.COLLECTION, Speed(), "p"))
    done: list[Episode] = []
    while stations.busy:
        done += stations.tick(ahead)
    return sorted(done, key=lambda e: e.station)


@pytest.mark.parametrize("ahead", [0, 20])
@pytest.mark.parametrize(
    "method",
    [
        "sample",
        "randomize_physics",
        "set_initial_state",
        "settle",
        "after_step",
        "verification_action",
        "verify",
    ],
)
def test_a_station_is_set_aside_and_the_others_go_on(method: str, ahead: int) -> None:
    task = Faulty(method, breaks)
    stations = reach_stations(3, 2, task)
    done = finish(stations, ahead)
    (lost,) = [e for e in done if e.verdict.outcome is Outcome.INVALID]
    assert lost.verdict.reason.endswith("ValueError: it broke")
    assert stations.aside == {lost.station: lost.verdict.reason}
    assert sum(e.success for e in done) == 2
    assert lost.station not in stations.idle
    stations.recover(lost.station)
    assert all(e.success for e in finish(stations, ahead))


def test_the_fault_is_told_by_file_and_line() -> None:
    class Judges(Reach):
        def verify(self, evidence: Evidence) -> Verdict:
            return 1 / 0  # type: ignore[return-value]  # this line

    task = Judges()
    task.folder = Path(HERE).parent
    with open(HERE) as source:
        line = 1 + next(i for i, text in enumerate(source) if text.endswith("# this line\n"))
    (episode,) = finish(reach_stations(task=task), 0)
    assert f"test_faults.py:{line}: ZeroDivisionError" in episode.verdict.reason


def test_a_verdict_that_takes_too_long_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TOO_LONG", CallLimit(60.0, 3.0))  # others' may take a second
    ended = threading.Event()
    stations = reach_stations(2, 2, Faulty("verify", lambda: ended.wait(250)))
    began = time.monotonic()
    done = finish(stations, 20)
    assert time.monotonic() - began < 200
    ended.set()
    (lost,) = [e for e in done if e.verdict.outcome is Outcome.INVALID]
    assert lost.verdict.reason.endswith("no verdict after 3 s")
    assert sum(e.success for e in done) == 1


def test_time_that_others_take_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TOO_LONG", CallLimit(0.2, 60.0))
    (episode,) = finish(reach_stations(task=Faulty("verify", lambda: time.sleep(0.6))), 0)
    assert episode.success, "it waited for a processor, say"


def test_a_verdict_that_computes_for_ever_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "TOO_LONG", CallLimit(0.2, 60.0))
    ended = threading.Event()

    def compute() -> None:
        while not ended.is_set():
            pass

    (episode,) = finish(reach_stations(task=Faulty("verify", compute)), 0)
    ended.set()
    assert episode.verdict.outcome is Outcome.INVALID
    assert episode.verdict.reason.endswith("no verdict after 0.2 s of processor time")


def test_a_restorer_that_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    task = Restored()
    stations = reach_stations(2, 1, task, ResetMode.PHYSICAL)
    assert all(e.success for e in finish(stations, 0))
    monkeypatch.setattr(task, "restorer", lambda rng, target: breaks())
    done = finish(stations, 0)
    assert {e.verdict.outcome for e in done} == {Outcome.INVALID}
    assert sorted(stations.aside) == [0, 1]
    assert np.all(["it broke" in reason for reason in stations.aside.values()])
