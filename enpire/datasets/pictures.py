"""Pictures of a recorded episode: its actions are carried out again on a twin, and looked at."""

from __future__ import annotations

from collections.abc import Sequence

import mujoco
import numpy as np

from enpire.environment import build_stations
from enpire.environment.eyes import GRAPHICS_ERRORS, no_opengl
from enpire.errors import StoreError, UsageError
from enpire.gymnasium.environment import Stepper
from enpire.packs.finder import unknown
from enpire.types import Episode, Image


class Shooting:
    """Replays episodes of one task, one by one, and takes pictures of each control period.

    The twin repeats to the last bit, so what is seen is what was there. It is held against what
    the episode recorded.
    """

    def __init__(self, task: str, cameras: Sequence[str], height: int, width: int) -> None:
        """cameras: of the task's world. height, width [pixels].

        Raises:
            UsageError: no such camera.
            NoGraphics: there is no OpenGL by EGL.
        """
        self._stations = build_stations(task, 1, 1)
        self._stepper = Stepper(self._stations)
        model, _ = self._stations.twin.simulation(0)
        names = [model.camera(i).name for i in range(model.ncam)]
        for camera in cameras:
            if camera not in names:
                raise UsageError(unknown("camera", camera, names))
        self._cameras = tuple(cameras)
        try:
            self._renderer = mujoco.Renderer(model, height, width)
        except GRAPHICS_ERRORS as error:
            raise no_opengl(error) from error

    def __call__(self, episode: Episode) -> dict[str, list[Image]]:
        """Pictures by camera, one per period, before what was done in it.

        Raises:
            StoreError: the episode does not repeat, since it was no twin's, its scene was put back
                by skills, or the packs have changed.
        """
        self._require(episode)
        stepper, size = self._stepper, self._stations.action_size
        pictures: dict[str, list[Image]] = {camera: [] for camera in self._cameras}
        stepper.abort()
        stepper.step(np.zeros((1, size), np.float32), {0: episode.seed})
        for at, action in enumerate(episode.actions):
            alike = np.array_equal(stepper.observations[0], episode.observations[at])
            if stepper.over[0] or not (alike or episode.variant):
                raise StoreError(
                    f"episode {episode.id} does not repeat (period {at}): pictures are of episodes "
                    "that began with a fast reset, under the packs as they are now"
                )
            self._look(pictures)
            if at < len(episode) - 1:
                stepper.step(action[None], {})
        return pictures

    def close(self) -> None:
        """Give back the OpenGL context."""
        self._stepper.abort()
        self._renderer.close()

    def _require(self, episode: Episode) -> None:
        changed = sorted(n for n, v in episode.packs.items() if self._stations.packs.get(n) != v)
        if changed or episode.attempts > 1:
            why = f"{', '.join(changed)} changed since" if changed else "it has several attempts"
            raise StoreError(f"episode {episode.id} cannot be replayed for pictures: {why}")

    def _look(self, pictures: dict[str, list[Image]]) -> None:
        _, data = self._stations.twin.simulation(0)
        for camera, images in pictures.items():
            self._renderer.update_scene(data, camera)
            images.append(self._renderer.render().copy())
