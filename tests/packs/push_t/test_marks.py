"""Where the cameras stand, from made-up pictures of the marks on the bench."""

from __future__ import annotations

from dataclasses import replace

import cv2
import mujoco
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from enpire.environment import Camera, CameraView
from enpire.types import FloatArray

from .modules import module, task

FRONT = Camera(
    "front",
    np.array([0.766, 0.0, 0.566]),
    np.array([[0, 0.7071, -0.7071], [1, 0, 0], [0, -0.7071, -0.7071]]),
    1159.0,
    640,
    480,
)
GOAL = np.array([[0.20, 0.0, 0.0], [0.25, 0.05, 0.02], [0.15, -0.05, 0.02]])  # points there [m]


def picture(camera: Camera, hidden: int = 0, aside: float = 0.0) -> CameraView:
    """Of a bench with its marks but the first few, taken by `camera`, said to be by `FRONT`.

    aside: how far the first of those that are shown lies from its place, in x and in y [m].
    """
    marks = module("marks")
    x, y = np.meshgrid(np.arange(640), np.arange(480))
    rays = camera.ray(np.stack([x, y], axis=-1).astype(float))
    bench = camera.position - rays * camera.position[2] / rays[..., 2:]
    image = np.full((480, 640, 3), 150, np.uint8)
    places = marks.MARKS.places[hidden:] + np.eye(6)[0, : 6 - hidden, None] * (aside, aside, 0.0)
    for mark in places:
        image[np.linalg.norm(bench - mark, axis=-1) < marks.MARKS.radius] = 190, 25, 150
    return CameraView(FRONT, image, 0.0)


def moved(shift: FloatArray, turn: FloatArray) -> Camera:
    turned = Rotation.from_rotvec(turn).as_matrix() @ FRONT.rotation
    return replace(FRONT, position=FRONT.position + shift, rotation=turned)


@pytest.mark.parametrize("seed", range(4))
def test_a_camera_that_was_moved_is_found(seed: int) -> None:
    rng = np.random.default_rng(seed)
    camera = moved(rng.uniform(-0.003, 0.003, 3), rng.uniform(-0.003, 0.003, 3))
    found = module("marks").MARKS.placed(picture(camera))
    assert found is not None
    off = np.linalg.norm(camera.project(GOAL) - FRONT.project(GOAL), axis=1)
    left = np.linalg.norm(camera.project(GOAL) - found.camera.project(GOAL), axis=1)
    assert off.min() > 0.5
    assert left.max() < 0.25


def test_two_marks_may_be_hidden_but_no_third() -> None:
    assert module("marks").MARKS.placed(picture(FRONT, hidden=2)) is not None
    assert module("marks").MARKS.placed(picture(FRONT, hidden=3)) is None


def test_a_mark_that_was_pushed_aside_is_not_believed() -> None:
    assert module("marks").MARKS.placed(picture(FRONT, aside=0.003)) is None


def test_a_mark_that_is_half_hidden_does_not_count() -> None:
    marks = module("marks")
    view = picture(FRONT, hidden=2)
    x, y = FRONT.project(marks.MARKS.places[2]).astype(int)
    cv2.rectangle(view.image, (x, y - 20), (x + 20, y + 20), (120, 122, 125), -1)
    assert marks.MARKS.placed(view) is None


def test_marks_lie_where_the_scene_has_them_and_nothing_touches_them() -> None:
    marks = module("marks")
    scene = mujoco.MjSpec.from_file(str(task().folder / "scene.xml")).compile()
    found = [i for i in range(scene.ngeom) if scene.geom(i).name.startswith("mark")]
    assert scene.geom_pos[found] == pytest.approx(marks.MARKS.places)
    assert set(scene.geom_size[found, 0]) == {marks.MARKS.radius}
    assert not scene.geom_contype[found].any()
    assert not scene.geom_conaffinity[found].any()
