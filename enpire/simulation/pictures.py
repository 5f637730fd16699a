"""What the cameras of a simulated station see: a few pictures a second, while somebody looks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future

import mujoco

from enpire.environment.cameras.camera import Camera, CameraView
from enpire.environment.cameras.twin_cameras import TwinVerifierCameras
from enpire.errors import UsageError
from enpire.packs.finder import unknown
from enpire.twin import Twin

PERIOD_S = 0.1  # between two pictures of a camera; a machine that is too slow takes fewer


class Pictures[T]:
    """The newest pictures of a twin's first station, as `made` makes of them.

    Rendering, and `made`, take place in a thread of their own.
    """

    def __init__(
        self, twin: Twin, cameras: Sequence[str], made: Callable[[list[CameraView], int], T]
    ) -> None:
        """cameras: that the station's file names. made: is given a view by each camera of the
        world, and when it was taken [ns]; raises NoGraphics, or UsageError for no such camera.
        """
        self.verifier_cameras = TwinVerifierCameras(twin, _without_shadows)
        self.cameras: dict[str, Camera] = {
            camera.name: camera for camera in self.verifier_cameras.cameras
        }
        for camera in cameras:
            if camera not in self.cameras:
                self.close()
                raise UsageError(unknown("camera", camera, list(self.cameras)))
        self._made = made
        self._next = 0
        self._way: Future[T] | None = None

    def take(self, now: int, measured: int) -> T | None:
        """What was made since it was asked last; the twin is as it was at `measured` [ns]."""
        there = None
        if self._way is not None and self._way.done():
            there, self._way = self._way.result(), None
        if self._way is None and now >= self._next:
            self._next = now + round(PERIOD_S * 1e9)
            self._way = self.verifier_cameras.look(
                0, 0.0, lambda views: self._made(views, measured)
            )
        return there

    def close(self) -> None:
        """Give back the OpenGL context."""
        self.verifier_cameras.close()


def _without_shadows(model: mujoco.MjModel) -> None:
    """They take more than half of the time."""
    model.vis.quality.shadowsize = 0
