"""What policies see by cameras: what a picture shows, when it is taken, what it leaves alone."""

from __future__ import annotations

import copy
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np
import pytest

from enpire.environment import (
    Demonstrations,
    InterventionWrapper,
    Job,
    Readings,
    Replay,
    Stations,
    build_stations,
)
from enpire.environment.cameras.twin_cameras import NoGraphics, calibrated
from enpire.environment.core.policy_cameras import (
    EVERY,
    PolicyCameras,
    TwinFrameCapture,
    boxes,
    crop,
    felt_entries,
)
from enpire.errors import UsageError
from enpire.twin.twin import Rows
from enpire.types import Episode, Float32Array, Image, Purpose
from tests.environment.reach import Reach, reach_stations

SIGHT = PolicyCameras(("front",), 4, (1,))


class Snaps:
    """Pictures that are the number of the station's periods so far; slow ones come late."""

    policy_cameras = SIGHT

    def __init__(self, stations: Stations, threads: ThreadPoolExecutor | None = None) -> None:
        self._stations, self._threads = stations, threads
        self.asked = 0

    def begin(self, row: int, rng: np.random.Generator) -> None:
        pass

    def capture(self, row: int) -> Future[Image]:
        self.asked += 1
        picture = np.full((1, 4, 4, 3), len(self._stations._running[row].actions), np.uint8)
        if self._threads is not None:
            return self._threads.submit(lambda: picture)
        answer: Future[Image] = Future()
        answer.set_result(picture)
        return answer


class Sees:
    """Moves along x, a plan of `ahead` periods at a time, and remembers what it was shown."""

    def __init__(self, ahead: int, always: bool = False) -> None:
        self._ahead, self.always = ahead, always
        self.shown: list[int] = []
        self.acted = 0

    def begin(self, row: int, rng: np.random.Generator, exploration: float) -> None:
        pass

    def look(self, row: int, pictures: Image) -> None:
        self.shown.append(int(pictures[0, 0, 0, 0]))

    def due(self, row: int) -> bool:
        return self.always

    def act(self, rows: Rows, observations: Float32Array, readings: Readings) -> Float32Array:
        self.acted += 1
        return np.tile(np.float32([0.1, 0, 0, 0, 0, 0, 0]), (len(rows), 1))

    def plan(self, row: int) -> Float32Array:
        return np.tile(np.float32([0.1, 0, 0, 0, 0, 0, 0]), (self._ahead, 1))

    def saw(self, row: int, observations: Float32Array) -> None:
        pass


def run(stations: Stations, jobs: list[Job], ahead: int = 0) -> list[Episode]:
    done: list[Episode] = []
    waiting = list(jobs)
    while waiting or stations.busy:
        for row in stations.idle[: len(waiting)]:
            stations.begin(row, waiting.pop(0))
        done += stations.tick(ahead)
    return sorted(done, key=lambda episode: episode.id)


def test_who_plans_is_shown_a_picture_whenever_it_is_asked() -> None:
    stations, sees = reach_stations(), Sees(7)
    stations.frame_capture = Snaps(stations)
    (episode,) = run(stations, [Job(0, Purpose.EVALUATION, sees, "p")])
    assert sees.shown == list(range(0, len(episode), 8))
    assert sees.acted == len(sees.shown)
    assert episode.pictured.tolist() == sees.shown
    assert episode.pictures.shape == (len(sees.shown), 1, 4, 4, 3)
    assert episode.pictures[:, 0, 0, 0, 0].tolist() == sees.shown


def test_of_who_is_asked_always_a_picture_is_taken_now_and_then() -> None:
    stations = reach_stations()
    stations.frame_capture = Snaps(stations)
    demonstrator = Demonstrations(stations.task)
    (episode,) = run(stations, [Job(0, Purpose.DEMONSTRATION, demonstrator, "d")])
    assert episode.pictured.tolist() == list(range(0, len(episode), EVERY))


def test_who_needs_pictures_of_now_has_them() -> None:
    stations, sees = reach_stations(), Sees(0, always=True)
    stations.frame_capture = Snaps(stations)
    (episode,) = run(stations, [Job(0, Purpose.EVALUATION, sees, "p")])
    assert sees.shown == list(range(len(episode)))


@pytest.mark.parametrize("ahead", [0, 5])
def test_pictures_change_nothing_else(ahead: int) -> None:
    """However late they come; a picture takes none of a robot's time."""
    jobs = [Job(seed, Purpose.EVALUATION, Sees(3), f"p{seed}") for seed in range(5)]
    blind = run(reach_stations(), jobs)
    with ThreadPoolExecutor(2) as threads:
        stations = reach_stations(2)
        stations.frame_capture = Snaps(stations, threads)
        seeing = run(stations, jobs, ahead)
    for one, other in zip(blind, seeing, strict=True):
        assert not len(one.pictures)
        assert len(other.pictures)
        assert other.times == one.times
        np.testing.assert_array_equal(other.observations, one.observations)
        np.testing.assert_array_equal(other.actions, one.actions)


def test_a_camera_that_fails_ends_the_run() -> None:
    stations = reach_stations()

    class Broken(Snaps):
        def capture(self, row: int) -> Future[Image]:
            answer: Future[Image] = Future()
            answer.set_exception(RuntimeError("no light"))
            return answer

    stations.frame_capture = Broken(stations)
    with pytest.raises(RuntimeError, match="no light"):
        run(stations, [Job(0, Purpose.EVALUATION, Sees(3), "p")])


def test_felt_is_what_needs_no_tracker() -> None:
    stations = reach_stations()
    assert felt_entries(stations.task, stations.sensors) == (1,)


def test_a_crop_shows_the_box_and_no_more() -> None:
    """The box's corners are all within a picture, and touch two of its opposite sides."""
    stations = reach_stations()
    corners = boxes(Reach.actions, stations.twin.scene.robot)
    for camera in calibrated(stations.twin.model):
        model = copy.copy(stations.twin.model)
        seen = (corners - camera.position) @ camera.rotation
        crop(model, camera.name, seen)
        at = model.camera(camera.name).id
        side = float(model.cam_sensorsize[at, 0])
        middle = model.cam_intrinsic[at, 2:]
        off = (seen[:, :2] / seen[:, 2:] - middle) / side
        assert abs(off).max() == pytest.approx(0.5, abs=1e-6)
        assert np.ptp(off, axis=0).max() == pytest.approx(1.0, abs=1e-6)


def test_things_are_seen_where_they_are() -> None:
    stations = _seeing(64)
    stations.begin(0, Job(7, Purpose.DEMONSTRATION, stations.starter[1], "d"))
    for _ in range(8):
        stations.tick()
    stations.wait()
    assert isinstance(stations.frame_capture, TwinFrameCapture)
    pictures = stations.frame_capture.capture(0).result().astype(int)
    model = stations.twin.model
    at = model.joint("task_cube").qposadr[0]
    cube = stations.twin.qpos[0, at : at + 3]
    corners = boxes(stations.task.actions, stations.twin.scene.robot)
    for camera, picture in zip(calibrated(model), pictures, strict=True):
        cropped = copy.copy(model)
        crop(cropped, camera.name, (corners - camera.position) @ camera.rotation)
        index = cropped.camera(camera.name).id
        x, y, z = (cube - camera.position) @ camera.rotation
        off = (np.array([x, y]) / z - cropped.cam_intrinsic[index, 2:]) / cropped.cam_sensorsize[
            index, 0
        ]
        red = (picture[..., 0] - picture[..., 1:].max(axis=-1) > 60) & (picture[..., 1] < 70)
        seen = np.argwhere(red).mean(axis=0)[::-1]
        np.testing.assert_allclose(seen, 31.5 + 64 * off, atol=1.5)
    stations.abort("seen")
    stations.frame_capture.close()


@pytest.mark.medium
def test_looks_are_those_of_an_episode_on_any_station() -> None:
    stations = _seeing(32, 2, vary_looks=True)
    frame_capture = stations.frame_capture
    assert isinstance(frame_capture, TwinFrameCapture)
    plain = _seeing(32).frame_capture
    assert isinstance(plain, TwinFrameCapture)

    def seen(row: int, seed: int) -> Image:
        frame_capture.begin(row, np.random.default_rng(seed))
        return frame_capture.capture(row).result()

    first = seen(0, 1)
    other = seen(1, 2)
    assert np.abs(first.astype(int) - other).mean() > 1.0
    np.testing.assert_array_equal(
        frame_capture.capture(0).result(), first
    )  # throughout the episode
    np.testing.assert_array_equal(seen(1, 1), first)
    assert np.abs(plain.capture(0).result().astype(int) - first).mean() > 1.0
    for each in (frame_capture, plain):
        each.close()


def test_each_job_has_looks_of_its_own_seed() -> None:
    class Told(Snaps):
        def begin(self, row: int, rng: np.random.Generator) -> None:
            told.append(float(rng.random()))

    told: list[float] = []
    stations = reach_stations(2)
    stations.frame_capture = Told(stations)
    jobs = [Job(seed, Purpose.EVALUATION, Sees(3), f"p{n}") for n, seed in enumerate((5, 6, 5))]
    run(stations, jobs)
    first, second, third = told
    assert first == third != second


def test_looks_that_nobody_sees_do_not_vary() -> None:
    with pytest.raises(UsageError, match="--images 64"):
        build_stations("pick_cube", 1, vary_looks=True)


def test_there_are_pictures_of_task_packs_only() -> None:
    from enpire.environment import Order, open_stations

    with pytest.raises(UsageError, match="--images is for a task pack"):
        open_stations(Order("gym:Pendulum-v1", images=64), 1)


def _seeing(size: int, stations: int = 1, vary_looks: bool = False) -> Stations:
    try:
        return build_stations("pick_cube", stations, 1, images=size, vary_looks=vary_looks)
    except NoGraphics as error:
        pytest.skip(str(error))


def test_who_helps_sees_what_was_seen_last() -> None:
    stations = reach_stations()
    stations.frame_capture = Snaps(stations)
    policy, helper = Sees(0), Sees(0)

    class Soon:
        def begin(self, row: int, rng: np.random.Generator) -> None:
            self.left = 6

        def trouble(self, row: int, observation: Float32Array) -> int | None:
            self.left -= 1
            return None if self.left else 5

    corrected = InterventionWrapper(policy, helper, Soon(), stations.task.actions)
    (episode,) = run(stations, [Job(0, Purpose.COLLECTION, corrected, "p+h")])
    assert policy.shown == [0, 4]
    assert helper.shown[0] == 4
    assert episode.helped
    assert helper.shown == [4, *range(8, len(episode), EVERY)]


def test_a_replay_hands_pictures_on() -> None:
    stations = reach_stations()
    stations.frame_capture = Snaps(stations)
    then = Sees(0)
    replay = Replay(np.tile(np.float32([0.1, 0, 0, 0, 0, 0, 0]), (4, 1)), then)
    (episode,) = run(stations, [Job(0, Purpose.COLLECTION, replay, "r")])
    assert then.shown == list(range(0, len(episode), EVERY))
