"""Where the cube is, from its colour in two pictures.

Every pixel of its colour shows a point of the cube, so the cube is where its outline holds all of
them in every view. Fingers hide parts of it; what is left open by that is how far the measure may
be off.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from enpire.environment import Seen, View, coloured, fresh, outline_area, room, triangulate
from enpire.types import FloatArray

from .geometry import CUBE

RED, SATURATION = (-14.0, 14.0), 120.0  # of the cube [deg, of 255]; the arm is yellow and black
SHOWN = 0.12  # share of the cube's outline that must be seen in each view
HIDDEN = np.sqrt(3) / 2 * CUBE  # any point of the cube is so near its middle [m]
IN_REACH = 0.05  # of the hand: nearer, the cube may lie as the pads hold it [m]
EDGE = 1.0  # pixels of its colour may be so far outside the outline [px]
TURNS = np.radians(np.arange(-30, 31, 6))  # about the pads' common axis, that pads leave free
GRID = 0.0015 * np.stack(np.meshgrid(*[np.arange(-12, 13)] * 3, indexing="ij"), -1).reshape(-1, 3)
CORNERS = CUBE * (np.stack(np.meshgrid(*[(0, 1)] * 3), axis=-1).reshape(-1, 3) - 0.5)


@dataclass(frozen=True, slots=True)
class Cube:
    """The cube's middle (3,), and how far it may be off along each axis (3,) [m].

    corners: (8, 3), where it fits best [m].
    """

    middle: FloatArray
    accuracy: FloatArray
    corners: FloatArray


def red(views: Sequence[View], now: float) -> list[Seen]:
    """The cube's colour in those views that show what is at `now` [s]."""
    return [coloured(view, RED, SATURATION) for view in fresh(views, now)]


def find_cube(seen: Sequence[Seen], hand: FloatArray, hand_rotation: FloatArray) -> Cube | None:
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
    fits: list[FloatArray] = []
    best, corners = -1, CORNERS
    for turn in TURNS:
        frame = hand_rotation @ Rotation.from_rotvec([turn, 0, 0]).as_matrix()
        placed = middle + CORNERS @ frame.T
        inside = np.ones(len(GRID), dtype=bool)
        for camera, pixels in zip(cameras, points, strict=True):
            A, b = room(camera, placed, pixels)
            beyond = GRID @ A.T - b
            inside &= (beyond <= EDGE).all(axis=1)
        if inside.any():
            fits.append(GRID[inside])
            if len(fits[-1]) > best:
                best, corners = len(fits[-1]), placed + fits[-1].mean(axis=0)
    if not fits:
        return None
    for camera, pixels in zip(cameras, points, strict=True):
        if len(pixels) < SHOWN * outline_area(camera, corners):
            return None
    low = np.min([fit.min(axis=0) for fit in fits], axis=0)
    high = np.max([fit.max(axis=0) for fit in fits], axis=0)
    return Cube(middle + (low + high) / 2, (high - low) / 2, corners)
