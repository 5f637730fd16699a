"""Verifying by cameras: who is asked, with what, and what follows from not being sure."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np
import pytest

from enpire.environment import (
    Camera,
    CameraView,
    Demonstrations,
    Evidence,
    Job,
    Readings,
    Stations,
    build_stations,
)
from enpire.environment.core.faults import CallLimit
from enpire.environment.stations import verifier as module
from enpire.environment.stations.episode_state import StationPhase
from enpire.environment.stations.verifier import LOOKS
from enpire.twin.twin import Rows
from enpire.types import Episode, FloatArray, Outcome, Predicate, Purpose, Verdict
from tests.environment.reach import Reach, reach_stations
from tests.graphics import verifier_cameras_of

CAMERA = Camera("front", np.zeros(3), np.eye(3), 100.0, 8, 6)


class Looking(Reach):
    """Believes its eyes: a white picture is a success, a grey one leaves it unsure."""

    def verify_views(self, evidence: Evidence) -> Verdict:
        for readings in evidence.readings:
            assert np.isnan(readings.position).all(), "the tracker's word"
            assert np.isnan(readings.rotation).all()
            assert np.isfinite(readings.joints).all()
        brightness = float(evidence.views[0].image.mean())
        value = math.nan if brightness == 128 else brightness
        white = Predicate("white", value, 200.0, "")
        return Verdict(Outcome.SUCCESS if white.holds else Outcome.FAILURE, (white,))


class Painted:
    """Eyes that see one brightness after the other."""

    def __init__(self, *brightness: int) -> None:
        self.brightness = list(brightness)
        self.stamps: list[float] = []

    def look[T](self, row: int, stamp: float, see: Callable[[list[CameraView]], T]) -> Future[T]:
        self.stamps.append(stamp)
        value = self.brightness.pop(0)
        answer: Future[T] = Future()
        answer.set_result(see([CameraView(CAMERA, np.full((6, 8, 3), value, np.uint8), stamp)]))
        return answer


def looked(*brightness: int) -> tuple[Episode, Painted]:
    stations, verifier_cameras = reach_stations(task=Looking()), Painted(*brightness)
    stations.verifier_cameras = verifier_cameras
    assert stations.verified_by == "cameras"
    stations.begin(0, Job(0, Purpose.EVALUATION, Demonstrations(stations.task), "p"))
    done: list[Episode] = []
    while stations.busy:
        setpoints = stations.control.setpoints.copy()
        done += stations.tick()
        stations.wait()
        if verifier_cameras.stamps:
            np.testing.assert_array_equal(stations.control.setpoints, setpoints)
    return done[0], verifier_cameras


def run_out(stations: Stations) -> list[Episode]:
    done: list[Episode] = []
    while stations.busy:
        done += stations.tick(ahead=20)
    return done


def test_the_views_decide() -> None:
    assert looked(255)[0].success
    assert not looked(0)[0].success


def test_what_is_unsure_is_looked_at_again() -> None:
    episode, verifier_cameras = looked(128, 128, 255)
    assert episode.success
    assert verifier_cameras.stamps == sorted(set(verifier_cameras.stamps))
    once, _ = looked(255)
    assert episode.times.verify == pytest.approx(once.times.verify + 2 * 0.04)


def test_what_stays_unsure_is_no_success() -> None:
    episode, verifier_cameras = looked(*[128] * LOOKS, 255)
    assert episode.verdict.outcome is Outcome.FAILURE
    assert episode.verdict.undecided
    assert verifier_cameras.brightness == [255], "it is not looked at for ever"


def test_a_failure_is_not_looked_at_again() -> None:
    assert looked(0, 255)[1].brightness == [255]


class Watching(Looking):
    """Remembers what it is shown; wants to see its probe's second period, too."""

    def __init__(self) -> None:
        super().__init__()
        self.shown: list[Evidence] = []

    def watch(self, evidence: Evidence) -> bool:
        return len(evidence.readings) == 2

    def verify_views(self, evidence: Evidence) -> Verdict:
        self.shown.append(evidence)
        return super().verify_views(evidence)


def watched(verifier_cameras: Painted, attempts: int = 1) -> tuple[Watching, Episode]:
    task = Watching()
    stations = reach_stations(task=task)
    stations.verifier_cameras = verifier_cameras
    job = Job(0, Purpose.EVALUATION, Demonstrations(task), "p", attempts=attempts)
    stations.begin(0, job)
    (episode,) = run_out(stations)
    return task, episode


def brightness(views: Sequence[CameraView]) -> list[float]:
    return [float(view.image.mean()) for view in views]


def test_a_task_may_watch_its_probe_before_the_last_look() -> None:
    verifier_cameras = Painted(50, 255)
    task, episode = watched(verifier_cameras)
    assert episode.success
    (evidence,) = task.shown
    (before,) = evidence.watched
    assert before.at == 1
    assert before.views[0].stamp == pytest.approx(0.04)
    assert brightness(before.views) == [50.0]
    assert brightness(evidence.views) == [255.0], "what was before is not among what is"
    assert verifier_cameras.stamps == pytest.approx([0.04, evidence.elapsed])


def test_watching_costs_the_probe_no_time() -> None:
    assert watched(Painted(50, 255))[1].times.verify == looked(255)[0].times.verify


def test_what_was_watched_stays_while_the_verifier_is_unsure() -> None:
    task, _ = watched(Painted(50, 128, 128, 255))
    assert [[brightness(w.views) for w in seen.watched] for seen in task.shown] == [[[50.0]]] * 3


def test_another_attempt_is_watched_anew() -> None:
    task, episode = watched(Painted(50, 0, 60, 255), attempts=2)
    assert episode.success
    assert [brightness(seen.watched[0].views) for seen in task.shown] == [[50.0], [60.0]]
    assert all(len(seen.watched) == 1 for seen in task.shown)


def test_sensors_watch_by_their_readings_alone() -> None:
    task = Watching()
    stations = reach_stations(task=task)
    stations.begin(0, Job(0, Purpose.EVALUATION, Demonstrations(task), "p"))
    assert run_out(stations)[0].success
    assert not task.shown


class Slow(Painted):
    """Eyes that are not done before they are told so, and look on a thread of their own."""

    def __init__(self, *brightness: int) -> None:
        super().__init__(*brightness)
        self.threads = ThreadPoolExecutor(1)
        self.go = threading.Event()

    def look[T](self, row: int, stamp: float, see: Callable[[list[CameraView]], T]) -> Future[T]:
        def wait() -> T:
            assert self.go.wait(60.0)
            return super(Slow, self).look(row, stamp, see).result()

        return self.threads.submit(wait)


def test_others_go_on_while_one_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    stations, verifier_cameras = reach_stations(2, task=Looking()), Slow(255, 255)
    stations.verifier_cameras = verifier_cameras
    stations.begin(0, Job(0, Purpose.EVALUATION, Demonstrations(stations.task), "p"))
    while stations.phase(0) is not StationPhase.VERIFY:
        stations.tick()
    stations.begin(1, Job(1, Purpose.EVALUATION, Demonstrations(stations.task), "p"))
    asked = stations.sensors.read
    seen: list[int] = []

    def read(rows: Rows, periods: Sequence[int]) -> tuple[Readings, FloatArray]:
        seen.extend(rows.tolist())
        if seen.count(1) == 3:
            verifier_cameras.go.set()
        return asked(rows, periods)

    monkeypatch.setattr(stations.sensors, "read", read)
    done = run_out(stations)
    assert [episode.station for episode in done] == [0, 1]
    assert all(episode.success for episode in done)
    assert seen.index(1) < len(seen) - 1 - seen[::-1].index(0), "before the verdict on the first"


def test_what_was_watched_may_come_late() -> None:
    verifier_cameras = Slow(50, 255)
    threading.Timer(0.2, verifier_cameras.go.set).start()
    task, episode = watched(verifier_cameras)
    assert episode.success
    assert [w.at for w in task.shown[0].watched] == [1]


def test_what_judging_raises_sets_the_station_aside() -> None:
    stations, verifier_cameras = reach_stations(task=Looking()), Slow()
    stations.verifier_cameras = verifier_cameras
    verifier_cameras.go.set()
    stations.begin(0, Job(0, Purpose.EVALUATION, Demonstrations(stations.task), "p"))
    (episode,) = run_out(stations)
    assert episode.verdict.outcome is Outcome.INVALID
    assert episode.verdict.reason.endswith("IndexError: pop from empty list")
    assert stations.aside == {0: episode.verdict.reason}


def test_judging_that_takes_too_long_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TOO_LONG", CallLimit(0.3, 0.3))
    stations, verifier_cameras = reach_stations(task=Looking()), Slow(255)
    stations.verifier_cameras = verifier_cameras
    stations.begin(0, Job(0, Purpose.EVALUATION, Demonstrations(stations.task), "p"))
    (episode,) = run_out(stations)
    verifier_cameras.go.set()
    assert episode.verdict.reason.endswith("verify_views: no verdict after 0.3 s")
    assert stations.idle == []


def test_without_eyes_the_sensors_serve_and_say_so() -> None:
    stations = reach_stations(task=Looking())
    assert stations.verified_by == "sensors only"
    blind = reach_stations()
    blind.verifier_cameras = Painted()
    assert blind.verified_by == "sensors only", "a task that does not look"
    blind.begin(0, Job(0, Purpose.EVALUATION, Demonstrations(blind.task), "p"))
    assert run_out(blind)[0].success


def test_eyes_see_what_the_calibration_says() -> None:
    """The red of a cube is where the calibrated cameras project the cube to."""
    stations = build_stations("pick_cube", 2, 1)
    verifier_cameras = verifier_cameras_of(stations)
    for row in range(2):
        stations.begin(row, Job(row, Purpose.EVALUATION, Demonstrations(stations.task), "p"))
    stations.tick()
    stations.wait()
    for row in range(2):
        cube = stations.twin.site_xpos[row, stations.twin.model.site("task_cube").id]
        views = verifier_cameras.look(row, 0.0, list).result()
        assert [view.camera.name for view in views] == ["front", "side"]
        for view in views:
            x, y = np.round(view.camera.project(cube)).astype(int)
            red, green, blue = view.image[y, x].astype(int)
            assert red > 2 * max(green, blue)
    verifier_cameras.close()
