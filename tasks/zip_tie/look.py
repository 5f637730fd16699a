"""Where head, tip and loop are, from their colours in two pictures.

The pads hold the head flat, so a label on its side, shifted and turned in the plane between them,
is fitted to both pictures. The tip is so small that the middle of its colour shows its middle. The
strap goes round the bundle as far as it is seen from the bundle's axis, in the plane of the loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from scipy.optimize import minimize

from enpire.environment import (
    Camera,
    Seen,
    View,
    as_drawn,
    coloured,
    draw,
    fresh,
    outline_area,
    triangulate,
)
from enpire.types import FloatArray, Image

from .frames import HEAD, LEFT, hand_rotation
from .strap import TIP

CENTRE = np.array([0.42, -0.015, 0.175])  # that both cameras look at [m]
CAMERAS = {"front": (0.45, 5.0, 30.0), "side": (0.45, 37.0, 33.0)}  # away [m], round, above [deg]

GREEN, MAGENTA, CYAN = (105.0, 155.0), (285.0, 335.0), (170.0, 200.0)  # of label, strap, tip [deg]
SATURATION = 110.0  # of 255

BUNDLE = np.array([0.42, -0.030, 0.166])  # its stand is screwed to the bench; it lies along x [m]
IN_HAND = hand_rotation(LEFT).T @ HEAD  # head's frame in the hand's, before it is turned there
IN_REACH = 0.025  # of the hand is what may be the head [m]
SLID = np.array([0.008, 0.008, 0.0007])  # so far it may lie off the pads' middle, head frame [m]
LABEL_AT = np.array([0.0, -0.0077, -0.0022])  # of the label, head frame [m]
LEAST = 80  # pixels of the label that a view must show
SCALE = np.array([0.001, 0.001, 0.1])  # of a first step of the fit [m, m, rad]
UNLIKE = 0.25  # share of the label by which what is seen may differ from the fit
HEAD_CORNERS = np.array(  # of the head, and of the lead-in's rim [m]
    [(x, y, z) for x in (-0.006, 0.006) for y in (-0.0075, 0.0075) for z in (-0.0051, 0.0051)]
    + [(-0.0079, y, z) for y in (-0.0070, 0.0070) for z in (-0.0037, 0.0037)]
)

LABEL_CORNERS = np.array([(x, 0.0, z) for x in (-0.006, 0.006) for z in (-0.0027, 0.0027)])
TIP_CORNERS = np.array(
    [(x, y, z) for x in (-TIP / 2, TIP / 2) for y in (-0.0024, 0.0024) for z in (-0.0005, 0.0005)]
)
PLACED = 0.0005  # that the head's middle may be off along the slot [m]
TIP_LEAST = 12  # pixels of the tip that a view must show
TIP_NEAR = 0.08  # of the head is what may be the tip [m]
APART = 0.0005  # that rays to one point may pass each other [m]
MIDDLE = 0.0002  # that the middle of a tip that is seen whole may be off [m]
WHOLE = 0.93  # of its outline's area is then seen: corners are no 3 x 3 pixels
LARGEST = 1.25  # of its outline's area; what is larger is no tip

RING = (0.012, 0.110)  # from the bundle's axis is what may be the strap [m]
OPEN = 0.6  # of a turn, as a strap may be seen that does not go round the bundle
ROUND = 0.05  # of a turn, that the gap may be off for a strap that leans [turns]


@dataclass(frozen=True, slots=True)
class Colours:
    """The head's label, the strap and its tip in one view."""

    label: Seen
    strap: Seen
    tip: Seen

    @property
    def all(self) -> Seen:
        """The three together."""
        mask = self.label.mask | self.strap.mask | self.tip.mask
        return Seen(self.label.view, mask)


@dataclass(frozen=True, slots=True)
class Body:
    """A thing's middle (3,) [m], frame (3, 3) and corners (n, 3) [m], in the world.

    accuracy: how far the middle may be off along an axis of it [m].
    """

    middle: FloatArray
    frame: FloatArray
    accuracy: float
    corners: FloatArray


def colours(views: Sequence[View], now: float) -> list[Colours]:
    """What has them in those views that show what is at `now` [s]."""
    return [
        Colours(*(coloured(view, hue, SATURATION) for hue in (GREEN, MAGENTA, CYAN)))
        for view in fresh(views, now)
    ]


def find_head(seen: Sequence[Colours], hand: FloatArray, hand_frame: FloatArray) -> Body | None:
    """The one head between the left hand's pads that all views show.

    None if fewer than two do, or if they contradict each other or the hand.
    hand, hand_frame: the grasp frame in the world, (3,) and (3, 3).
    """
    windows = [window for one in seen if (window := _Window.around(one.label, hand))]
    if len(windows) < 2:
        return None
    nominal = hand_frame @ IN_HAND
    cameras = [window.camera for window in windows]
    middle, miss = triangulate(cameras, np.array([window.middle for window in windows]))
    start = (middle - hand) @ nominal - LABEL_AT
    if miss > APART or (abs(start) > SLID).any():
        return None

    def label(pose: FloatArray) -> FloatArray:
        """Its corners (4, 3) where the head is shifted and turned so between the pads."""
        frame, at = _placed(nominal, hand, pose)
        corners: FloatArray = at + (LABEL_AT + LABEL_CORNERS) @ frame.T
        return corners

    begin = np.array([start[0], start[1], 0.0]) / SCALE
    found = minimize(
        lambda x: sum(window.differs(label(SCALE * x)) for window in windows),
        begin,
        method="Nelder-Mead",
        options={
            "initial_simplex": begin + np.concatenate([np.zeros((1, 3)), np.eye(3)]),
            "xatol": 0.02,
            "fatol": 1e-4,
            "maxfev": 150,
        },
    )
    pose = SCALE * found.x
    if not all(window.differs(label(pose)) < UNLIKE for window in windows):
        return None
    frame, at = _placed(nominal, hand, pose)
    return Body(at, frame, PLACED, at + HEAD_CORNERS @ frame.T)


def find_tip(seen: Sequence[Colours], head: Body) -> Body | None:
    """The one tip near the head that all views show; None if not just one is seen by two.

    The tail is taken to be straight from the head's middle.
    """
    if len(seen) != 2:
        return None
    found = []
    first, second = ([*_blobs(one.tip)] for one in seen)
    cameras = [one.tip.view.camera for one in seen]
    for pair in ((a, b) for a in first for b in second):
        middle, miss = triangulate(cameras, np.array([blob.mean(axis=0) for blob in pair]))
        if miss < APART and np.linalg.norm(middle - head.middle) < TIP_NEAR:
            found.append((middle, pair))
    if len(found) != 1:
        return None
    middle, pair = found[0]
    frame = _along(middle - head.middle, head.frame)
    corners = middle + TIP_CORNERS @ frame.T
    shown = [
        len(blob) / outline_area(camera, corners)
        for camera, blob in zip(cameras, pair, strict=True)
    ]
    if max(shown) > LARGEST:
        return None
    accuracy = MIDDLE + max(0.0, 1.0 - min(shown) / WHOLE) * TIP / 2
    return Body(middle, frame, accuracy, corners)


def turns_seen(seen: Sequence[Colours], head: Body) -> float:
    """How far round the bundle label, strap and tip are seen: a turn less the widest gap [turns].

    What hides a piece of the strap in one view does not in another. Not a number if one of them
    shows so little that the strap need not go round the bundle, and another shows more.
    """
    angles = [_directions(one.all, head) for one in seen]
    round_ = {_round(one) > OPEN for one in angles}
    return np.nan if len(round_) > 1 else _round(np.concatenate(angles))


def _round(angles: FloatArray) -> float:
    """A turn less the widest gap between some directions [turns]; 0 without any."""
    if not len(angles):
        return 0.0
    angles = np.sort(angles)
    return float(1.0 - np.diff(angles, append=angles[0] + 2 * np.pi).max() / (2 * np.pi))


def _directions(seen: Seen, head: Body) -> FloatArray:
    """From the bundle's axis to what is seen, in the plane of the head's length and height [rad].

    Pixels at some distance from the axis, shape (n,).
    """
    camera = seen.view.camera
    normal = head.frame[:, 1]
    rays = camera.ray(seen.points)
    away = (head.middle - camera.position) @ normal / (rays @ normal)
    axis = BUNDLE + np.array([(head.middle - BUNDLE) @ normal / normal[0], 0.0, 0.0])
    around = (camera.position + away[:, None] * rays - axis) @ head.frame[:, [0, 2]]
    radius = np.linalg.norm(around, axis=1)
    x, z = around[(radius > RING[0]) & (radius < RING[1])].T
    angles: FloatArray = np.arctan2(z, x)
    return angles


@dataclass(frozen=True, slots=True)
class _Window:
    """The part of a view where the label is: its mask, its corner in the view [px].

    mask: 255 where it is seen, less on a rim as it is drawn. whole: sum of the mask. middle: (2,),
    of what is seen [px].
    """

    camera: Camera
    mask: Image
    corner: FloatArray
    whole: float
    middle: FloatArray

    @classmethod
    def around(cls, seen: Seen, hand: FloatArray) -> _Window | None:
        """What is near the hand; None where that is too little."""
        camera = seen.view.camera
        reach = IN_REACH * camera.focal / float(np.linalg.norm(camera.position - hand))
        corner = np.maximum(np.floor(camera.project(hand) - reach), 0).astype(int)
        end = np.maximum(corner + int(2 * reach), 0)
        mask = seen.mask[corner[1] : end[1], corner[0] : end[0]]
        y, x = np.nonzero(mask)
        if len(x) < LEAST:
            return None
        soft = as_drawn(mask)
        middle = np.array([x.mean(), y.mean()]) + corner
        return cls(camera, soft, corner.astype(np.float64), float(soft.sum()), middle)

    def differs(self, corners: FloatArray) -> float:
        """What is seen, or would be of a body with these corners, but not both, as a share."""
        drawn = np.zeros_like(self.mask)
        draw(drawn, self.camera.outline(corners) - self.corner)
        return float(cv2.norm(drawn, self.mask, cv2.NORM_L1)) / self.whole


def _placed(
    nominal: FloatArray, hand: FloatArray, pose: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Frame (3, 3) and middle (3,) of a head that is shifted (2) and turned so between the pads."""
    cos, sin = np.cos(pose[2]), np.sin(pose[2])
    turned = np.array([[cos, -sin, 0.0], [sin, cos, 0.0], [0.0, 0.0, 1.0]])
    return nominal @ turned, hand + nominal[:, :2] @ pose[:2]


def _along(direction: FloatArray, frame: FloatArray) -> FloatArray:
    """The frame (3, 3) nearest to `frame` whose x is along a direction, to or fro."""
    x = direction * np.sign(direction @ frame[:, 0]) / np.linalg.norm(direction)
    z = np.cross(x, frame[:, 1])
    z /= np.linalg.norm(z)
    return np.stack([x, np.cross(z, x), z], axis=1)


def _blobs(seen: Seen) -> list[FloatArray]:
    """Pixels (n, 2) of each connected patch that is large enough."""
    count, labels, stats, _ = cv2.connectedComponentsWithStats(seen.mask.astype(np.uint8))
    large = [i for i in range(1, count) if stats[i, cv2.CC_STAT_AREA] >= TIP_LEAST]
    return [np.stack(np.nonzero(labels == i)[::-1], axis=1).astype(np.float64) for i in large]
