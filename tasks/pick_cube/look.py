"""Where the cube is, from its colour in two pictures.

Every pixel of its colour shows a point of the cube, so the cube is where its outline holds all of
them in every view. Fingers hide parts of it; what is left open by that is how far the measure may
be off. Where the cameras stand is told by marks on the bench.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial.transform import Rotation

from enpire.environment import (
    Camera,
    CameraMarks,
    CameraView,
    ColourPatch,
    coloured,
    corners_of,
    fresh,
    outline_area,
    room,
    triangulate,
)
from enpire.types import FloatArray

from .geometry import CUBE

CENTRE = np.array([0.23, 0.0, 0.065])  # that both cameras look at [m]
CAMERAS = {"front": (0.87, 30.0, 28.0), "side": (0.87, -30.0, 28.0)}  # away [m], round, above [deg]
ROLL = 6.0  # of both about where they look: edges then cross rows and columns of pixels [deg]
MARKS = CameraMarks(  # as in scene.xml [m]; no cube begins there
    np.array(
        [
            (0.310, 0.000, 0.0),
            (0.280, -0.100, 0.0),
            (0.280, 0.100, 0.0),
            (0.200, -0.140, 0.0),
            (0.200, 0.140, 0.0),
            (0.130, -0.140, 0.0),
            (0.130, 0.140, 0.0),
        ]
    ),
    radius=0.008,
)

RED, SATURATION = (-14.0, 14.0), 120.0  # of the cube [deg, of 255]; the arm is yellow and black
SHOWN = 0.03  # share of the cube's outline that must be seen in each view: 25 pixels
HIDDEN = np.sqrt(3) / 2 * CUBE  # any point of the cube is so near its middle [m]
IN_REACH = 0.05  # of the hand: nearer, the cube may lie as the pads hold it [m]
NEARBY = 1.0  # pixels of its colour may be so far outside the outline, where it is sought [px]
CORNERS = CUBE * (np.stack(np.meshgrid(*[(0, 1)] * 3), axis=-1).reshape(-1, 3) - 0.5)


def _turned(turns: Sequence[int], skews: Sequence[int]) -> list[FloatArray]:
    """Corners (8, 3) in the hand's frame of a cube between the pads, turned by so much [deg].

    turns: about the pads' common axis, that they leave free. skews: about the way they point.
    """
    angles = [(skew, turn) for skew in skews for turn in turns]
    return [CORNERS @ Rotation.from_euler("ZX", a, degrees=True).as_matrix().T for a in angles]


@dataclass(frozen=True, slots=True)
class _Grip:
    """Ways in which pads may hold the cube.

    ways: corners (8, 3) in the hand's frame. fits, edge: pixels of its colour may be so far outside
    its outline in one way at least, and in all that count for how far the measure may be off [px].
    Views that agree to `fits` and of which one is off are off by no more than `edge` leaves open.
    """

    ways: list[FloatArray]
    fits: float
    edge: float


FLAT = _Grip(_turned(range(-30, 31, 2), [0]), 0.2, 0.25)
SKEW = _Grip(_turned(range(-6, 7, 3), range(-24, 25, 3)), 0.4, 0.5)  # seldom, by an edge


@dataclass(frozen=True, slots=True)
class Cube:
    """The cube's middle (3,), and how far it may be off along each axis (3,) [m].

    corners: (8, 3), where it fits best [m].
    """

    middle: FloatArray
    accuracy: FloatArray
    corners: FloatArray


def red(views: Sequence[CameraView], now: float) -> list[ColourPatch]:
    """The cube's colour in those views that show what is at `now` [s]."""
    return [coloured(view, RED, SATURATION) for view in fresh(views, now)]


def where_they_stand(seen: Sequence[ColourPatch]) -> list[ColourPatch]:
    """Those whose camera the marks place, with it there."""
    return [replace(one, view=view) for one in seen if (view := MARKS.placed(one.view))]


def find_cube(
    seen: Sequence[ColourPatch], hand: FloatArray, hand_rotation: FloatArray
) -> Cube | None:
    """The one cube that all of `seen` show; None if fewer than two do, or if they contradict.

    hand, hand_rotation: the grasp frame in the world, (3,) and (3, 3).
    """
    least = SHOWN * CUBE**2
    found = []
    for one in seen:
        camera = one.view.camera
        depth = np.linalg.norm(camera.position - hand)
        if one.mask.sum() >= least * (camera.focal / depth) ** 2:
            found.append(one)
    if len(found) < 2:
        return None
    cameras = [one.view.camera for one in found]
    points = [one.points for one in found]
    middle, miss = triangulate(cameras, np.array([p.mean(axis=0) for p in points]))
    if miss > HIDDEN:
        return None
    if np.linalg.norm(middle - hand) > IN_REACH:  # it lies anyhow
        return Cube(middle, np.full(3, HIDDEN), middle + CORNERS)
    for grip in (FLAT, SKEW):
        cube = _held(cameras, points, middle, hand_rotation, grip)
        if cube is not None:
            return cube
    return None


def _held(
    cameras: Sequence[Camera],
    points: Sequence[FloatArray],
    middle: FloatArray,
    hand_rotation: FloatArray,
    grip: _Grip,
) -> Cube | None:
    """The cube so held, about `middle`; None if no such cube is what is seen."""

    def places(way: FloatArray, edge: float) -> FloatArray:
        """The outermost (n, 3) at which the cube hides all pixels but for `edge`."""
        placed = middle + way @ hand_rotation.T
        rooms = [room(camera, placed, seen) for camera, seen in zip(cameras, points, strict=True)]
        A, b = (np.concatenate(parts) for parts in zip(*rooms, strict=True))
        return middle + corners_of(A, b + edge)

    half = np.zeros(3)
    for ways, edge in ((grip.ways[::2], NEARBY), (grip.ways, grip.edge)):  # true near `middle`
        found = np.concatenate([places(way, edge) for way in ways])
        if not len(found):
            return None
        low, high = found.min(axis=0), found.max(axis=0)
        middle, half = (low + high) / 2, (high - low) / 2
    fitting = [way for way in grip.ways if len(places(way, grip.fits))]
    if not fitting:
        return None
    placed = middle + fitting[len(fitting) // 2] @ hand_rotation.T
    for camera, pixels in zip(cameras, points, strict=True):
        if len(pixels) < SHOWN * outline_area(camera, placed):
            return None
    return Cube(middle, half, placed)
