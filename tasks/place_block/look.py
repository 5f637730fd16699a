"""Where block and pad are, from their colours in two pictures: poses that cover what is seen.

The pad lies flat on the bench, the block anyhow. Each view is fitted alone too: how far the two are
apart says how far the whole may be off, and whether to believe it at all. Where the cameras stand
is told by marks on the bench.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from enpire.environment import (
    Camera,
    CameraMarks,
    CameraView,
    ColourPatch,
    as_drawn,
    coloured,
    draw,
    fresh,
    triangulate,
)
from enpire.types import FloatArray, Image

from .geometry import BLOCK, CORNERS, PAD

CENTRE = np.array([0.47, 0.0, 0.015])  # that both cameras look at [m]
CAMERAS = {"front": (0.95, 35.0, 32.0), "side": (0.95, -35.0, 32.0)}  # away [m], round, above [deg]
ROLL = 6.0  # of both about where they look: edges then cross rows and columns of pixels [deg]
MARKS = CameraMarks(  # as in scene.xml [m]; block and pad begin within them
    np.array(
        [
            (0.620, 0.000, 0.0),
            (0.610, -0.110, 0.0),
            (0.610, 0.110, 0.0),
            (0.540, -0.200, 0.0),
            (0.540, 0.200, 0.0),
            (0.450, -0.205, 0.0),
            (0.450, 0.205, 0.0),
            (0.360, -0.200, 0.0),
            (0.360, 0.200, 0.0),
        ]
    ),
    radius=0.008,
)

RED, BLUE = (-14.0, 14.0), (195.0, 235.0)  # hues of block and pad [deg]; the arm's caps are paler
SATURATION = 120.0  # of 255
PLACES = np.array([[0.32, -0.19], [0.60, 0.19]])  # of the pad, all of it [m]
SHEET = 0.0002  # height of its upper face [m]
LEAST = 300  # pixels that a view must show, of block and pad each
ANOTHER = 0.3  # of the block's pixels: a red patch elsewhere that is so large may be the block
SHOWN, BEYOND = 0.75, 0.06  # share of the outline that is seen, at least; of what is seen, beyond
STANDS = 0.045  # cost of a level fit, from where on the block may be tilted: by 3 degrees
APART = 0.002  # of the places that each view gives alone, at most [m]
MISSED = 0.006  # of the block's middle by the rays through what is seen of all of it, at most [m]
HIDDEN = float(np.sqrt(3)) / 2 * BLOCK  # any point of the block is so near its middle [m]
YAWS = np.pi / 2 * np.arange(9) / 9  # that are tried first [rad]
SCALE = np.array([0.004, 0.004, 0.004, 0.08, 0.08, 0.08])  # of a first step of the fit [m], [rad]
NUDGE = SCALE / 20  # for slopes: a quarter of a pixel [m], [rad]
STEPS = 4  # of Gauss and Newton
LEVEL = np.array([0, 1, 2, 5])  # of a pose, what changes of a block that stands level
ONE_VIEW = np.array([0, 1, 5])  # what one view alone is asked for
UNLIKE = 200  # of 255: a pixel so far off is of what hides the thing, not of where its edge lies
HIDES = np.ones((7, 7), np.uint8)  # what is so near the block's colour may be hidden by it
ROUND = np.linspace(0.0, 2 * np.pi, 96, endpoint=False)  # corners that the pad is drawn with [rad]
RIM = np.stack([PAD * np.cos(ROUND), PAD * np.sin(ROUND), np.full(96, SHEET)], axis=1)

Axes = NDArray[np.int_]  # which entries of a pose
Outline = Callable[[Camera, FloatArray], FloatArray]  # of a thing at its pose, (k, 2) [px]


@dataclass(frozen=True, slots=True)
class Colours:
    """Block and pad in one view."""

    block: ColourPatch
    pad: ColourPatch

    @property
    def both(self) -> ColourPatch:
        """The two together."""
        return ColourPatch(self.block.view, self.block.mask | self.pad.mask)


@dataclass(frozen=True, slots=True)
class Fitted:
    """A thing's pose, and what each view gives alone, (views, ...).

    A block's pose is x, y, z of its middle [m], a turn about a level axis (its x and y), and the
    yaw before it [rad], (6,); a pad's is x, y [m].
    """

    pose: FloatArray
    alone: FloatArray


def red(views: Sequence[CameraView]) -> list[ColourPatch]:
    """The block's colour in each view."""
    return [coloured(view, RED, SATURATION) for view in views]


def colours(view: CameraView) -> Colours:
    """Block and pad where they may be."""
    pad = coloured(view, BLUE, SATURATION)
    y, x = np.nonzero(pad.mask)
    there = _on_bench(view.camera, np.stack([x, y], axis=1).astype(np.float64))
    inside = ((there > PLACES[0]) & (there < PLACES[1])).all(axis=1)
    pad.mask[y[~inside], x[~inside]] = False
    return Colours(*red([view]), pad)


def placed_views(views: Sequence[CameraView], now: float) -> list[CameraView]:
    """Those that show what is at `now` [s], with their cameras where the marks say."""
    return [placed for view in fresh(views, now) if (placed := MARKS.placed(view))]


def block_corners(pose: FloatArray) -> FloatArray:
    """The corners (8, 3) of a block at `pose` [m]."""
    corners: FloatArray = pose[:3] + CORNERS @ block_rotation(pose).T
    return corners


def block_rotation(pose: FloatArray) -> FloatArray:
    """Its frame (3, 3) in the world."""
    cos, sin = np.cos(pose[5]), np.sin(pose[5])
    frame: FloatArray = np.array([[cos, -sin, 0.0], [sin, cos, 0.0], [0.0, 0.0, 1.0]])
    if pose[3] or pose[4]:
        frame = cv2.Rodrigues(np.array([pose[3], pose[4], 0.0]))[0] @ frame
    return frame


def block_outline(camera: Camera, pose: FloatArray) -> FloatArray:
    """The outline of a block at `pose`, (k, 2) [px]."""
    return camera.outline(block_corners(pose))


def pad_outline(camera: Camera, place: FloatArray) -> FloatArray:
    """The outline of a pad at x, y [m], (k, 2) [px]."""
    return camera.project(RIM + np.array([place[0], place[1], 0.0]))


def find_block(seen: Sequence[ColourPatch], near: FloatArray | None = None) -> Fitted | None:
    """The one block that all of `seen` show; None if fewer than two do, or if they contradict.

    near: a pose (6,) from which it has not gone far, if one is known.
    """
    windows = _windows(seen)
    if len(windows) < 2:
        return None
    if near is None:
        middle = _middle(windows, MISSED)
        if middle is None:
            return None
        starts = [np.array([*middle, 0.0, 0.0, yaw]) for yaw in YAWS]
        near = min(starts, key=lambda pose: _cost(pose, windows))
    pose, every = _fit(near, windows, LEVEL), np.arange(6)
    if _cost(pose, windows) > STANDS:
        pose = _fit(pose, windows, every)
    pose = _refined(pose, windows, every)
    return _agreed(pose, windows, ONE_VIEW)


def find_middle(seen: Sequence[ColourPatch]) -> FloatArray | None:
    """About where the block's middle is (3,) [m], to within `HIDDEN`, whatever hides of it."""
    return _middle(_windows(seen), HIDDEN)


def find_pad(seen: Sequence[Colours]) -> Fitted | None:
    """The one pad that all of `seen` show; None if fewer than two do, or if they contradict."""
    windows, middles = [], []
    for one in seen:
        window = _Window.around(one.pad, pad_outline)
        if window is None:
            return None
        hides = cv2.dilate(one.block.mask.astype(np.uint8), HIDES)
        windows.append(window.without(hides))
        # All of it that is seen lies in the least circle about it, and that is the pad's own.
        there = 1e3 * _on_bench(one.pad.view.camera, one.pad.points)
        middles.append(1e-3 * np.array(cv2.minEnclosingCircle(there.astype(np.float32))[0]))
    if len(windows) < 2:
        return None
    axes = np.arange(2)
    place = _fit(np.mean(middles, axis=0), windows, axes)
    return _agreed(_refined(place, windows, axes), windows, axes)


@dataclass(frozen=True, slots=True)
class _Window:
    """The part of a view where a thing is.

    mask: 255 where it is seen, less on a rim as it is drawn. whole: its sum. corner: of the part in
    the view [px]. counts: 255 where nothing known hides it, else 0. outline: of the thing.
    """

    camera: Camera
    mask: Image
    whole: float
    corner: FloatArray
    counts: Image
    outline: Outline

    @classmethod
    def around(cls, seen: ColourPatch, outline: Outline, another: float = 0.0) -> _Window | None:
        """The largest patch of the colour, and some of what is around it; None if it is too small.

        another: share of its pixels that elsewhere make it doubtful which one it is; 0: all
        patches are of one thing.
        """
        mask = seen.mask.astype(np.uint8)
        count, _, stats, _ = cv2.connectedComponentsWithStats(mask)
        sizes = stats[1:, cv2.CC_STAT_AREA]
        if count < 2 or sizes.sum() < LEAST:
            return None
        here = stats[1 + int(sizes.argmax()), :4] if another else np.array(cv2.boundingRect(mask))
        margin = here[2:].max() // 3
        low = np.maximum(here[:2] - margin, 0)
        high = here[:2] + here[2:] + margin
        part = mask[low[1] : high[1], low[0] : high[0]].astype(bool)
        if another and mask.sum() - part.sum() > another * part.sum():
            return None
        drawn = as_drawn(part)
        counts = np.full_like(drawn, 255)
        corner = low.astype(np.float64)
        return cls(seen.view.camera, drawn, float(drawn.sum()), corner, counts, outline)

    def without(self, hides: Image) -> _Window:
        """The same, where pixels of the view (h, w) that are not 0 say nothing."""
        x, y = self.corner.astype(int)
        height, width = self.mask.shape
        counts: Image = np.where(hides[y : y + height, x : x + width] > 0, 0, 255).astype(np.uint8)
        mask = self.mask & counts
        return replace(self, mask=mask, whole=float(mask.sum()), counts=counts)

    def draw(self, pose: FloatArray) -> Image:
        """The thing at `pose`, 255 where it covers a pixel wholly."""
        drawn = np.zeros_like(self.mask)
        draw(drawn, self.outline(self.camera, pose) - self.corner)
        drawn &= self.counts
        return drawn

    def middle(self) -> FloatArray:
        """Of what is seen, (2,) in the view [px]."""
        y, x = np.nonzero(self.mask == 255)
        result: FloatArray = np.array([x.mean(), y.mean()]) + self.corner
        return result

    def slopes(self, pose: FloatArray, axes: Axes) -> tuple[FloatArray, FloatArray]:
        """How pixels at the thing's edge change with entries of `pose`, and what they lack.

        Returns:
            For each by its `NUDGE`, (pixels, n); what is seen less what is drawn, (pixels,).
        """
        lacks = self.mask.astype(np.int16) - self.draw(pose)
        ways = np.diag(NUDGE[: len(pose)])[axes]
        change = [self.draw(pose + by).astype(np.int16) - self.draw(pose - by) for by in ways]
        edge = np.logical_or.reduce([by != 0 for by in change]) & (abs(lacks) <= UNLIKE)
        return np.stack([by[edge] for by in change], axis=1) / 2.0, lacks[edge].astype(np.float64)

    def explains(self, pose: FloatArray) -> bool:
        """Whether a thing at `pose` is what is seen."""
        drawn = self.draw(pose) > 127
        here = self.mask == 255
        beyond = here & ~cv2.dilate(drawn.astype(np.uint8), np.ones((3, 3), np.uint8)).astype(bool)
        return bool(
            (drawn & here).sum() >= SHOWN * drawn.sum() and beyond.sum() <= BEYOND * here.sum()
        )


def _on_bench(camera: Camera, pixels: FloatArray) -> FloatArray:
    """Points (n, 2) of the bench that are seen at pixels (n, 2) [m]."""
    rays = camera.ray(pixels)
    away = (SHEET - camera.position[2]) / rays[:, 2:]
    result: FloatArray = (camera.position + away * rays)[:, :2]
    return result


def _windows(seen: Sequence[ColourPatch]) -> list[_Window]:
    """Those parts of the views where the block is."""
    return [w for one in seen if (w := _Window.around(one, block_outline, ANOTHER))]


def _middle(windows: Sequence[_Window], most: float) -> FloatArray | None:
    """Where rays through the middles of what is seen meet, (3,) [m]; None if `most` apart."""
    if len(windows) < 2:
        return None
    middles = np.array([window.middle() for window in windows])
    middle, miss = triangulate([window.camera for window in windows], middles)
    return middle if miss <= most else None


def _cost(pose: FloatArray, windows: Sequence[_Window]) -> float:
    """What is seen or drawn, but not both, as a share of what is seen."""
    return sum(
        float(cv2.norm(window.draw(pose), window.mask, cv2.NORM_L1)) / max(window.whole, 1.0)
        for window in windows
    )


def _fit(start: FloatArray, windows: Sequence[_Window], axes: Axes) -> FloatArray:
    """The pose near `start`, but for some entries, that covers best what is seen.

    By Nelder and Mead (1965).
    """
    ways = np.diag(SCALE[: len(start)])[axes]
    found = minimize(
        lambda x: _cost(start + x @ ways, windows),
        np.zeros(len(axes)),
        method="Nelder-Mead",
        options={
            "initial_simplex": np.concatenate([np.zeros((1, len(axes))), np.eye(len(axes))]),
            "xatol": 0.05,
            "fatol": 1e-4,
            "maxfev": 150,
        },
    )
    result: FloatArray = start + found.x @ ways
    return result


def _refined(pose: FloatArray, windows: Sequence[_Window], axes: Axes) -> FloatArray:
    """The pose near `pose` at which what is drawn lacks least of what is seen, in squares."""
    ways = np.diag(NUDGE[: len(pose)])[axes]
    for _ in range(STEPS):
        slopes, lacks = zip(*(window.slopes(pose, axes) for window in windows), strict=True)
        step = np.linalg.lstsq(np.concatenate(slopes), np.concatenate(lacks), rcond=None)[0]
        pose = pose + step @ ways
    return pose


def _agreed(pose: FloatArray, windows: Sequence[_Window], axes: Axes) -> Fitted | None:
    """The pose, if all views show a thing there, and each alone has it in about this place."""
    if not all(window.explains(pose) for window in windows):
        return None
    alone = np.array([_refined(pose, [window], axes) for window in windows])
    if np.linalg.norm(alone[:, :2] - pose[:2], axis=1).max() > APART:
        return None
    return Fitted(pose, alone)
