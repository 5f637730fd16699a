"""Where box and pins are, from their colours in two pictures.

The box's face is level and at a known height, so each view alone tells where it is: where two views
do not agree on it, a camera is not where it was, or a picture shows something else. A pin is where
the planes through its two images meet; how high it stands, each view tells once more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import cv2
import numpy as np
from scipy.optimize import minimize
from scipy.spatial.transform import Rotation

from enpire.environment import Camera, CameraView, ColourPatch, coloured, draw, fresh
from enpire.types import FloatArray, Image

from .frames import BOX_AT
from .parts import BARE, DEPTH, HALF_WIDTH, PIN_LENGTH, PIN_RADIUS, PINS, PITCH

CENTRE = BOX_AT + np.array([0.0, 0.0, 0.005])  # that both cameras look at [m]
# Away [m], round, above [deg]: across the row, where no pin hides another and no hand is.
CAMERAS = {"front": (0.40, 38.0, 32.0), "side": (0.40, -42.0, 30.0)}

BLUE = (200.0, 240.0)  # of the box [deg]
PIN_HUES = ((100.0, 145.0), (285.0, 325.0), (46.0, 72.0))  # of the pins: green, magenta, yellow
SATURATION = 110.0  # of 255

# What matters, about BOX_AT [m].
REGION = np.array([[-0.050, -0.045, -0.004], [0.050, 0.045, 0.042]])
FACE = np.array([PITCH * PINS / 2, HALF_WIDTH])  # of the box, half its size [m]
RIM = 0.0015  # of its sides, that the skirt leaves free [m]
BLOCK = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-RIM, 0.0)]) * (*FACE, 1.0)
LEAST_BLUE = 0.4  # share of the box's outline that a view must show
SCALE = np.array([0.001, 0.001, 0.02])  # of a first step of the fit [m, m, rad]
UNLIKE = 0.10  # share of the box by which what is seen may differ from the fit: bare steel hides it
APART = np.array([0.0010, 0.0010, 0.04])  # by which two views of the box may differ [m, m, rad]
HIDES = np.ones((7, 7), np.uint8)  # what is so near a pin's colour may be hidden by it

LEAST_PIN = 60  # pixels that a view must show of a pin
STRAY = 0.1  # share of a pin's pixels that may lie apart from it
TOPS = 0.0008  # by which two views of a pin's height may differ [m]
WIDTH = (0.75, 1.25)  # of what a pin's image may be wide, and high over the face, of what it should
"""If it is less, something hides a part of it."""


@dataclass(frozen=True, slots=True)
class Colours:
    """Box and pins in one view."""

    box: ColourPatch
    pins: tuple[ColourPatch, ...]

    @property
    def all(self) -> ColourPatch:
        """All of them together."""
        mask = np.logical_or.reduce([self.box.mask, *(pin.mask for pin in self.pins)])
        return ColourPatch(self.box.view, mask)


@dataclass(frozen=True, slots=True)
class Box:
    """Middle of the box's face (3,) [m] and its frame (3, 3), world."""

    at: FloatArray
    frame: FloatArray

    @property
    def corners(self) -> FloatArray:
        """Of what is seen of it (8, 3) [m]."""
        corners: FloatArray = self.at + BLOCK @ self.frame.T
        return corners


@dataclass(frozen=True, slots=True)
class Pin:
    """A pin's end that goes in first (3,) [m] and its axis (3,), world."""

    end: FloatArray
    axis: FloatArray

    @property
    def corners(self) -> FloatArray:
        """Of what encloses it (16, 3) [m]."""
        across = np.linalg.svd(self.axis[None])[2][1:]
        angles = np.pi / 4 * np.arange(8)
        ring = PIN_RADIUS * np.stack([np.cos(angles), np.sin(angles)], axis=1) @ across
        corners: FloatArray = np.concatenate(
            [self.end + ring, self.end + (PIN_LENGTH - PIN_RADIUS) * self.axis + ring]
        )
        return corners


def colours(views: Sequence[CameraView], now: float) -> list[Colours]:
    """What has them about the box, in those views that show what is at `now` [s]."""
    return [
        Colours(box, tuple(pins))
        for view in fresh(views, now)
        for box, *pins in (_about_box(view, (BLUE, *PIN_HUES)),)
    ]


def find_box(seen: Sequence[Colours]) -> Box | None:
    """The one box that all views show; None if fewer than two do, or if they contradict."""
    poses = [pose for one in seen if (pose := _face(one)) is not None]
    if len(poses) < 2 or (np.ptp(poses, axis=0) > APART).any():
        return None
    return _placed(np.mean(poses, axis=0))


def find_pin(seen: Sequence[ColourPatch]) -> Pin | None:
    """The one pin of a colour that all views show; None if fewer than two do, or contradict."""
    images = [image for one in seen if (image := _Image.of(one)) is not None]
    if len(images) != 2:
        return None
    one, other = images
    axis = np.cross(one.normal, other.normal)
    size = float(np.linalg.norm(axis))
    if size < 0.2:  # seen from one side by both
        return None
    axis *= np.sign(axis[2]) / size
    planes = np.stack([one.normal, other.normal, axis])
    offsets = [*(image.normal @ image.camera.position for image in images), axis @ CENTRE]
    through = np.linalg.solve(planes, offsets)
    heights = [image.height(through, axis) for image in images]
    if abs(heights[0] - heights[1]) > TOPS:
        return None
    top = through + np.mean(heights) * axis
    found = Pin(top - (PIN_LENGTH - PIN_RADIUS) * axis, axis)
    if found.end[2] < BOX_AT[2] - DEPTH - TOPS:  # upside down, or its top is hidden from both
        return None
    return found if all(image.shows(found) for image in images) else None


@dataclass(frozen=True, slots=True)
class _Image:
    """A pin in one view: its middle line and how far it reaches along it.

    middle: (2,), upward: unit (2,), in the picture [px]. top, bottom: along it [px]. wide: [px].
    normal: (3,), of the plane through the camera and the line.
    """

    camera: Camera
    middle: FloatArray
    upward: FloatArray
    top: float
    bottom: float
    wide: float
    normal: FloatArray

    @classmethod
    def of(cls, seen: ColourPatch) -> _Image | None:
        """The one patch of the colour; None if there is none, or more than one."""
        count, labels, stats, _ = cv2.connectedComponentsWithStats(seen.mask.astype(np.uint8))
        sizes = stats[1:, cv2.CC_STAT_AREA]
        if count < 2 or sizes.max() < LEAST_PIN or sizes.sum() > (1 + STRAY) * sizes.max():
            return None
        y, x = np.nonzero(labels == 1 + int(sizes.argmax()))
        points = np.stack([x, y], axis=1).astype(np.float64)
        middle = points.mean(axis=0)
        spread, ways = np.linalg.eigh(np.cov((points - middle).T))
        upward = -ways[:, 1] if ways[1, 1] > 0 else ways[:, 1]  # y runs down
        along = (points - middle) @ upward
        camera = seen.view.camera
        ends = camera.ray(middle + np.array([[-10.0], [10.0]]) * upward)
        normal = np.cross(ends[0], ends[1])
        return cls(
            camera,
            middle,
            upward,
            float(along.max()) + 0.5,
            float(along.min()) - 0.5,
            float(np.sqrt(12 * spread[0])),  # of a band, by its variance
            normal / np.linalg.norm(normal),
        )

    def height(self, through: FloatArray, axis: FloatArray) -> float:
        """How far along a line in its plane the middle of the upper, round end is [m]."""
        reach = PIN_RADIUS * self.camera.focal / self._away(through)
        ray = self.camera.ray(self.middle + (self.top - reach) * self.upward)
        across = np.cross(ray, self.normal)
        return float((self.camera.position - through) @ across / (axis @ across))

    def shows(self, pin: Pin) -> bool:
        """Whether it looks as wide and as long as it should, standing in the box or on it."""
        foot = max(BARE, (BOX_AT[2] - pin.end[2]) / max(pin.axis[2], 0.1))
        low, high = pin.end + foot * pin.axis, pin.end + PIN_LENGTH * pin.axis
        length = np.linalg.norm(self.camera.project(high) - self.camera.project(low))
        wide = 2 * PIN_RADIUS * self.camera.focal / self._away(high)
        shares = (self.top - self.bottom) / max(float(length), 1.0), self.wide / wide
        return all(WIDTH[0] < share < WIDTH[1] for share in shares)

    def _away(self, point: FloatArray) -> float:
        """Of a point along the camera's axis [m]."""
        return float((point - self.camera.position) @ self.camera.rotation[:, 2])


def _about_box(view: CameraView, hues: Sequence[tuple[float, float]]) -> list[ColourPatch]:
    """What has each of these hues about the box; what is seen elsewhere is no matter."""
    corners = BOX_AT + np.stack(np.meshgrid(*REGION.T), axis=-1).reshape(-1, 3)
    outline = np.round(view.camera.outline(corners)).astype(np.int32)
    region = np.zeros(view.image.shape[:2], np.uint8)
    cv2.fillConvexPoly(region, outline, 1)
    x, y, width, height = cv2.boundingRect(outline)
    here = slice(max(y, 0), y + height), slice(max(x, 0), x + width)
    part = replace(view, image=view.image[here])
    seen = []
    for hue in hues:
        mask = region > 0
        mask[here] &= coloured(part, hue, SATURATION).mask
        seen.append(ColourPatch(view, mask))
    return seen


def _face(seen: Colours) -> FloatArray | None:
    """Where one view alone has the box: x, y [m], yaw [rad]; None if it does not look like one."""
    camera, pixels = seen.box.view.camera, seen.box.points
    if len(pixels) < LEAST_PIN:
        return None
    rays = camera.ray(pixels)
    on_face = camera.position + rays * ((BOX_AT[2] - camera.position[2]) / rays[:, 2:])
    middle, size, angle = cv2.minAreaRect((1e3 * (on_face[:, :2] - BOX_AT[:2])).astype(np.float32))
    turned = angle if size[0] > size[1] else angle - 90.0
    yaw = np.radians((turned + 90.0) % 180.0 - 90.0)
    corner = np.maximum(pixels.min(axis=0) - 20, 0).astype(int)
    end = pixels.max(axis=0).astype(int) + 20
    here = slice(corner[1], end[1]), slice(corner[0], end[0])
    blue: Image = 255 * seen.box.mask[here].astype(np.uint8)
    pins = np.logical_or.reduce([pin.mask[here] for pin in seen.pins]).astype(np.uint8)
    counts: Image = 255 - 255 * cv2.dilate(pins, HIDES)
    blue &= counts

    def differs(pose: FloatArray) -> float:
        """What is seen, or would be of a box there, but not both, as a share."""
        drawn = np.zeros_like(blue)
        draw(drawn, camera.outline(_placed(pose).corners) - corner)
        drawn &= counts
        return float(cv2.norm(drawn, blue, cv2.NORM_L1)) / max(float(drawn.sum()), 1.0)

    begin = np.array([*(BOX_AT[:2] + 1e-3 * np.array(middle)), yaw])
    found = minimize(
        lambda x: differs(begin + SCALE * x),
        np.zeros(3),
        method="Nelder-Mead",
        options={
            "initial_simplex": np.concatenate([np.zeros((1, 3)), np.eye(3)]),
            "xatol": 0.02,
            "fatol": 1e-4,
            "maxfev": 120,
        },
    )
    pose: FloatArray = begin + SCALE * found.x
    return pose if found.fun < UNLIKE else None


def _placed(pose: FloatArray) -> Box:
    """A box at x, y [m] with a yaw [rad]; its height is its stage's."""
    frame = Rotation.from_rotvec((0.0, 0.0, pose[2])).as_matrix()
    return Box(np.array([pose[0], pose[1], BOX_AT[2]]), frame)
