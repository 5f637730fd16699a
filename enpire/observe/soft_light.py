"""Soft shadows and smooth edges: the mean of pictures with slightly different lamps and pixels.

MuJoCo's renderer draws the shadow of a point, with a hard edge. A lamp of some size is many points.
"""

from __future__ import annotations

import math

import mujoco
import numpy as np

from enpire.types import FloatArray, Image

WIDTH = math.radians(7.0)  # half of the angle under which a lamp is seen
GOLDEN = math.pi * (3.0 - math.sqrt(5.0))
PLASTIC = 0.7548776662, 0.5698402910  # Roberts' sequence, which fills a square evenly
FILL = 0.10  # light from all sides that is added, so that black parts have a shape


def render_softly(renderer: mujoco.Renderer, samples: int) -> Image:
    """Return a picture of a renderer's scene, (height, width, 3), red green blue.

    Args:
        renderer: whose scene is up to date; it is changed.
        samples: directions of each lamp; with one the picture is as MuJoCo draws it.
    """
    if samples <= 1:
        plain: Image = renderer.render().copy()
        return plain
    lights = [renderer.scene.lights[i] for i in range(renderer.scene.nlight)]
    begun = [np.array(light.dir, np.float64) for light in lights]
    cameras = [(eye, _window(eye)) for eye in renderer.scene.camera]
    lights[0].ambient[:] = np.array(lights[0].ambient) + FILL
    total = np.zeros((renderer.height, renderer.width, 3), np.float32)
    for sample in range(samples):
        for light, direction in zip(lights, begun, strict=True):
            if light.castshadow:
                light.dir[:] = _turned(direction, sample, samples)
        for eye, window in cameras:
            _shift(eye, window, sample, renderer.height)
        total += renderer.render()
    return np.asarray(np.rint(total / samples), np.uint8)


def _window(eye: mujoco.MjvGLCamera) -> tuple[float, float, float]:
    """Return what an eye looks through: the middle across, the lower and the upper edge [m]."""
    return eye.frustum_center, eye.frustum_bottom, eye.frustum_top


def _shift(
    eye: mujoco.MjvGLCamera, window: tuple[float, float, float], sample: int, height: int
) -> None:
    """Shift what an eye sees by a part of a pixel; the samples fill a pixel evenly."""
    middle, bottom, top = window
    pixel = (top - bottom) / height
    right, up = (((sample + 1) * ratio) % 1.0 - 0.5 for ratio in PLASTIC)
    eye.frustum_center = middle + right * pixel
    eye.frustum_bottom, eye.frustum_top = bottom + up * pixel, top + up * pixel


def _turned(direction: FloatArray, sample: int, samples: int) -> FloatArray:
    """Return a direction of a lamp's disc: they fill it evenly, as the seeds of a sunflower do."""
    radius = math.tan(WIDTH) * math.sqrt((sample + 0.5) / samples)
    angle = GOLDEN * sample
    along = direction / np.linalg.norm(direction)
    aside = np.cross(along, (0.0, 1.0, 0.0) if abs(along[1]) < 0.9 else (1.0, 0.0, 0.0))
    aside /= np.linalg.norm(aside)
    other = np.cross(along, aside)
    turned = along + radius * (math.cos(angle) * aside + math.sin(angle) * other)
    result: FloatArray = turned / np.linalg.norm(turned)
    return result
