"""Patches of colour in pictures, by their moments, and the things that they show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import cv2
import numpy as np

from enpire.environment import Camera, ColourPatch, triangulate
from enpire.types import FloatArray

Box = tuple[tuple[float, float, float], tuple[float, float, float]]  # from, to [m]
MOMENTS = ("m00", "m10", "m01", "m20", "m02", "m11")


@dataclass(frozen=True, slots=True)
class Patch:
    """Its area [px^2], middle (2,) [px], and variances along x, along y, and mixed, (3,) [px^2]."""

    area: float
    middle: FloatArray
    spread: FloatArray


@dataclass(frozen=True, slots=True)
class Thing:
    """What two views show as one: its middle (3,), how far rays miss it [m], and its patches."""

    middle: FloatArray
    miss: float
    patches: tuple[Patch, ...]


def patches(seen: ColourPatch, least: float) -> list[Patch]:
    """The connected ones that have at least so many pixels."""
    mask = seen.mask.astype(np.uint8)
    count, labels, stats, _ = cv2.connectedComponentsWithStats(mask)
    found = []
    for i in range(1, count):
        x, y, width, height, area = stats[i].tolist()
        if area >= least:
            v, u = np.nonzero(labels[y : y + height, x : x + width] == i)
            found.append(_of(np.stack([u + x, v + y], axis=1).astype(np.float64)))
    return found


def whole(seen: ColourPatch, around: FloatArray, reach: float, least: float) -> Patch | None:
    """All pixels within `reach` of a pixel (2,), as one patch; None if they are too few."""
    points = seen.points
    near = points[np.linalg.norm(points - around, axis=1) < reach]
    return _of(near) if len(near) >= least else None


def outline(camera: Camera, corners: FloatArray, prism: bool = False) -> Patch:
    """What a camera would see of a convex body with these corners (n, 3) [m].

    prism: its sides alone have the colour, not its caps, whose corners in order round it are the
    first and the second half of `corners`.
    """
    shown = cv2.moments(camera.outline(corners).astype(np.float32))
    sums = np.array([shown[name] for name in MOMENTS])
    if prism:
        one, other = np.split(corners, 2)
        for cap, opposite in ((one, other), (other, one)):
            middle = cap.mean(axis=0)
            if (middle - opposite.mean(axis=0)) @ (camera.position - middle) > 0:
                hidden = cv2.moments(camera.project(cap).astype(np.float32))
                sums -= [hidden[name] for name in MOMENTS]
    area, x, y = sums[0], sums[1] / sums[0], sums[2] / sums[0]
    return Patch(float(area), np.array([x, y]), sums[3:] / area - (x * x, y * y, x * y))


def things(
    cameras: Sequence[Camera], found: Sequence[Sequence[Patch]], where: Box, apart: float
) -> list[Thing]:
    """Every pair of patches, one of each view, that may be one thing in a box.

    apart: how far rays to it may pass its middle [m].
    """
    low, high = np.array(where)
    result = []
    for pair in product(*found):
        middle, miss = triangulate(cameras, np.array([patch.middle for patch in pair]))
        if miss < apart and (middle > low).all() and (middle < high).all():
            result.append(Thing(middle, miss, pair))
    return result


def _of(points: FloatArray) -> Patch:
    """Of pixels (n, 2)."""
    x, y = (points - points.mean(axis=0)).T
    spread = np.array([(x * x).mean(), (y * y).mean(), (x * y).mean()])
    return Patch(float(len(points)), points.mean(axis=0), spread)
