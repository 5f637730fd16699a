"""Scenes made to deceive a verifier that looks, and what it says of them.

Each is what an arm's bench may show: something stands before a camera, another object lies there, a
picture of a success is held up or lies about, light and cameras are not where they were. The
physics is as ever; only what cameras see is changed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace

import cv2
import mujoco
import numpy as np

from enpire.certification.episodes import Observer
from enpire.certification.row import CheckRow
from enpire.certification.verifier import AuditedEpisode
from enpire.environment import Camera, CameraView, Stations
from enpire.environment.cameras import domain_randomization
from enpire.environment.cameras.twin_cameras import TwinVerifierCameras
from enpire.twin import Twin
from enpire.types import Episode, FloatArray, Image

MOVED = 0.005  # of a camera [m]
PRINT = 0.20  # width of a picture that lies on the bench [m]
GREY = (120, 122, 125)
ANY = np.random.default_rng(0)  # for looks of which nothing is drawn


@dataclass(frozen=True, slots=True, eq=False)
class HostileScene:
    """One way to deceive."""

    name: str
    dress: Callable[[mujoco.MjModel], None] = lambda model: None  # changes the renderer's model
    # Changes pictures, given those of a success.
    spoil: Callable[[list[CameraView], list[CameraView]], list[CameraView]] = (
        lambda views, success: views
    )
    wrong: bool = False  # whether the object is none that could make it a success


class HostileVerifierCameras:
    """The cameras of a twin in such a scene."""

    def __init__(self, twin: Twin, scene: HostileScene, success: list[CameraView]) -> None:
        """success: what the cameras showed at the end of an episode that was one."""
        self.scene = scene
        self._verifier_cameras = TwinVerifierCameras(twin, scene.dress)
        self._success = success

    def look[T](self, row: int, stamp: float, see: Callable[[list[CameraView]], T]) -> Future[T]:
        """As `TwinVerifierCameras` does, deceived."""
        spoil, success = self.scene.spoil, self._success
        return self._verifier_cameras.look(row, stamp, lambda views: see(spoil(views, success)))

    def close(self) -> None:
        """As `TwinVerifierCameras` does."""
        self._verifier_cameras.close()


class FinalPictures(Observer):
    """What cameras show at the end of a success, and where the tracked object is then [m]."""

    def __init__(self, verifier_cameras: TwinVerifierCameras) -> None:
        self._verifier_cameras = verifier_cameras
        self.views: list[CameraView] = []
        self.at: FloatArray = np.zeros(3)

    def ended(self, stations: Stations, episode: Episode) -> None:
        """Look."""
        twin = stations.twin
        self.views = self._verifier_cameras.look(episode.station, 0.0, list).result()
        self.at = twin.site_xpos[
            episode.station, twin.model.site(stations.task.tracked[0]).id
        ].copy()


def row(found: Mapping[HostileScene, list[AuditedEpisode]]) -> CheckRow:
    """False successes in hostile scenes, and the true ones that are still told."""
    judged = [(s, a) for s, audited in found.items() for a in audited]
    fit = [(s, a) for s, a in judged if a.was and not s.wrong]
    unfit = [(s, a) for s, a in judged if not a.was or s.wrong]
    fooled = [(s, a) for s, a in unfit if a.said]
    told = f"{sum(a.said for _, a in fit)} of {len(fit)} true successes called one all the same"
    if fooled:
        told += f"; {fooled[0][0].name}: seed {fooled[0][1].seed}"
    return CheckRow(
        "hostile scenes",
        f"failures called a success in {len(found)} scenes",
        len(fooled),
        len(unfit),
        "0",
        len(unfit) > 0 and not fooled,
        told,
    )


def scenes(model: mujoco.MjModel, tracked: str, at: FloatArray) -> list[HostileScene]:
    """All of them, for the object that carries the site `tracked`; at: (3,), where it is [m]."""
    body = model.site_bodyid[model.site(tracked).id]
    cameras = np.flatnonzero(model.cam_bodyid == 0).tolist()
    made = [
        HostileScene("an object of another colour", lambda m: _recolour(m, body), wrong=True),
        HostileScene(
            "the light moved",
            lambda m: domain_randomization.dress(m, domain_randomization.other_light(m, ANY)),
        ),
        HostileScene("a picture of success lies on the bench", spoil=_lay_print),
    ]
    for i, camera in enumerate(cameras):
        name = model.camera(camera).name
        made += [
            HostileScene(f"something before camera {name}", spoil=_hide(i, at, 0.08)),
            HostileScene(f"something small before camera {name}", spoil=_hide(i, at, 0.012)),
            HostileScene(f"a picture of success before camera {name}", spoil=_hold_print(i)),
            *(
                HostileScene(
                    f"camera {name} 5 mm off along {way}{'xyz'[axis]}", _shift(camera, axis, sign)
                )
                for axis in range(3)
                for way, sign in (("-", -1), ("+", 1))
            ),
        ]
    return made


def _recolour(model: mujoco.MjModel, body: int) -> None:
    """A third of the way round the colours."""
    for geom in np.flatnonzero(model.geom_bodyid == body):
        red, green, blue, alpha = model.geom_rgba[geom]
        model.geom_rgba[geom] = blue, red, green, alpha


def _shift(camera: int, axis: int, sign: int) -> Callable[[mujoco.MjModel], None]:
    def dress(model: mujoco.MjModel) -> None:
        model.cam_pos[camera, axis] += sign * MOVED

    return dress


def _hide(
    index: int, at: FloatArray, half: float
) -> Callable[[list[CameraView], list[CameraView]], list[CameraView]]:
    """A grey board between a camera and the place where it matters; half its size there [m]."""

    def spoil(views: list[CameraView], success: list[CameraView]) -> list[CameraView]:
        view = views[index]
        x, y = view.camera.project(at)
        size = half * view.camera.focal / np.linalg.norm(at - view.camera.position)
        low = int(x - size), int(y - size)
        high = int(x + size), int(y + size)
        image = view.image.copy()
        cv2.rectangle(image, low, high, GREY, -1)
        return _with(views, index, image)

    return spoil


def _hold_print(index: int) -> Callable[[list[CameraView], list[CameraView]], list[CameraView]]:
    """The whole of one camera's picture is that of a success."""

    def spoil(views: list[CameraView], success: list[CameraView]) -> list[CameraView]:
        return _with(views, index, success[index].image)

    return spoil


def _lay_print(views: list[CameraView], success: list[CameraView]) -> list[CameraView]:
    """The first camera's picture of a success lies on the bench, where both see it."""
    result = views
    for i, view in enumerate(views):
        picture = success[0].image
        height, width = picture.shape[:2]
        x, y = 0.28, -PRINT / 2
        far = x - PRINT * height / width
        lies = np.array([[far, y, 0], [far, y + PRINT, 0], [x, y + PRINT, 0], [x, y, 0]])
        corners = np.array([[0, 0], [width, 0], [width, height], [0, height]], np.float32)
        onto = cv2.getPerspectiveTransform(corners, _pixels(view.camera, lies))
        size = view.camera.width, view.camera.height
        laid = cv2.warpPerspective(picture, onto, size)
        where = cv2.warpPerspective(np.full_like(picture, 255), onto, size) > 127
        image = view.image.copy()
        image[where] = laid[where]
        result = _with(result, i, image)
    return result


def _pixels(camera: Camera, points: FloatArray) -> FloatArray:
    pixels: FloatArray = camera.project(points).astype(np.float32)
    return pixels


def _with(views: Sequence[CameraView], index: int, image: Image) -> list[CameraView]:
    return [replace(v, image=image) if i == index else v for i, v in enumerate(views)]
