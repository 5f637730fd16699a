"""The cameras of a twin's stations: pictures rendered by OpenGL, as a real station would take them.

Rendering needs EGL (or OSMesa): `MUJOCO_GL` must be set before MuJoCo is imported.
"""

from __future__ import annotations

import copy
import math
import weakref
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from queue import SimpleQueue
from threading import Thread, current_thread
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from enpire.environment.cameras.camera import Camera, CameraView
from enpire.errors import EnpireError
from enpire.twin import Twin
from enpire.types import Image

WIDTH, HEIGHT = 640, 480  # of the window in the middle of a picture that the verifier reads [px]
WINDOW = 0.5  # share of the picture's width and height that it is: the whole has 1280 x 960
SHADOWS = 1024  # resolution of shadow maps: finer ones take most of the time
SAMPLES = 0  # of antialiasing: 4 take as long again, and the tasks here see no better by them


@dataclass(frozen=True, slots=True, eq=False)
class _LooksRequest:
    """Copies of what a station's looks depend on, for the renderer; then `show`, or `fail`."""

    state: dict[str, NDArray[Any]]  # fields of MjData
    model: dict[str, NDArray[Any]]  # fields of MjModel that vary
    show: Callable[[list[Image]], None]
    fail: Callable[[BaseException], None]


Asked = SimpleQueue[_LooksRequest | None]


class NoGraphics(EnpireError):
    """This machine cannot render."""


def no_opengl(error: Exception) -> NoGraphics:
    """What to do about what OpenGL raised."""
    return NoGraphics(
        f"no OpenGL by EGL ({error}): install libEGL (on Debian and Ubuntu: libegl1 and "
        "libgl1-mesa-dri), or set MUJOCO_GL=osmesa"
    )


GRAPHICS_ERRORS = (RuntimeError, ImportError, AttributeError, mujoco.FatalError)


class Renderings:
    """Renders what some cameras see of a twin's stations, on a thread of its own.

    An OpenGL context belongs to the thread that made it. The state of a station goes no further
    than the renderer, which has a model of its own.
    """

    def __init__(
        self,
        twin: Twin,
        model: mujoco.MjModel,
        cameras: Sequence[str],
        size: tuple[int, int],
        shadows: bool = True,
    ) -> None:
        """model: the renderer's own copy of the twin's. size: width and height of a picture [px].

        Raises:
            NoGraphics: this machine cannot render.
        """
        self._twin = twin
        moved = ("mocap_pos", "mocap_quat") if twin.model.nmocap else ()
        self._shown = ("qpos", "eq_active", *moved)
        self._asked: Asked = SimpleQueue()
        thread = Thread(
            target=_serve,
            args=(model, tuple(cameras), size, shadows, self._asked),
            name="renderings",
            daemon=True,
        )
        thread.start()
        self._end = weakref.finalize(self, _end, self._asked, thread)
        try:
            self.of(0, len).result()
        except GRAPHICS_ERRORS as error:
            raise no_opengl(error) from error

    def of[T](
        self,
        row: int,
        see: Callable[[list[Image]], T],
        looks: Mapping[str, NDArray[Any]] | None = None,
    ) -> Future[T]:
        """What `see` makes of a picture by each camera; the station must not be under way.

        looks: fields of the renderer's model to be other than they are. They stay so: give the
        same ones, or none, with every picture.
        """
        answer: Future[T] = Future()

        def show(images: list[Image]) -> None:
            seen = see(images)
            if not answer.done():  # nobody waits any more for what took too long
                answer.set_result(seen)

        def fail(error: BaseException) -> None:
            if not answer.done():
                answer.set_exception(error)

        twin = self._twin
        state = {name: twin.bind(name)[row].copy() for name in self._shown}
        self._asked.put(_LooksRequest(state, twin.variation(row) | dict(looks or {}), show, fail))
        return answer

    def close(self) -> None:
        """Give back the OpenGL context; the end of the process does so too."""
        self._end()


class TwinVerifierCameras:
    """What the verifier sees: the whole bench, as the calibrated cameras of a station show it."""

    def __init__(
        self, twin: Twin, dress: Callable[[mujoco.MjModel], None] = lambda model: None
    ) -> None:
        """Open the cameras of `twin`'s world; raises NoGraphics.

        dress: changes how things look from what the calibration says, or where cameras stand. It
        gets the renderer's own model, and must leave bodies and joints as they are.
        """
        self.cameras = calibrated(twin.model)
        model = copy.copy(twin.model)
        model.vis.quality.shadowsize = SHADOWS
        model.vis.quality.offsamples = SAMPLES
        model.cam_fovy[:] = [_window(fovy) for fovy in model.cam_fovy]
        dress(model)
        names = [camera.name for camera in self.cameras]
        self._renderings = Renderings(twin, model, names, (WIDTH, HEIGHT))

    def look[T](self, row: int, stamp: float, see: Callable[[list[CameraView]], T]) -> Future[T]:
        """What `see` makes of a view of each camera; the station must not be under way."""
        cameras = self.cameras

        def shown(images: list[Image]) -> T:
            return see([CameraView(*shot, stamp) for shot in zip(cameras, images, strict=True)])

        return self._renderings.of(row, shown)

    def close(self) -> None:
        """Give back the OpenGL context; the end of the process does so too."""
        self._renderings.close()


def _serve(
    model: mujoco.MjModel,
    cameras: Sequence[str],
    size: tuple[int, int],
    shadows: bool,
    asked: Asked,
) -> None:
    """Render until there is nothing more to come; OpenGL stays with this thread."""
    data = mujoco.MjData(model)
    renderer: mujoco.Renderer | None = None
    while (request := asked.get()) is not None:
        try:
            if renderer is None:
                renderer = mujoco.Renderer(model, size[1], size[0])
                renderer.scene.flags[mujoco.mjtRndFlag.mjRND_SHADOW] = shadows
            for target, fields in ((model, request.model), (data, request.state)):
                for name, values in fields.items():
                    getattr(target, name)[...] = values
            mujoco.mj_forward(model, data)
            images: list[Image] = []
            for camera in cameras:
                renderer.update_scene(data, camera)
                images.append(renderer.render().copy())
            request.show(images)
        except (Exception, SystemExit) as error:  # for who waits
            request.fail(error)
        del request  # it may be all that keeps a twin alive
    if renderer is not None:
        renderer.close()


def _end(asked: Asked, thread: Thread) -> None:
    asked.put(None)
    if thread is not current_thread():  # which may be the one that lets go of them last
        thread.join()


def calibrated(model: mujoco.MjModel) -> list[Camera]:
    """The cameras that stand in the world, as a calibration would give them."""
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    mujoco.mj_camlight(model, data)
    return [
        Camera(
            model.camera(i).name,
            data.cam_xpos[i].copy(),
            data.cam_xmat[i].reshape(3, 3) @ np.diag([1.0, -1.0, -1.0]),
            0.5 * HEIGHT / math.tan(math.radians(_window(model.cam_fovy[i])) / 2),
            WIDTH,
            HEIGHT,
        )
        for i in np.flatnonzero(model.cam_bodyid == 0).tolist()
    ]


def _window(fovy: float) -> float:
    """Vertical field of view of the window [deg]."""
    return math.degrees(2 * math.atan(WINDOW * math.tan(math.radians(fovy) / 2)))
