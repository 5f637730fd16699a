"""Recorded episodes carried out again on a twin, and pictures of what happened in them.

A twin repeats an episode to the bit from its seed and actions. What is seen meanwhile is held
against what was recorded, so a picture is never of anything else. OpenGL comes by EGL, without a
display: `MUJOCO_GL=egl` must be set before MuJoCo is imported.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import av
import mujoco
import numpy as np

from enpire.closing import Closing
from enpire.environment import Readings, Stations, build_stations
from enpire.environment.cameras.twin_cameras import GRAPHICS_ERRORS, SAMPLES, SHADOWS, no_opengl
from enpire.environment.core.replay import repeated
from enpire.errors import StoreError, UsageError
from enpire.observe.picture import Viewpoint, around, require_room
from enpire.observe.soft_light import render_softly
from enpire.packs.finder import GYM, changed_packs
from enpire.store import EpisodeRow, Run
from enpire.store.durable import disk_errors
from enpire.store.episodes import read_episode
from enpire.twin.twin import Rows
from enpire.types import Episode, Float32Array, Image

Shoot = Callable[[int], None]
"""Is called before what is done in each control period, with its number; for one that takes
pictures."""


class HoldStill:
    """A controller that does nothing; an episode that repeats never asks it for long."""

    def __init__(self, size: int) -> None:
        """size: of an action."""
        self._size = size

    def begin(self, row: int, rng: np.random.Generator, exploration: float) -> None:
        """Nothing to forget."""

    def act(self, rows: Rows, observations: Float32Array, readings: Readings) -> Float32Array:
        """Return zeros."""
        return np.zeros((len(rows), self._size), np.float32)


class EpisodeReplay:
    """Carries out recorded episodes of one task again, one by one, on one station of its own."""

    def __init__(self, task: str, world: str = "") -> None:
        """task, world: of the run, as `build_stations` takes them, and raises what it raises.

        Raises:
            UsageError: the task is no pack, so that nothing of it can be repeated.
        """
        if task.startswith(GYM):
            raise UsageError(f"{task} is no task pack: only episodes on a twin can be repeated")
        self.stations: Stations = build_stations(task, 1, 1, world=world)

    def __call__(self, episode: Episode, shoot: Shoot) -> None:
        """Carry out `episode`; shoot: called in every period of its execution and verification.

        Raises:
            StoreError: it does not repeat, as its scene was put back by skills, it was judged
                several times, somebody's hands were in it, or packs have changed since.
        """
        self._require(episode)
        stations, periods = self.stations, len(episode)
        stations.begin(0, repeated(episode, HoldStill(episode.actions.shape[1])))
        at = 0
        done: list[Episode] = []
        while not done:
            sensed = stations.sense([0])
            done = stations.ended()
            if sensed is not None and sensed.executing and not done:
                if at == periods:  # it was ended here, and not for how the scene looked
                    done = stations.abort("the recording ends")
                else:
                    shoot(at)
                    stations.act(sensed)
                    at += 1
            elif at == periods:
                stations.wait()
                shoot(at)  # where the verification is, or has ended
        observations = done[0].observations
        if len(observations) != periods or not np.array_equal(observations, episode.observations):
            raise StoreError(
                f"episode {episode.id} does not repeat: it began with a physical reset, or this "
                "machine rounds otherwise than the one that recorded it"
            )

    def _require(self, episode: Episode) -> None:
        changed = changed_packs(episode.packs, self.stations.packs)
        why = (
            f"{', '.join(changed)} changed since"
            if changed
            else "it was judged several times"
            if episode.attempts > 1
            else "nothing was done in it"
            if not len(episode)
            else ""
        )
        if why:
            self.stations.abort("not repeated")
            raise StoreError(f"episode {episode.id} cannot be carried out again: {why}")


class TwinCamera(Closing):
    """Takes pictures of one station, of what its task tracks as it lay at the first of them."""

    def __init__(self, stations: Stations, view: Viewpoint, samples: int = 1) -> None:
        """Open a renderer; it belongs to the thread that made it.

        samples: of soft light, see `render_softly`; each takes as long as a picture without.

        Raises:
            UsageError: the picture is too large for the world's buffer.
            NoGraphics: there is no OpenGL by EGL.
        """
        self._stations, self._view, self._samples = stations, view, samples
        model, _ = stations.twin.simulation(0)
        require_room(model, view)
        quality = model.vis.quality
        before = quality.shadowsize, quality.offsamples
        quality.shadowsize, quality.offsamples = SHADOWS, SAMPLES
        try:
            self._renderer = mujoco.Renderer(model, view.height, view.width)
        except GRAPHICS_ERRORS as error:
            raise no_opengl(error) from error
        finally:
            quality.shadowsize, quality.offsamples = before
        self._camera: mujoco.MjvCamera | None = None

    def close(self) -> None:
        """Let go of the renderer; from the thread that made it."""
        self._renderer.close()

    def aim(self) -> None:
        """Look at what the next picture shows, and stay there."""
        self._camera = None

    def picture(self) -> Image:
        """Return what is seen now, (height, width, 3), red green blue; physics must stand still."""
        _, data = self._stations.twin.simulation(0)
        if self._camera is None:
            self._camera = around(data, self._stations.task.tracked, self._view)
        self._renderer.update_scene(data, self._camera)
        return render_softly(self._renderer, self._samples)


def frames_at(
    replay: EpisodeReplay,
    camera: TwinCamera,
    episode: Episode,
    periods: Sequence[int],
    enough: Callable[[], bool] = lambda: False,
) -> list[tuple[int, Image]]:
    """Return pictures of an episode at some of its control periods, each with its period.

    The period after the last one that was executed shows the end of the verification, as far as it
    was repeated. enough: whether there is no more time; it is asked in every period.

    Raises:
        StoreError: it does not repeat, ended before any of these periods, or there was no time.
    """
    taken: dict[int, Image] = {}
    camera.aim()

    def shoot(at: int) -> None:
        if enough():
            replay.stations.abort("no time")
            raise StoreError(f"episode {episode.id} takes too long to be carried out again")
        if at in periods:
            taken[at] = camera.picture()

    replay(episode, shoot)
    if not taken:
        raise StoreError(f"episode {episode.id} ended before there was anything to show")
    return sorted(taken.items())


def recorded(run: Run, name: str) -> Episode:
    """Return one episode of a run, and read no other batch for it.

    name: its id, or its beginning or end where that is one episode's only.

    Raises:
        StoreError: there is none, or several.
    """
    rows = run.ledger.episodes()
    matches = [row for row in rows if row.id == name]
    matches = matches or [r for r in rows if r.id.startswith(name) or r.id.endswith(name)]
    if not rows:
        raise StoreError(f"{run.folder} has no episode yet: let the run go on until it has one")
    if len(matches) != 1:
        some = ", ".join(row.id for row in (matches or rows)[:3])
        count = f"{len(matches)} episodes are" if matches else "no episode is"
        raise StoreError(f"{count} called {name!r} in {run.folder}: give an id, such as {some}")
    return of_row(run, matches[0])


def of_row(run: Run, row: EpisodeRow) -> Episode:
    """Return the episode of a ledger's row."""
    return read_episode(run.folder / row.path, row.index)


class VideoFile(Closing):
    """An MP4 file that browsers play, a picture a control period; a `with` block."""

    def __init__(self, path: Path, rate: float, width: int, height: int) -> None:
        """rate: pictures a second. width, height: of each, even numbers [px]."""
        self._path = path
        with disk_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            self._container = av.open(str(path), "w", format="mp4")
        self._stream = self._container.add_stream("libx264", rate=round(rate))
        self._stream.width, self._stream.height = width, height
        self._stream.pix_fmt = "yuv420p"
        self._stream.options = {"crf": "21", "preset": "veryfast"}

    def add(self, image: Image) -> None:
        """Add a picture, (height, width, 3), red green blue."""
        frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(image), format="rgb24")
        with disk_errors(self._path):
            self._container.mux(self._stream.encode(frame))

    def close(self) -> None:
        """End the file."""
        with disk_errors(self._path):
            self._container.mux(self._stream.encode(None))
            self._container.close()
