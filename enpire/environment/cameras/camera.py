"""What a calibrated camera saw, and where a thing of known shape must be to be seen so.

Pinhole cameras as in OpenCV: pixels run right and down, the camera's frame has x to the right, y
down and z into the picture. Pictures are (height, width, 3) of uint8, red green blue.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from itertools import combinations
from typing import Protocol

import cv2
import mujoco
import numpy as np
from numpy.typing import NDArray

from enpire.types import FloatArray, Frame, Image

Mask = NDArray[np.bool_]
STALE = 0.2  # age at which a picture says nothing of what is [s]
AROUND = 24  # pixels that a kept frame shows around what was seen
FINE = 4  # bits of a pixel's fraction that OpenCV draws with
RIM = 0.67  # by so much OpenCV draws a shape too large, all round [px]


@dataclass(frozen=True, slots=True)
class Camera:
    """A pinhole without distortion; its principal point is in the middle."""

    name: str
    position: FloatArray  # (3,) [m]
    rotation: FloatArray  # (3, 3), camera to world
    focal: float  # [px]
    width: int  # [px]
    height: int  # [px]

    def project(self, points: FloatArray) -> FloatArray:
        """Pixels (..., 2) of points (..., 3) before the camera [m]."""
        seen = (points - self.position) @ self.rotation
        middle = np.array([self.width - 1, self.height - 1]) / 2
        result: FloatArray = middle + self.focal * seen[..., :2] / seen[..., 2:]
        return result

    def outline(self, corners: FloatArray) -> FloatArray:
        """The outline of a convex body with these corners (n, 3) [m]: (k, 2) in order [px]."""
        pixels = self.project(corners).astype(np.float32)
        hull: FloatArray = cv2.convexHull(pixels)[:, 0].astype(np.float64)
        return hull

    def ray(self, pixel: FloatArray) -> FloatArray:
        """Unit vectors (..., 3) in the world from the camera through pixels (..., 2)."""
        middle = np.array([self.width - 1, self.height - 1]) / 2
        offset = (pixel - middle) / self.focal
        seen = np.concatenate([offset, np.ones((*offset.shape[:-1], 1))], axis=-1)
        seen /= np.linalg.norm(seen, axis=-1, keepdims=True)
        result: FloatArray = seen @ self.rotation.T
        return result


@dataclass(frozen=True, slots=True)
class CameraView:
    """One picture. stamp: seconds since the verifier's first reading."""

    camera: Camera
    image: Image
    stamp: float


class VerifierCameras(Protocol):
    """The cameras of some stations, and a thread that takes pictures and looks at them."""

    def look[T](self, row: int, stamp: float, see: Callable[[list[CameraView]], T]) -> Future[T]:
        """What `see` makes of the views of station `row` as it is now; returns at once."""


@dataclass(frozen=True, slots=True)
class ColourPatch:
    """Pixels of one colour in one view."""

    view: CameraView
    mask: Mask

    @property
    def points(self) -> FloatArray:
        """Pixels (n, 2), x and y."""
        y, x = np.nonzero(self.mask)
        return np.stack([x, y], axis=1).astype(np.float64)


def coloured(
    view: CameraView, hue: tuple[float, float], saturation: float, value: float = 20.0
) -> ColourPatch:
    """Pixels whose hue is within `hue` [deg], and that are saturated and bright enough [0, 255].

    hue may begin below 0: red is (-15, 15). Light changes brightness more than hue. Specks of less
    than 3 x 3 pixels do not count.
    """
    hsv = cv2.cvtColor(view.image, cv2.COLOR_RGB2HSV)
    around = (2.0 * hsv[..., 0] - hue[0]) % 360.0
    mask = (around <= hue[1] - hue[0]) & (hsv[..., 1] >= saturation) & (hsv[..., 2] >= value)
    opened = cv2.morphologyEx(mask.astype(np.uint8), cv2.MORPH_OPEN, np.ones((3, 3), np.uint8))
    return ColourPatch(view, opened.astype(bool))


def fresh(views: Sequence[CameraView], now: float) -> list[CameraView]:
    """The views that show what is at `now` [s]."""
    return [view for view in views if now - view.stamp <= STALE]


def aim(
    spec: mujoco.MjSpec,
    centre: FloatArray,
    cameras: Mapping[str, tuple[float, float, float]],
    roll: float = 0.0,
) -> None:
    """Set a station's cameras up about a place (3,) [m].

    cameras: by name, how far away [m], and how far round from x and above the level [deg]. roll: of
    all about where they look, from upright [deg]: an edge along rows or columns of pixels is known
    to half a pixel only, one across them to far less.
    """
    cos, sin = np.cos(np.radians(roll)), np.sin(np.radians(roll))
    for name, (away, round_, above) in cameras.items():
        a, b = np.radians((round_, above))
        back = np.array([np.cos(b) * np.cos(a), np.cos(b) * np.sin(a), np.sin(b)])
        right = np.array([-np.sin(a), np.cos(a), 0.0])
        up = np.cross(back, right)
        camera = spec.camera(name)
        if camera is None:
            has = ", ".join(each.name for each in spec.cameras) or "none"
            raise ValueError(f"the world has no camera {name}; its cameras: {has}")
        camera.pos = centre + away * back
        camera.alt.type = mujoco.mjtOrientation.mjORIENTATION_XYAXES
        camera.alt.xyaxes = [*(cos * right + sin * up), *(cos * up - sin * right)]


def draw(onto: Image, outline: FloatArray) -> None:
    """Fill a convex outline (k, 2) [px] with 255, and its rim as far as a pixel is covered."""
    corners = np.round(outline * 2**FINE).astype(np.int32)
    cv2.fillConvexPoly(onto, corners, 255, cv2.LINE_AA, FINE)


def as_drawn(mask: Mask) -> Image:
    """What is seen as `draw` would draw it, (h, w) of 255 and less on a rim."""
    seen: Image = 255 * mask.astype(np.uint8)
    rim = cv2.dilate(seen, cv2.getStructuringElement(cv2.MORPH_CROSS, (3, 3)))
    soft: Image = cv2.addWeighted(seen, 1 - RIM, rim, RIM, 0.0).astype(np.uint8)
    return soft


def triangulate(cameras: Sequence[Camera], pixels: FloatArray) -> tuple[FloatArray, float]:
    """The point (3,) nearest to the rays through pixels (cameras, 2), and how far it is from the
    furthest of them [m]. At least two cameras that do not look along one line."""
    rays = [camera.ray(pixel) for camera, pixel in zip(cameras, pixels, strict=True)]
    across = [np.eye(3) - np.outer(ray, ray) for ray in rays]
    offsets = [a @ camera.position for a, camera in zip(across, cameras, strict=True)]
    point: FloatArray = np.linalg.solve(np.sum(across, axis=0), np.sum(offsets, axis=0))
    miss = max(
        float(np.linalg.norm(a @ (point - camera.position)))
        for a, camera in zip(across, cameras, strict=True)
    )
    return point, miss


def room(camera: Camera, corners: FloatArray, points: FloatArray) -> tuple[FloatArray, FloatArray]:
    """How a convex body with these corners may move and still hide all of some pixels.

    corners: (n, 3) [m]; points: (m, 2) [px]. Returns (A, b): the body shifted by d holds them all
    within its outline where A @ d <= b, to first order; an edge of the outline a row, b in px.
    """
    middle = corners.mean(axis=0)
    outline = camera.outline(corners)
    along = np.roll(outline, -1, axis=0) - outline
    normal = np.stack([along[:, 1], -along[:, 0]], axis=1)
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    normal *= np.sign(((outline - outline.mean(axis=0)) * normal).sum(axis=1, keepdims=True))
    step = 1e-4
    shifts = camera.project(middle + step * np.eye(3)) - camera.project(middle)
    reach = (points @ normal.T).max(axis=0)
    return -normal @ (shifts.T / step), (outline * normal).sum(axis=1) - reach


def corners_of(A: FloatArray, b: FloatArray) -> FloatArray:
    """Corners (n, 3) of the points d with A @ d <= b; none if there is no such d.

    A: (m, 3), b: (m,). Every three of its planes meet in a point, or are left out.
    """
    three = np.array(list(combinations(range(len(b)), 3)))
    first, second, third = A[three].transpose(1, 0, 2)
    normals = np.stack(
        [np.cross(second, third), np.cross(third, first), np.cross(first, second)], axis=1
    )
    volume = (first * normals[:, 0]).sum(axis=1)
    size = np.prod(np.linalg.norm(A[three], axis=2), axis=1)
    meet = abs(volume) > 1e-6 * size
    met = (normals[meet] * b[three[meet]][..., None]).sum(axis=1) / volume[meet, None]
    within = (met @ A.T - b <= 1e-6 * np.linalg.norm(A, axis=1)).all(axis=1)
    result: FloatArray = met[within]
    return result


def outline_area(camera: Camera, corners: FloatArray) -> float:
    """The area of a convex body's outline in a picture [px^2]."""
    return float(cv2.contourArea(camera.outline(corners).astype(np.float32)))


def overlay(seen: ColourPatch, outlines: Sequence[FloatArray]) -> Frame:
    """What was seen, for a person: its pixels' rim in green, outlines (n, 2) [px] in magenta.

    Cropped to both, or the whole picture made smaller where nothing was seen.
    """
    image = seen.view.image.copy()
    name = seen.view.camera.name
    drawn = [np.round(outline).astype(np.int32) for outline in outlines]
    marked = np.concatenate([seen.points.astype(np.int32), *drawn])
    if not len(marked):
        return Frame(name, np.ascontiguousarray(image[::2, ::2]))
    rims, _ = cv2.findContours(
        seen.mask.astype(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE
    )
    cv2.drawContours(image, rims, -1, (0, 255, 0), 1)
    cv2.polylines(image, drawn, True, (255, 0, 255), 1)
    low = np.maximum(marked.min(axis=0) - AROUND, 0)
    high = np.maximum(marked.max(axis=0) + AROUND, low + 1)
    return Frame(name, np.ascontiguousarray(image[low[1] : high[1], low[0] : high[0]]))
