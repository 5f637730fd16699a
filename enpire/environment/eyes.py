"""The cameras of a twin's stations: pictures rendered by OpenGL, as a real station would take them.

Rendering needs EGL (or OSMesa): `MUJOCO_GL` must be set before MuJoCo is imported.
"""

from __future__ import annotations

import copy
import math
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from threading import Thread

import mujoco
import numpy as np

from enpire.environment.cameras import Camera, View
from enpire.errors import EnpireError
from enpire.twin import Twin
from enpire.types import Image

WIDTH, HEIGHT = 640, 480  # of the window in the middle of a picture that the verifier reads [px]
WINDOW = 0.5  # share of the picture's width and height that it is: the whole has 1280 x 960
SHADOWS = 1024  # resolution of shadow maps: finer ones take most of the time

Asked = SimpleQueue[tuple[Future[list[Image]], list[str]] | None]  # cameras' names, at a time


class NoGraphics(EnpireError):
    """This machine cannot render."""


def no_opengl(error: Exception) -> NoGraphics:
    """What to do about what OpenGL raised."""
    return NoGraphics(
        f"no OpenGL by EGL ({error}): install libEGL (on Debian and Ubuntu: libegl1 and "
        "libgl1-mesa-dri), or set MUJOCO_GL=osmesa"
    )


GRAPHICS_ERRORS = (RuntimeError, ImportError, AttributeError, mujoco.FatalError)


class TwinEyes:
    """Renders what the world's cameras see of a station, on a thread of its own.

    An OpenGL context belongs to the thread that made it; whoever looks waits. The state of a
    station goes no further than the renderer, which has a model of its own.
    """

    def __init__(
        self, twin: Twin, dress: Callable[[mujoco.MjModel], None] = lambda model: None
    ) -> None:
        """Open the cameras of `twin`'s world; raises NoGraphics.

        dress: changes how things look from what the calibration says, or where cameras stand. It
        gets the renderer's own model, and must leave bodies and joints as they are.
        """
        self._twin = twin
        self.cameras = calibrated(twin.model)
        self._model = copy.copy(twin.model)
        self._model.vis.quality.shadowsize = SHADOWS
        self._model.cam_fovy[:] = [_window(fovy) for fovy in self._model.cam_fovy]
        dress(self._model)
        self._data = mujoco.MjData(self._model)
        self._asked: Asked = SimpleQueue()
        thread = Thread(
            target=_serve, args=(self._model, self._data, self._asked), name="eyes", daemon=True
        )
        thread.start()
        self._end = weakref.finalize(self, _end, self._asked, thread)
        try:
            self._shoot(self.cameras[:1])
        except GRAPHICS_ERRORS as error:
            raise no_opengl(error) from error

    def look(self, row: int, stamp: float) -> list[View]:
        """A view of each camera; the station must not be under way."""
        self._data.qpos[:] = self._twin.qpos[row]
        self._data.eq_active[:] = self._twin.eq_active[row]
        for name, values in self._twin.variation(row).items():
            getattr(self._model, name)[...] = values
        images = self._shoot(self.cameras)
        return [
            View(camera, image, stamp) for camera, image in zip(self.cameras, images, strict=True)
        ]

    def close(self) -> None:
        """Give back the OpenGL context; the end of the process does so too."""
        self._end()

    def _shoot(self, cameras: list[Camera]) -> list[Image]:
        answer: Future[list[Image]] = Future()
        self._asked.put((answer, [camera.name for camera in cameras]))
        return answer.result()


def _serve(model: mujoco.MjModel, data: mujoco.MjData, asked: Asked) -> None:
    """Render until there is nothing more to come; OpenGL stays with this thread."""
    renderer: mujoco.Renderer | None = None
    while (one := asked.get()) is not None:
        answer, cameras = one
        try:
            if renderer is None:
                renderer = mujoco.Renderer(model, HEIGHT, WIDTH)
            mujoco.mj_forward(model, data)
            images: list[Image] = []
            for camera in cameras:
                renderer.update_scene(data, camera)
                images.append(renderer.render().copy())
            answer.set_result(images)
        except Exception as error:  # for who waits
            answer.set_exception(error)
    if renderer is not None:
        renderer.close()


def _end(asked: Asked, thread: Thread) -> None:
    asked.put(None)
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
