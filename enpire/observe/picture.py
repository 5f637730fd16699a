"""A picture of a twin, at an initial condition or in the middle of a demonstration.

OpenGL comes by EGL, without a display: `MUJOCO_GL=egl` must be set before MuJoCo is imported.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import mujoco
import numpy as np

from enpire.environment import Demonstrations, Job, Readings, Stations
from enpire.environment.cameras.twin_cameras import GRAPHICS_ERRORS, SHADOWS, no_opengl
from enpire.errors import UsageError
from enpire.observe.soft_light import render_softly
from enpire.packs.finder import unknown
from enpire.twin.twin import Rows
from enpire.types import Float32Array, Image, Purpose

SAMPLES = 48  # of soft light in a still picture
FRAME_SAMPLES = 4  # of one among many


@dataclass(frozen=True, slots=True)
class Viewpoint:
    """A point of view: a camera of the scene, or around what the task tracks.

    distance [m], azimuth and elevation [degrees], as in MuJoCo's free camera; without `camera`.
    lift: above what is tracked it looks [m].
    """

    camera: str = ""
    distance: float = 0.7
    azimuth: float = 162.0
    elevation: float = -20.0
    width: int = 1280
    height: int = 800
    lift: float = 0.0


class _CountedDemonstrator(Demonstrations):
    """Demonstrations that count the control periods of an execution."""

    periods = 0

    def act(self, rows: Rows, observations: Float32Array, readings: Readings) -> Float32Array:
        """As `Demonstrations` does."""
        self.periods += 1
        return super().act(rows, observations, readings)


def go_to(stations: Stations, seed: int, at: float) -> float:
    """Bring station 0 to `at` seconds into a demonstration; below 0 to the start of its reset.

    An episode that ends earlier leaves the scene as it was at its end. Returns where it is [s].
    """
    watched = _CountedDemonstrator(stations.task)
    stations.begin(0, Job(seed, Purpose.DEMONSTRATION, watched, "picture"))
    while at >= 0 and stations.busy and watched.periods <= round(at / stations.period):
        stations.tick()
    stations.wait()
    return watched.periods * stations.period


def draw(stations: Stations, view: Viewpoint, row: int = 0, still: bool = True) -> Image:
    """One station, shape (height, width, 3), red green blue.

    Args:
        stations: among them the one in question.
        view: where it is seen from.
        row: its number.
        still: whether the picture is looked at for long; else it is one of many, and is drawn in a
            twentieth of the time, with coarser shadows.

    Raises:
        UsageError: no such camera, or a picture that is too large for the scene's buffer.
        NoGraphics: there is no OpenGL by EGL.
    """
    (model, data), task = stations.twin.simulation(row), stations.task
    names = [model.camera(i).name for i in range(model.ncam)]
    if view.camera and view.camera not in names:
        raise UsageError(unknown("camera", view.camera, names))
    require_room(model, view)
    camera = view.camera or around(data, task.tracked, view)
    quality = model.vis.quality
    before = quality.offsamples, quality.shadowsize
    quality.offsamples = 0  # the samples of soft light smooth all edges, in two thirds of the time
    if not still:
        quality.shadowsize = SHADOWS
    try:
        with mujoco.Renderer(model, view.height, view.width) as renderer:
            renderer.update_scene(data, camera)
            return render_softly(renderer, SAMPLES if still else FRAME_SAMPLES)
    except GRAPHICS_ERRORS as error:
        raise no_opengl(error) from error
    finally:
        quality.offsamples, quality.shadowsize = before


def require_room(model: mujoco.MjModel, view: Viewpoint) -> None:
    """Raise UsageError if a picture is too large for the scene's buffer."""
    most = model.vis.global_
    if view.width > most.offwidth or view.height > most.offheight:
        raise UsageError(
            f"{view.width} x {view.height} is too large: the world allows {most.offwidth} x "
            f"{most.offheight} (offwidth and offheight in its MJCF)"
        )


def around(data: mujoco.MjData, tracked: Sequence[str], view: Viewpoint) -> mujoco.MjvCamera:
    """Return a camera that looks at the middle of the sites `tracked`, as they lie now."""
    camera = mujoco.MjvCamera()
    camera.lookat = np.mean([data.site(name).xpos for name in tracked], axis=0)
    camera.lookat[2] += view.lift
    camera.distance, camera.azimuth = view.distance, view.azimuth
    camera.elevation = view.elevation
    return camera
