"""A station after an episode, in pictures; and what holds of every pack that looks at it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from enpire.certification.hostile import scenes
from enpire.environment import (
    CameraView,
    Demonstrations,
    Evidence,
    Job,
    Readings,
    Stations,
    Watched,
    build_stations,
)
from enpire.environment.cameras.twin_cameras import TwinVerifierCameras
from enpire.types import FloatArray, Image, Outcome, Predicate, Purpose, Verdict
from tests.graphics import verifier_cameras_of

PERIOD = 0.04
GREY = (120, 122, 125)


@dataclass(frozen=True)
class Shot[T]:
    """What a verifier had felt and sees then. truth: the simulator's; watched: seen before."""

    stations: Stations
    readings: list[Readings]
    views: list[CameraView]
    qpos: FloatArray
    truth: T
    watched: Sequence[Watched] = ()

    def judge(self, views: list[CameraView] | None = None, probed: int = 0) -> Verdict:
        """By the cameras; probed: readings that count, all by default."""
        felt = self.readings[: probed or None]
        now = (len(felt) - 1) * PERIOD
        seen = [replace(v, stamp=v.stamp + now) for v in (self.views if views is None else views)]
        return self.stations.task.verify_views(Evidence(felt, PERIOD, seen, self.watched))

    def measures(self, views: list[CameraView] | None = None) -> dict[str, Predicate]:
        """The predicates by name."""
        return {p.name: p for p in self.judge(views).predicates}

    def with_view(self, camera: int, view: CameraView) -> list[CameraView]:
        """The views with another in the place of one."""
        return [view if i == camera else v for i, v in enumerate(self.views)]

    def painted(self, camera: int, image: Image) -> list[CameraView]:
        """The views with another picture in one of them."""
        return self.with_view(camera, replace(self.views[camera], image=image))


class Bench[T]:
    """One station that demonstrates, its cameras, and who knows the truth."""

    def __init__(
        self,
        stations: Stations,
        verifier_cameras: TwinVerifierCameras,
        truth: Callable[[Stations], T],
    ) -> None:
        self.stations, self.verifier_cameras, self._truth = stations, verifier_cameras, truth

    def after(self, seed: int, periods: int = 1000) -> Shot[T]:
        """A demonstration that is verified after so many periods, or when it looks done."""
        stations = self.stations
        stations.begin(0, Job(seed, Purpose.DEMONSTRATION, Demonstrations(stations.task), "p"))
        running = stations._running[0]
        stations.execute_periods = periods
        while stations.busy:
            stations.tick()
        stations.wait()
        readings = [one.untracked() for one in running.evidence]
        return self.shot(readings, stations.twin.qpos[0].copy())

    def shot(self, readings: list[Readings], qpos: FloatArray) -> Shot[T]:
        """The station with its joints so; it has to be idle."""
        self.stations.twin.qpos[0] = qpos
        self.stations.twin.forward(0)
        truth = self._truth(self.stations)
        return Shot(self.stations, readings, self.look(qpos), qpos, truth)

    def look(self, qpos: FloatArray) -> list[CameraView]:
        """At the station with its joints so."""
        self.stations.twin.qpos[0] = qpos
        return self.verifier_cameras.look(0, 0.0, list).result()


def bench_of[T](task: str, truth: Callable[[Stations], T]) -> Iterator[Bench[T]]:
    """For a fixture; skipped where nothing can be rendered."""
    stations = build_stations(task, 1, 1)
    verifier_cameras = verifier_cameras_of(stations)
    yield Bench(stations, verifier_cameras, truth)
    verifier_cameras.close()


def require_two_views[T](success: Shot[T], camera: int, stage: str, reason: str) -> None:
    """One view, a stale one beside it, or none: nobody can tell."""
    stale = success.with_view(camera, replace(success.views[camera], stamp=-0.2 - 1e-6))
    for left in ([success.views[camera]], stale, []):
        verdict = success.judge(left)
        assert verdict.undecided
        assert verdict.stage == stage
        assert reason in verdict.reason


def require_calibration[T](success: Shot[T], camera: int, axis: int, by: float) -> None:
    """A camera that stands so far [m] from where the calibration has it, either way, is noticed."""
    for sign in (-1, 1):
        calibrated = success.views[camera].camera
        shift = sign * by * np.eye(3)[axis]
        view = replace(
            success.views[camera], camera=replace(calibrated, position=calibrated.position + shift)
        )
        assert success.judge(success.with_view(camera, view)).undecided


def require_two_pictures[T](failure: Shot[T], success: Shot[T]) -> None:
    """A picture of success before one camera makes none, even where the arms feel one."""
    for camera in (0, 1):
        views = failure.with_view(camera, success.views[camera])
        for felt in (failure.readings, success.readings):
            judged = replace(failure, readings=felt).judge(views)
            assert judged.outcome is Outcome.FAILURE


def require_undeceived[T](failure: Shot[T], success: Shot[T], site: str) -> None:
    """No hostile scene that is drawn makes a success of it, even where the arms feel one."""
    twin = failure.stations.twin
    at = twin.site_xpos[0, twin.model.site(site).id].copy()
    felt = replace(failure, readings=success.readings)
    for scene in scenes(twin.model, site, at):
        views = scene.spoil(failure.views, success.views)
        assert felt.judge(views).outcome is Outcome.FAILURE, scene.name


def require_colours[T](success: Shot[T]) -> None:
    """Of other colours it is not known."""
    for shift in ([1, 2, 0], [2, 0, 1]):
        other = [replace(v, image=np.ascontiguousarray(v.image[..., shift])) for v in success.views]
        assert success.judge(other).undecided


def require_overlays(verdict: Verdict, least: int = 50) -> None:
    """Two frames, with so many pixels of what was recognised drawn in each."""
    assert [frame.name for frame in verdict.frames] == ["front", "side"]
    assert all(((f.image == (255, 0, 255)).all(axis=2)).sum() > least for f in verdict.frames)


def require_haste[T](success: Shot[T]) -> None:
    """A look takes less than 150 ms of the processor, whoever else is busy on it."""
    took = []
    while len(took) < 40 and min(took, default=1.0) >= 0.150:
        began = time.process_time()
        success.judge()
        took.append(time.process_time() - began)
    assert min(took) < 0.150
