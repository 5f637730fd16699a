"""How a station looks to a policy, anew in each episode (domain randomisation).

Light, colours and where cameras stand are drawn, so that a policy learns where things are from what
stays (Tobin et al. 2017, arXiv 1703.06907). Of the renderer's own model, and of what policies see
alone: the verifier's pictures and the physics know nothing of it. No texture is loaded anew:
colours tint what there is.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import mujoco
import numpy as np
from numpy.typing import NDArray

from enpire.types import FloatArray

BRIGHTNESS = 0.3  # of each light, its share up or down
LEANING = 0.3  # of a light's direction, along each axis of the unit vector
TINT = 0.2  # of each colour, share of red, green and blue: what is red stays red
STANDING = 0.01  # of a camera, along each axis [m]
TURNED = math.radians(1.0)  # of a camera, about each axis [rad]
VIEW = 0.03  # of a camera's field of view, its share

OFF, TURNED_OFF = 0.005, math.radians(1.0)  # a camera that has been knocked [m], [rad]

Looks = dict[str, NDArray[np.floating]]  # fields of a model, whole
DrawLooks = Callable[[mujoco.MjModel, np.random.Generator], Looks]
"""Draws an episode's looks about those of a model, which is not changed."""


def looks(model: mujoco.MjModel, rng: np.random.Generator) -> Looks:
    """The looks of one episode, about those of `model`, which is not changed."""
    lights, cameras = model.nlight, np.flatnonzero(model.cam_bodyid == 0)
    bright = 1 + rng.uniform(-BRIGHTNESS, BRIGHTNESS, (lights, 1))
    towards = model.light_dir + rng.uniform(-LEANING, LEANING, (lights, 3))
    drawn: Looks = {
        "light_diffuse": model.light_diffuse * bright * _tints(lights, rng),
        "light_ambient": model.light_ambient * bright,
        "light_dir": towards / np.linalg.norm(towards, axis=1, keepdims=True),
        "geom_rgba": _tinted(model.geom_rgba, rng),
        "mat_rgba": _tinted(model.mat_rgba, rng),
        "cam_pos": model.cam_pos.copy(),
        "cam_quat": model.cam_quat.copy(),
        "cam_sensorsize": model.cam_sensorsize.copy(),
    }
    for camera in cameras:
        drawn["cam_pos"][camera] += rng.uniform(-STANDING, STANDING, 3)
        mujoco.mju_quatIntegrate(drawn["cam_quat"][camera], rng.uniform(-TURNED, TURNED, 3), 1.0)
        drawn["cam_sensorsize"][camera] *= 1 + rng.uniform(-VIEW, VIEW)
    return drawn


def other_light(model: mujoco.MjModel, rng: np.random.Generator) -> Looks:
    """The lights come from the other side, warmer and weaker; nothing of it is drawn."""
    return {
        "light_pos": model.light_pos * (1, -1, 1),
        "light_dir": model.light_dir * (-1, -1, 1),
        "light_diffuse": model.light_diffuse * (0.75, 0.70, 0.60),
    }


def cameras_off(model: mujoco.MjModel, rng: np.random.Generator) -> Looks:
    """Each camera of the world is `OFF` from its place and turned by `TURNED_OFF`, anyhow."""
    drawn: Looks = {"cam_pos": model.cam_pos.copy(), "cam_quat": model.cam_quat.copy()}
    for camera in np.flatnonzero(model.cam_bodyid == 0):
        drawn["cam_pos"][camera] += OFF * _direction(rng)
        mujoco.mju_quatIntegrate(drawn["cam_quat"][camera], _direction(rng), TURNED_OFF)
    return drawn


def dress(model: mujoco.MjModel, changed: Looks) -> None:
    """Give a model these looks."""
    for name, values in changed.items():
        getattr(model, name)[...] = values


def dresser(draw: DrawLooks | None) -> Callable[[mujoco.MjModel], None]:
    """Gives a model looks that are drawn once and for all; None: leaves it as it is."""

    def dress_once(model: mujoco.MjModel) -> None:
        if draw is not None:
            dress(model, draw(model, np.random.default_rng(0)))

    return dress_once


def _direction(rng: np.random.Generator) -> FloatArray:
    """A unit vector (3,), any as likely as another."""
    drawn = rng.standard_normal(3)
    unit: FloatArray = drawn / np.linalg.norm(drawn)
    return unit


def _tints(count: int, rng: np.random.Generator) -> FloatArray:
    return 1 + rng.uniform(-TINT, TINT, (count, 3))


def _tinted(rgba: NDArray[np.floating], rng: np.random.Generator) -> NDArray[np.floating]:
    tinted = rgba.copy()
    tinted[:, :3] = (rgba[:, :3] * _tints(len(rgba), rng)).clip(0, 1)
    return tinted
