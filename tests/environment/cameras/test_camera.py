"""Pinhole cameras, colours, and what silhouettes leave open."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from enpire.environment import (
    Camera,
    CameraView,
    aim,
    as_drawn,
    coloured,
    corners_of,
    draw,
    fresh,
    outline_area,
    overlay,
    room,
)
from enpire.environment import triangulate as nearest
from enpire.types import FloatArray


def looking(name: str, position: tuple[float, float, float], at: FloatArray) -> Camera:
    """A camera that looks from `position` at a point, upright."""
    z = (at - position) / np.linalg.norm(at - position)
    x = np.cross(z, (0, 0, 1)) / np.linalg.norm(np.cross(z, (0, 0, 1)))
    rotation = np.stack([x, np.cross(z, x), z], axis=1)
    return Camera(name, np.array(position), rotation, 1000.0, 640, 480)


AT = np.array([0.2, 0.0, 0.07])
FRONT = looking("front", (1.3, 0.0, 0.6), AT)
SIDE = looking("side", (0.3, -1.0, 0.5), AT)
CUBE = 0.025 * (np.stack(np.meshgrid(*[(0, 1)] * 3), axis=-1).reshape(-1, 3) - 0.5)


def test_what_is_looked_at_is_in_the_middle_and_up_is_up() -> None:
    np.testing.assert_allclose(FRONT.project(AT), [319.5, 239.5])
    assert FRONT.project(AT + np.array([0, 0, 0.01]))[1] < 239.5
    assert FRONT.project(AT + np.array([0, 0.01, 0]))[0] > 319.5, (
        "world y is right for who looks along -x"
    )


def test_a_ray_goes_through_what_it_shows() -> None:
    points = AT + np.random.default_rng(0).normal(0, 0.05, (20, 3))
    for camera in (FRONT, SIDE):
        away = points - camera.position
        away /= np.linalg.norm(away, axis=1, keepdims=True)
        np.testing.assert_allclose(camera.ray(camera.project(points)), away, atol=1e-9)


def test_two_rays_meet_where_the_point_is_and_say_when_they_do_not() -> None:
    pixels = np.array([FRONT.project(AT), SIDE.project(AT)])
    point, miss = nearest([FRONT, SIDE], pixels)
    np.testing.assert_allclose(point, AT, atol=1e-9)
    assert miss < 1e-9
    _, miss = nearest([FRONT, SIDE], pixels + np.array([[0, 10], [0, -10]]))
    assert miss > 0.005


def test_room_is_how_far_a_cube_may_move_and_still_hide_what_is_red() -> None:
    placed = AT + CUBE @ Rotation.from_euler("z", 0.3).as_matrix().T
    outline = FRONT.outline(placed)
    A, b = room(FRONT, placed, outline)
    np.testing.assert_allclose(b, 0, atol=1e-3)
    up, down = np.array([0, 0, 0.004]), np.array([0, 0, -0.004])
    assert (A @ down > b + 1).any(), "lowered, it no longer hides its upper edge"
    A, b = room(FRONT, placed, FRONT.project(AT + np.array([0, 0, 0.005]))[None])
    assert (A @ up <= b).all(), "of one point inside, nearly anything is left open"
    assert (A @ down <= b).all()
    A, b = room(FRONT, placed, FRONT.outline(placed + down))
    assert (b < -1).any(), "where it is, it hides not all of what is seen"
    assert (A @ down <= b + 0.1).all(), "where it was seen, it does"


def test_corners_are_where_three_planes_meet_within_all_others() -> None:
    sides = np.concatenate([np.eye(3), -np.eye(3)])
    box = corners_of(sides, np.array([1.0, 2.0, 3.0, 0.0, 0.0, 0.0]))
    np.testing.assert_allclose(sorted(box.tolist())[0], (0, 0, 0), atol=1e-12)
    np.testing.assert_allclose(sorted(box.tolist())[-1], (1, 2, 3))
    assert len(box) == 8
    cut = corners_of(np.vstack([sides, (1, 1, 1)]), np.array([1.0, 2.0, 3.0, 0, 0, 0, 0.5]))
    np.testing.assert_allclose(cut.max(axis=0), (0.5, 0.5, 0.5))
    assert not len(corners_of(sides, np.array([1.0, 2.0, 3.0, -1.5, 0, 0])))


def test_outline_area_is_that_of_the_square_one_looks_at() -> None:
    camera = looking("flat", (0.0, -1.0, 0.0), np.zeros(3))
    square = np.array([[x, 0.0, z] for x in (-0.01, 0.01) for z in (-0.01, 0.01)])
    assert outline_area(camera, square) == pytest.approx(400, rel=1e-3)


def painted(colour: tuple[int, int, int], size: int = 20) -> CameraView:
    image = np.full((480, 640, 3), (190, 150, 110), np.uint8)
    image[100 : 100 + size, 200 : 200 + size] = colour
    return CameraView(FRONT, image, 0.0)


@pytest.mark.parametrize(
    ("colour", "size", "count"),
    [
        ((200, 50, 45), 20, 400),
        ((90, 22, 20), 20, 400),  # in the shade
        ((200, 45, 60), 20, 400),  # on the other side of 0 degrees
        ((60, 180, 50), 20, 0),
        ((200, 160, 30), 20, 0),
        ((200, 190, 190), 20, 0),
        ((200, 50, 45), 2, 0),  # a speck
    ],
)
def test_a_colour_is_told_by_its_hue(colour: tuple[int, int, int], size: int, count: int) -> None:
    assert coloured(painted(colour, size), (-15, 15), 120).mask.sum() == count


def test_a_stale_view_says_nothing() -> None:
    view = painted((200, 50, 45))
    assert fresh([view], 0.1) == [view]
    assert fresh([view], 0.5) == []


def test_the_overlay_is_a_crop_around_what_was_seen() -> None:
    seen = coloured(painted((200, 50, 45)), (-15, 15), 120)
    frame = overlay(seen, [np.array([[205.0, 105], [230, 105], [230, 130]])])
    assert frame.name == "front"
    assert frame.image.shape == (24 + 30 + 24, 24 + 30 + 24, 3)
    assert (frame.image == (0, 255, 0)).all(axis=-1).any()
    assert (frame.image == (255, 0, 255)).all(axis=-1).any()
    nothing = coloured(painted((60, 180, 50)), (-15, 15), 120)
    assert overlay(nothing, []).image.shape == (240, 320, 3)


def test_a_camera_is_aimed_at_a_place_and_upright() -> None:
    spec = mujoco.MjSpec()
    spec.worldbody.add_camera(name="front")
    aim(spec, AT, {"front": (0.5, 40.0, 30.0)})
    model = spec.compile()
    right, up, back = model.cam_mat0[0].reshape(3, 3).T
    np.testing.assert_allclose(AT + 0.5 * back, model.cam_pos[0], atol=1e-9)
    assert right[2] == pytest.approx(0.0)
    assert up[2] > 0
    assert back[2] == pytest.approx(0.5)
    assert np.degrees(np.arctan2(back[1], back[0])) == pytest.approx(40.0)
    aim(spec, AT, {"front": (0.5, 40.0, 30.0)}, roll=20.0)
    rolled = spec.compile().cam_mat0[0].reshape(3, 3)
    np.testing.assert_allclose(rolled[:, 2], back, atol=1e-9)
    assert rolled[:, 0] @ right == pytest.approx(np.cos(np.radians(20.0)))
    assert rolled[:, 0] @ up == pytest.approx(np.sin(np.radians(20.0)))


def test_a_shape_is_seen_as_large_as_it_is_drawn() -> None:
    y, x = np.mgrid[:120, :120]
    for turn in np.linspace(0.0, np.pi / 2, 7):
        cos, sin = np.cos(turn), np.sin(turn)
        corners = 28.3 * np.array([(1, 0), (0, 1), (-1, 0), (0, -1)]) @ [[cos, sin], [-sin, cos]]
        drawn = np.zeros((120, 120), np.uint8)
        draw(drawn, 60.2 + corners)
        across = [corners[(i + 1) % 4] - corners[i] for i in range(4)]
        inside = [
            a[0] * (y - 60.2 - c[1]) - a[1] * (x - 60.2 - c[0]) >= 0
            for a, c in zip(across, corners, strict=True)
        ]
        seen = as_drawn(np.logical_and.reduce(inside))
        assert seen.sum() == pytest.approx(drawn.sum(), rel=0.02)
