"""How much of its goal a T covers: exact, so it has to agree with whoever counts points."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enpire.types import FloatArray

from .modules import module

geometry = module("geometry")
GOAL, UNIT = geometry.GOAL, geometry.UNIT
ORIGIN = np.zeros(3)
TURN = np.array([0.0, 0.0, 2 * np.pi])

near = st.floats(-0.12, 0.12, allow_subnormal=False)
poses = st.tuples(near, near, st.floats(-np.pi, np.pi)).map(np.array)


def inside(points: FloatArray, pose: FloatArray) -> FloatArray:
    """Which of the points, (n, 2), lie in a T at `pose`, by the letter's own measures."""
    cos, sin = np.cos(pose[2]), np.sin(pose[2])
    x, y = ((points - pose[:2]) @ np.array([[cos, -sin], [sin, cos]])).T / UNIT
    y = y - 19 / 14
    bar = (abs(x) < 2) & (y > -1) & (y < 0)
    stem = (abs(x) < 0.5) & (y > -4) & (y <= -1)
    return bar | stem


@given(poses, poses)
def test_overlap_is_symmetric_and_a_share(a: FloatArray, b: FloatArray) -> None:
    covered = geometry.overlap(a, b)
    assert 0 <= covered <= 1
    assert geometry.overlap(b, a) == pytest.approx(covered, abs=1e-9)


@given(poses)
def test_a_block_at_its_goal_covers_all_of_it(pose: FloatArray) -> None:
    assert geometry.overlap(pose, pose) == pytest.approx(1, abs=1e-9)
    assert geometry.overlap(pose, pose + TURN) == pytest.approx(1, abs=1e-9)


@given(poses, st.floats(-np.pi, np.pi))
def test_a_block_apart_covers_nothing(pose: FloatArray, yaw: float) -> None:
    away = 6 * UNIT * np.array([np.cos(yaw), np.sin(yaw), 0.0])
    assert geometry.overlap(pose, pose + away) == 0.0


@settings(max_examples=40)
@given(poses)
def test_overlap_is_the_area_that_points_find(pose: FloatArray) -> None:
    side = 3 * UNIT * ((np.arange(600) + 0.5) / 300 - 1)  # none on an edge of the T's
    points = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    here = inside(points, ORIGIN)
    both = here & inside(points, pose)
    assert geometry.overlap(pose, ORIGIN) == pytest.approx(both.sum() / here.sum(), abs=0.01)


@pytest.mark.parametrize(
    ("pose", "expected"),
    [
        ((UNIT / 2, 0, 0), 5 / 7),  # bars 3.5 x 1 and 0.5 x 3
        ((0, -UNIT, 0), 3 / 7),  # the bar meets 1 x 1 of the stem, the stem 1 x 2 of itself
        ((0, 4 * UNIT, 0), 0.0),
        ((0, 0, np.pi), 19 / 49),  # 1 x 1 twice, and 1 x 5/7 of the stem
    ],
)
def test_overlap_worked_out_by_hand(pose: tuple[float, ...], expected: float) -> None:
    assert geometry.overlap(pose, ORIGIN) == pytest.approx(expected, abs=1e-9)


@given(poses, poses, poses)
def test_overlap_does_not_depend_on_where_one_looks_from(
    a: FloatArray, b: FloatArray, frame: FloatArray
) -> None:
    def moved(pose: FloatArray) -> FloatArray:
        at = frame[:2] + geometry.rotate(frame[2], pose[:2])
        return np.array([*at, frame[2] + pose[2]])

    covered = geometry.overlap(a, b)
    assert geometry.overlap(moved(a), moved(b)) == pytest.approx(covered, abs=1e-9)


def test_the_outline_goes_round_the_centroid_once() -> None:
    corners = np.array(geometry.OUTLINE)
    following = np.roll(corners, -1)
    cross = (corners.conj() * following).imag
    assert cross.sum() / 2 == pytest.approx(geometry.AREA)
    assert (cross * (corners + following)).sum() / (3 * cross.sum()) == pytest.approx(0, abs=1e-12)


def test_displacement_is_that_of_the_blocks_points() -> None:
    side = np.linspace(-3 * UNIT, 3 * UNIT, 201)
    points = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    points = points[inside(points, ORIGIN)]
    off = np.array([0.002, -0.001, 0.05])
    moved = off[:2] + geometry.rotate(off[2], points)
    way = np.sqrt(((moved - points) ** 2).sum(axis=1).mean())
    assert geometry.displacement(off, ORIGIN) == pytest.approx(way, rel=0.02)


@given(poses, poses)
def test_a_displacement_is_never_more_than_half_a_turn(a: FloatArray, b: FloatArray) -> None:
    shift = np.linalg.norm(a[:2] - b[:2])
    apart = geometry.displacement(a, b)
    assert shift - 1e-12 <= apart <= shift + geometry.GYRATION * np.pi + 1e-12
    assert geometry.displacement(a + TURN, b) == pytest.approx(apart, abs=1e-9)


def test_the_mean_of_poses_does_not_mind_the_half_turn() -> None:
    mean = geometry.mean_pose(np.array([[0.1, 0.0, np.pi - 0.02], [0.3, 0.2, -np.pi + 0.04]]))
    np.testing.assert_allclose(mean, [0.2, 0.1, -np.pi + 0.01], atol=1e-9)


def test_the_tray_holds_the_goal_and_not_what_lies_on_its_rim() -> None:
    assert geometry.tray_margin(GOAL) > 0.01
    bar_at_the_rim = np.array([0.118 + 19 / 14 * UNIT, 0.0, np.pi / 2])
    assert geometry.tray_margin(bar_at_the_rim) == pytest.approx(0, abs=1e-9)
    for off in ((-0.08, 0, 0), (0.08, 0, 0), (0, 0.2, 0), (0, -0.2, 0)):
        assert geometry.tray_margin(GOAL + off) < 0
