"""Where the T lies, from its colour in two pictures: the pose whose outline covers what is seen.

The T is taken to lie flat on the bench, on either of its faces. Each view is fitted alone too: how
far the two are apart says how far the whole may be off, and whether to believe it at all. Where the
cameras stand is told by `marks.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from scipy.optimize import minimize

from enpire.environment import Camera, CameraView, ColourPatch, as_drawn, coloured, draw, fresh
from enpire.types import FloatArray, Image

from .geometry import BAR, HEIGHT, STEM, displacement

CENTRE = np.array([0.20, 0.0, 0.0])  # that both cameras look at [m]
CAMERAS = {"front": (0.80, 0.0, 45.0), "side": (0.80, -90.0, 45.0)}  # away [m], round, above [deg]

BLUE = (165.0, 230.0)  # hue of the T, and of its edge on the green line [deg]
SATURATION, VALUE = 40.0, 40.0  # of 255; fingers are darker
LEAST = 300  # pixels of it that a view must show
SHOWN, BEYOND = 0.75, 0.06  # share of the outline that is seen, at least; of what is seen, beyond
APART = 0.004  # of the poses that each view gives alone, at most [m]
STARTS = np.linspace(-np.pi, np.pi, 24, endpoint=False)  # yaws that are tried first [rad]
SCALE = np.array([0.004, 0.004, 0.08])  # of a first step of the fit [m, m, rad]
STEPS = 3  # of Gauss and Newton, from there
NUDGE = SCALE / 20  # for their slopes: a quarter of a pixel [m, m, rad]
UNLIKE = 200  # of 255: a pixel so far off is of what hides the T, not of where its edge lies
PARTS = [
    np.array([[c.real, c.imag, z] for c in part for z in (0.0, HEIGHT)]) for part in (BAR, STEM)
]


@dataclass(frozen=True, slots=True)
class Fitted:
    """The T's pose (3,), and what each view gives alone, (views, 3) [m, m, rad]."""

    pose: FloatArray
    alone: FloatArray


def blue(views: Sequence[CameraView], now: float) -> list[ColourPatch]:
    """The T's colour in those views that show what is at `now` [s]."""
    return [coloured(view, BLUE, SATURATION, VALUE) for view in fresh(views, now)]


def outlines(camera: Camera, pose: FloatArray) -> list[FloatArray]:
    """Of bar and stem at `pose`, as a camera sees them, each (k, 2) [px]."""
    cos, sin = np.cos(pose[2]), np.sin(pose[2])
    turn = np.array([[cos, -sin, 0], [sin, cos, 0], [0, 0, 1]])
    return [camera.outline((pose[0], pose[1], 0.0) + part @ turn.T) for part in PARTS]


def find_block(seen: Sequence[ColourPatch]) -> Fitted | None:
    """The one T that all of `seen` show; None if fewer than two do, or if they contradict."""
    windows = [_Window.around(one) for one in seen if one.mask.sum() >= LEAST]
    if len(windows) < 2:
        return None
    middle = np.mean([window.on_bench() for window in windows], axis=0)
    starts = np.array([(*middle, yaw) for yaw in STARTS])
    costs = [_cost(start, windows) for start in starts]
    tried = [_fit(starts[i], windows) for i in np.argsort(costs)[:3]]
    pose = _refined(min(tried, key=lambda pose: _cost(pose, windows)), windows)
    if not all(window.explains(pose) for window in windows):
        return None
    alone = np.array([_fit(pose, [window], 0.3) for window in windows])
    if displacement(alone[0], alone[1]) > APART:
        return None
    return Fitted(pose, alone)


@dataclass(frozen=True, slots=True)
class _Window:
    """The part of a view where the T is: its mask, its corner in the view [px].

    mask: 255 where it is seen, less on a rim as it is drawn. whole: sum of the mask.
    """

    camera: Camera
    mask: Image
    corner: FloatArray
    whole: float

    @classmethod
    def around(cls, seen: ColourPatch) -> _Window:
        """What is seen, and as much again around it."""
        points = seen.points
        margin = np.ptp(points, axis=0).max() / 2
        low = np.maximum(points.min(axis=0) - margin, 0).astype(int)
        high = (points.max(axis=0) + margin).astype(int)
        mask = as_drawn(seen.mask[low[1] : high[1], low[0] : high[0]])
        return cls(seen.view.camera, mask, low.astype(np.float64), float(mask.sum()))

    def on_bench(self) -> FloatArray:
        """The point (2,) half-way up the T at which the middle of what is seen lies [m]."""
        y, x = np.nonzero(self.mask)
        ray = self.camera.ray(np.array([x.mean(), y.mean()]) + self.corner)
        away = (HEIGHT / 2 - self.camera.position[2]) / ray[2]
        result: FloatArray = (self.camera.position + away * ray)[:2]
        return result

    def draw(self, pose: FloatArray) -> Image:
        """The T at `pose`, 255 where it covers a pixel wholly."""
        drawn = np.zeros_like(self.mask)
        for outline in outlines(self.camera, pose):
            draw(drawn, outline - self.corner)
        return drawn

    def slopes(self, pose: FloatArray) -> tuple[FloatArray, FloatArray]:
        """How the pixels at the edge of a T at `pose` change with it, and what they lack.

        Returns:
            For each of x, y and yaw by its `NUDGE`, (pixels, 3); what is seen less what is drawn,
            (pixels,).
        """
        lacks = (self.mask.astype(np.float64) - self.draw(pose)).ravel()
        change = [
            (self.draw(pose + by).astype(np.float64) - self.draw(pose - by)).ravel() / 2
            for by in np.diag(NUDGE)
        ]
        by_each = np.stack(change, axis=1)
        edge = by_each.any(axis=1) & (abs(lacks) <= UNLIKE)
        return by_each[edge], lacks[edge]

    def explains(self, pose: FloatArray) -> bool:
        """Whether a T at `pose` is what is seen."""
        drawn = self.draw(pose) > 127
        here = self.mask == 255
        beyond = here & ~cv2.dilate(drawn.astype(np.uint8), np.ones((3, 3), np.uint8)).astype(bool)
        return bool(
            (drawn & here).sum() >= SHOWN * drawn.sum() and beyond.sum() <= BEYOND * here.sum()
        )


def _cost(pose: FloatArray, windows: Sequence[_Window]) -> float:
    """What is seen or drawn, but not both, as a share of what is seen."""
    return sum(
        float(cv2.norm(window.draw(pose), window.mask, cv2.NORM_L1)) / window.whole
        for window in windows
    )


def _fit(start: FloatArray, windows: Sequence[_Window], step: float = 1.0) -> FloatArray:
    """The pose near `start` at which the T covers best what is seen (Nelder and Mead 1965)."""
    simplex = np.concatenate([np.zeros((1, 3)), step * np.eye(3)])
    found = minimize(
        lambda x: _cost(start + SCALE * x, windows),
        np.zeros(3),
        method="Nelder-Mead",
        options={"initial_simplex": simplex, "xatol": 0.01, "fatol": 1e-4, "maxfev": 120},
    )
    result: FloatArray = start + SCALE * found.x
    return result


def _refined(pose: FloatArray, windows: Sequence[_Window]) -> FloatArray:
    """The pose near `pose` at which what is drawn lacks least of what is seen, in squares.

    A sum of differences hardly says where in a pixel an edge lies: it left a covered share of the
    outline off by 0.0006 (standard deviation, 60 poses), squares by 0.0004, and with a part of the
    edge hidden from one view by 0.0007 and 0.0004.
    """
    for _ in range(STEPS):
        slopes, lacks = zip(*(window.slopes(pose) for window in windows), strict=True)
        step = np.linalg.lstsq(np.concatenate(slopes), np.concatenate(lacks), rcond=None)[0]
        pose = pose + NUDGE * step
    return pose
