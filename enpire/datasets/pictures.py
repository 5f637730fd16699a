"""Pictures of a twin: of a recorded episode, whose actions are carried out again, and of now."""

from __future__ import annotations

from collections.abc import Sequence

import mujoco
import numpy as np

from enpire.environment import RandomActions, Stations, build_stations
from enpire.environment.cameras.twin_cameras import GRAPHICS_ERRORS, SAMPLES, SHADOWS, no_opengl
from enpire.environment.core.answers import observed
from enpire.environment.core.policy_cameras import TwinFrameCapture
from enpire.environment.core.replay import repeated
from enpire.environment.stations.period_start import Sensed
from enpire.errors import StoreError, UsageError
from enpire.packs.finder import changed_packs, unknown
from enpire.types import Episode, Image


class Cameras:
    """Cameras of a world, at the first of some stations; on the thread that made them."""

    def __init__(self, stations: Stations, names: Sequence[str], height: int, width: int) -> None:
        """names: of those that may be looked through. height, width [pixels].

        Raises:
            UsageError: no such camera, or pictures that are too large.
            NoGraphics: there is no OpenGL by EGL.
        """
        self._twin = stations.twin
        model, _ = self._twin.simulation(0)
        known = [model.camera(i).name for i in range(model.ncam)]
        for name in names:
            if name not in known:
                raise UsageError(unknown("camera", name, known))
        most = model.vis.global_
        if width > most.offwidth or height > most.offheight:
            raise UsageError(
                f"{width} x {height} is too large: the world allows {most.offwidth} x "
                f"{most.offheight} (offwidth and offheight in its MJCF)"
            )
        quality = model.vis.quality
        before = quality.shadowsize, quality.offsamples
        quality.shadowsize, quality.offsamples = SHADOWS, SAMPLES
        try:
            self._renderer = mujoco.Renderer(model, height, width)
        except GRAPHICS_ERRORS as error:
            raise no_opengl(error) from error
        finally:
            quality.shadowsize, quality.offsamples = before

    def look(self, names: Sequence[str]) -> dict[str, Image]:
        """What they see now, (height, width, 3), red green blue."""
        _, data = self._twin.simulation(0)
        pictures: dict[str, Image] = {}
        for name in names:
            self._renderer.update_scene(data, name)
            pictures[name] = self._renderer.render().copy()
        return pictures

    def close(self) -> None:
        """Give back the OpenGL context."""
        self._renderer.close()


class Shooting:
    """Replays episodes of one task, one by one, for what a policy would have seen in each period.

    The twin repeats to the last bit, so what is seen is what was there. It is held against what
    the episode recorded. Pictures that the episode has are taken from there.
    """

    def __init__(self, task: str, size: int, world: str = "") -> None:
        """size: of pictures [px]. world: another than the task's. Raises as `build_stations`, and
        NoGraphics where nothing can be rendered.
        """
        self._stations = build_stations(task, 1, 1, world=world)
        self._frame_capture = TwinFrameCapture(self._stations.task, self._stations.sensors, size)
        self.policy_cameras = self._frame_capture.policy_cameras

    def __call__(self, episode: Episode) -> Image:
        """Pictures of each period, before what was done in it, (periods, cameras, size, size, 3).

        Raises:
            StoreError: the episode does not repeat, since its scene was put back by skills, it had
                several attempts, or the packs have changed.
        """
        self._require(episode)
        stations = self._stations
        shape = (
            len(self.policy_cameras.cameras),
            self.policy_cameras.size,
            self.policy_cameras.size,
            3,
        )
        pictures = np.empty((len(episode), *shape), np.uint8)
        taken = dict(zip(episode.pictured.tolist(), episode.pictures, strict=True))
        stations.abort("another episode")
        stations.begin(0, repeated(episode, RandomActions(episode.actions.shape[1])))
        for at in range(len(episode)):
            sensed = self._sensed()
            alike = sensed is not None and np.array_equal(
                observed(stations.task, sensed.readings)[0], episode.observations[at]
            )
            if sensed is None or not (alike or episode.variant):
                raise StoreError(
                    f"episode {episode.id} does not repeat (period {at}): pictures are of episodes "
                    "that began with a fast reset, under the packs as they are now"
                )
            seen = taken.get(at)
            if seen is None or seen.shape != shape:
                seen = self._frame_capture.capture(0).result()
            pictures[at] = seen
            stations.act(sensed)
        return pictures

    def _sensed(self) -> Sensed | None:
        """What is sensed in the next period of execution; None where the episode has ended."""
        while True:
            sensed = self._stations.sense([0])
            if self._stations.ended():
                return None
            if sensed is not None and sensed.executing:
                return sensed

    def close(self) -> None:
        """Give back the OpenGL context."""
        self._stations.abort("no more pictures")
        self._frame_capture.close()

    def _require(self, episode: Episode) -> None:
        changed = changed_packs(episode.packs, self._stations.packs)
        if changed or episode.attempts > 1:
            why = f"{', '.join(changed)} changed since" if changed else "it has several attempts"
            raise StoreError(f"episode {episode.id} cannot be replayed for pictures: {why}")
