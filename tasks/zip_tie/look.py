"""Where head, tip and loop are, from their colours in two pictures.

The left hand has let go, and the head lies on its lower pad as the strap turns it. So a label on
its side, shifted and turned any way, is fitted to the middles and spreads of its patches in both
pictures; the tip is where the middles of its patches are. Both are seen by the same cameras, so
that a camera that stands a little elsewhere shifts them alike, and not the depth between them.
Before the head and beyond it the strap is looked for along the head's height.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from scipy.spatial.transform import Rotation

from enpire.environment import (
    Camera,
    CameraView,
    ColourPatch,
    Readings,
    coloured,
    fresh,
    outline_area,
    triangulate,
)
from enpire.types import FloatArray

from . import strap
from .frames import HEAD, LEFT, hand_rotation
from .strap import TIP

CENTRE = np.array([0.42, -0.020, 0.160])  # that both cameras look at [m]
CAMERAS = {"front": (0.38, -6.0, 40.0), "side": (0.38, 30.0, 30.0)}  # away [m], round, above [deg]
ROLL = 20.0  # of both about where they look: edges then cross rows and columns of pixels [deg]

GREEN, MAGENTA, CYAN = (105.0, 155.0), (285.0, 335.0), (170.0, 200.0)  # of label, strap, tip [deg]
SATURATION, VALUE = 110.0, 20.0  # of 255

IN_HAND = hand_rotation(LEFT).T @ HEAD  # head's frame in the hand's, before it is turned there
HEAD_HALF = 0.0051  # of the head's height: a pad is so far from its middle [m]
IN_REACH = 0.040  # of where it is to lie is what may be the head [m]
SLID = np.array([0.015, 0.012, 0.020])  # so far it may lie off that, head frame [m]
LABEL_AT = np.array([0.0, -0.0077, -0.0022])  # of the label, head frame [m]
LEAST = 80  # pixels of the label that a view must show
STEP = np.array([5e-5] * 3 + [5e-3] * 3)  # of the fit's differences [m], [rad]
UPRIGHT = (1.0,) * 4 + (0.0,) * 6  # of the rounds: a lean about the slot is that unlike [px/rad]
# Of a head between the pads, from which it is fitted, in turn: it turns in its plane, or about the
# vertical. From the first alone 2 of 292 heads came to a pose that none can have.
STARTS = ((0.0, 0.0, 0.0), (0.0, -0.6, 0.0), (0.0, 0.6, 0.0), (0.0, 0.0, -0.6), (0.0, 0.0, 0.6))
# All that is off then: where one fit came to so little the others came to the same pose (57 of 60
# heads; in the other three the fits came to 1 px or more, or to different poses).
FITS = 0.25  # [px]
MOST_LEAN = 1.2  # about the slot, that a fit may come to [rad]
MOST_TURNED = 1.6  # about any axis [rad]
LENGTH = 0.012  # of the label [m]
# So much further than one view is off depth may be, if the other is not: up to 2.2 times with a
# board before the tip in one view (8 demonstrations, 154 pictures).
ONE_VIEW = 2.3
# Boards before label or tip in one view (672 pictures of 6 successes): depth was off by more than
# its accuracy in 8, towards less in all of them; without these two and the head's turn in 45.
AGREE = 0.3  # that turns of fits may differ which are about as good: else none is known [rad]
UNFIT = 5.0  # depth may be off by so many times what middle or spread of the label are
UNLIKE = 3.0  # that middle or spread of the label may be off the fit [px]
HEAD_CORNERS = np.array(  # of the head, and of the lead-in's rim [m]
    [(x, y, z) for x in (-0.006, 0.006) for y in (-0.0075, 0.0075) for z in (-0.0051, 0.0051)]
    + [(-0.0079, y, z) for y in (-0.0070, 0.0070) for z in (-0.0037, 0.0037)]
)

LABEL_CORNERS = np.array(  # from the middle of its outside
    [(x, y, z) for x in (-0.006, 0.006) for y in (0.0, 0.0002) for z in (-0.0027, 0.0027)]
)
TIP_CORNERS = np.array(
    [(x, y, z) for x in (-TIP / 2, TIP / 2) for y in (-0.0024, 0.0024) for z in (-0.0005, 0.0005)]
)
PLACED = 0.00015  # that the middle of a head that is seen whole may be off along the slot [m]
TIP_LEAST = 12  # pixels of the tip that a view must show
TIP_NEAR = 0.08  # of the head is what may be the tip [m]
APART = 0.0005  # that rays to one point may pass each other [m]
MIDDLE = 0.00010  # that the middle of a tip that is seen whole may be off along the slot [m]
WHOLE = 0.96  # of its outline's area is then seen
PIVOT = np.array([0.003, 0.0, -0.0007])  # from there the last link is straight, head frame [m]
BENT = 0.12  # that its direction may be off that [rad]
HEIGHTS = np.arange(-0.011, 0.011, 0.0001)  # along which the strap is looked for [m]
BEFORE, BEYOND = -0.016, 0.009  # along the slot, where it is [m]
AS_WIDE = (0.6, 1.4)  # as a strap is, that one is seen before the head
ODDLY_WIDE = (0.3, 2.0)  # one of which something is hidden, or something else is beside
SPECK = 0.0008  # of strap along that, which is none: red beside blue looks so, too [m]
FACES = 0.6  # that a strap may be off at the head's faces: two deviations [mm]
LARGEST = 1.25  # of its outline's area, the largest of these rolls; what is larger is no tip
ROLLS = (-0.3, 0.0, 0.3)  # of a tip about the tail, against the head [rad]


@dataclass(frozen=True, slots=True)
class Colours:
    """The head's label, the strap and its tip in one view."""

    label: ColourPatch
    strap: ColourPatch
    tip: ColourPatch

    @property
    def all(self) -> ColourPatch:
        """The three together."""
        mask = self.label.mask | self.strap.mask | self.tip.mask
        return ColourPatch(self.label.view, mask)


@dataclass(frozen=True, slots=True)
class Body:
    """A thing's middle (3,) [m], frame (3, 3) and corners (n, 3) [m], in the world.

    accuracy: how far the middle may be off along an axis of it [m].
    """

    middle: FloatArray
    frame: FloatArray
    accuracy: float
    corners: FloatArray


def colours(views: Sequence[CameraView], now: float) -> list[Colours]:
    """What has them in those views that show what is at `now` [s]."""
    return [
        Colours(*(_to_the_rim(view, hue) for hue in (GREEN, MAGENTA, CYAN)))
        for view in fresh(views, now)
    ]


def lies(readings: Readings) -> tuple[FloatArray, FloatArray]:
    """Where the left hand has the head, (3,) [m], and that hand's frame, (3, 3).

    Between its pads, and on the lower one once these are open.
    """
    hand, frame = readings.hand_position[0, LEFT], readings.hand_rotation[0, LEFT]
    below = max(0.0, float(readings.gripper[0, LEFT]) / 2 - HEAD_HALF)
    return hand - below * frame[:, 0], frame


def find_head(seen: Sequence[Colours], hand: FloatArray, hand_frame: FloatArray) -> Body | None:
    """The one head where the left hand has it (`lies`) that all views show.

    None if fewer than two do, or if they contradict each other or the hand. Least squares over the
    middles and spreads of the label's patches, by Gauss and Newton; the best of the fits from a few
    turns that a head may have. A lean about the slot is seen least: the first rounds hold it back.
    hand, hand_frame: its place and the hand's frame in the world, (3,) and (3, 3).
    """
    found = [patch for one in seen if (patch := _Patch.near(one.label, hand))]
    if len(found) < 2:
        return None
    nominal = hand_frame @ IN_HAND
    begin, miss = triangulate([one.camera for one in found], np.array([p.middle for p in found]))
    if miss > APART:
        return None

    def turned(pose: FloatArray) -> FloatArray:
        """The head's frame (3, 3)."""
        frame: FloatArray = nominal @ Rotation.from_rotvec(pose[3:]).as_matrix()
        return frame

    def label(pose: FloatArray) -> FloatArray:
        """Its corners (8, 3), shifted (3) from where rays meet, and turned (3)."""
        corners: FloatArray = begin + pose[:3] + LABEL_CORNERS @ turned(pose).T
        return corners

    def off(pose: FloatArray) -> FloatArray:
        return np.concatenate([patch.off(label(pose)) for patch in found])

    def fitted(start: tuple[float, ...]) -> FloatArray:
        """The pose (6,) to which rounds lead from one turn."""
        pose = np.array([0.0, 0.0, 0.0, *start])
        for upright in UPRIGHT:
            slopes = np.stack([(off(pose + e) - off(pose - e)) / 2 for e in np.diag(STEP)], axis=1)
            held = upright * STEP * np.eye(6)[3]
            miss_all = np.append(off(pose), upright * pose[3])
            pose = pose - STEP * np.linalg.lstsq(np.vstack([slopes, held]), miss_all)[0]
        return pose

    def shown(pose: FloatArray) -> list[float]:
        """The share of the label that each view shows."""
        return [p.area / outline_area(p.camera, label(pose)) for p in found]

    def lies_at(pose: FloatArray) -> FloatArray:
        """Where the head's middle is then, (3,)."""
        at: FloatArray = begin + pose[:3] - turned(pose) @ LABEL_AT
        return at

    fits: list[tuple[FloatArray, FloatArray]] = []  # misses, and the pose that leaves them
    for start in STARTS:
        tried = fitted(start)
        misses = off(tried)
        leans = abs(tried[3]) > MOST_LEAN or np.linalg.norm(tried[3:]) > MOST_TURNED
        slid = (abs((lies_at(tried) - hand) @ nominal) > SLID).any()
        if leans or slid or max(shown(tried)) > LARGEST or abs(misses).max() > UNLIKE:
            continue
        fits.append((misses, tried))
        if np.linalg.norm(misses) < FITS:
            fits = fits[-1:]
            break
    if not fits:
        return None
    misses, pose = min(fits, key=lambda fit: float(np.linalg.norm(fit[0])))
    if any(np.linalg.norm(other[3:] - pose[3:]) > AGREE for _, other in fits):
        return None
    unlike = abs(misses).max()
    at, frame = lies_at(pose), turned(pose)
    pixel = max(np.linalg.norm(p.camera.position - hand) / p.camera.focal for p in found)
    hidden = max(0.0, 1.0 - min(shown(pose)) / WHOLE) * ONE_VIEW * LENGTH
    accuracy = PLACED + UNFIT * unlike * float(pixel) + hidden
    return Body(at, frame, accuracy, at + HEAD_CORNERS @ frame.T)


def passes(seen: Sequence[Colours], head: Body, tip: Body) -> tuple[FloatArray, float]:
    """How high the strap is at the head's entry and exit, (2,), and how far that may be off [m].

    It is seen before the head and beyond it, and straight between these; not a number if unseen.
    Before it the middle of what is seen along the head's height counts. Where no view has that as
    wide as a strap is, half of the difference may be hidden, or be something else. Beyond it the
    upper edge counts, for the loop's root is under the tail there. Each is the mean of the views
    that show it.
    """
    aside = float(head.frame[:, 1] @ (tip.middle - head.middle))
    before, oddly, beyond = [], [], []
    for one in seen:
        along = head.frame.T @ (head.middle - one.tip.view.camera.position)
        half = strap.WIDTH / 2 * abs(along[2] / along[1]) + strap.THICKNESS / 2
        band = _highest(one, head, BEFORE, 0.0)
        if band is not None:
            wide = (band[1] - band[0]) / (2 * half)
            if AS_WIDE[0] < wide < AS_WIDE[1]:
                before.append(sum(band) / 2)
            elif ODDLY_WIDE[0] < wide < ODDLY_WIDE[1]:
                oddly.append((abs(wide - 1.0) * half, sum(band) / 2))
        band = _highest(one, head, BEYOND, aside)
        if band is not None:
            beyond.append(band[1] - half)
    odd = 0.0
    if oddly and not before:
        odd, middle = min(oddly)
        before = [middle]
    if not before or not beyond:
        return np.full(2, np.nan), np.nan
    share = (np.array([-strap.SLOT_END, strap.SLOT_END]) - BEFORE) / (BEYOND - BEFORE)
    first, last = float(np.mean(before)), float(np.mean(beyond))
    return first + share * (last - first), 1e-3 * FACES + float((1.0 - share[0]) * odd)


def _highest(one: Colours, head: Body, along: float, aside: float) -> tuple[float, float] | None:
    """From where to where the highest piece of strap is seen along the head's height [m]."""
    line = np.column_stack([np.full((len(HEIGHTS), 2), (along, aside)), HEIGHTS])
    camera, mask = one.tip.view.camera, one.strap.mask | one.tip.mask
    x, y = camera.project(head.middle + line @ head.frame.T).round().astype(int).T
    inside = (x >= 0) & (x < camera.width) & (y >= 0) & (y < camera.height)
    if not inside.all():
        return None
    edges = np.flatnonzero(np.diff(mask[y, x].astype(int), prepend=0, append=0))
    bands = HEIGHTS[edges.reshape(-1, 2) - (0, 1)]
    large = bands[np.diff(bands)[:, 0] > SPECK]
    return (float(large[-1, 0]), float(large[-1, 1])) if len(large) else None


def find_tip(seen: Sequence[Colours], head: Body) -> Body | None:
    """The one tip near the head that all views show; None if not just one is seen by two.

    The tail's last link is taken to be straight from where the slot holds it.
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
    frame = _along(middle - head.middle - head.frame @ PIVOT, head.frame)
    corners = middle + TIP_CORNERS @ frame.T
    rolled = [
        middle + TIP_CORNERS @ (frame @ Rotation.from_rotvec([roll, 0.0, 0.0]).as_matrix()).T
        for roll in ROLLS
    ]
    for camera, blob in zip(cameras, pair, strict=True):
        if len(blob) > LARGEST * max(outline_area(camera, one) for one in rolled):
            return None
    shown = min(
        len(blob) / outline_area(camera, corners)
        for camera, blob in zip(cameras, pair, strict=True)
    )
    hidden = max(0.0, 1.0 - shown / WHOLE) * ONE_VIEW * TIP / 2
    return Body(middle, frame, MIDDLE + hidden, corners)


@dataclass(frozen=True, slots=True)
class _Patch:
    """What a view shows of the label: area [px^2], middle (2,) [px] and covariance (3,) [px^2]."""

    camera: Camera
    area: float
    middle: FloatArray
    spread: FloatArray

    @classmethod
    def near(cls, seen: ColourPatch, hand: FloatArray) -> _Patch | None:
        """Of what is near the hand; None where that is too little."""
        camera = seen.view.camera
        reach = IN_REACH * camera.focal / float(np.linalg.norm(camera.position - hand))
        points = seen.points
        points = points[(abs(points - camera.project(hand)) < reach).all(axis=1)]
        if len(points) < LEAST:
            return None
        (xx, xy), (_, yy) = np.cov(points.T, bias=True)
        pixel = 1 / 12  # a pixel is as wide as that itself
        spread = np.array([xx + pixel, xy, yy + pixel])
        return cls(camera, float(len(points)), points.mean(axis=0), spread)

    def off(self, corners: FloatArray) -> FloatArray:
        """How far middle and spread of a body with these corners would be off, (5,) [px]."""
        middle, spread = _moments(self.camera.outline(corners))
        x, y = np.sqrt(spread[[0, 2]])
        wide = (spread - self.spread) / np.array([2 * x, x + y, 2 * y])
        return np.concatenate([middle - self.middle, wide])


def _moments(outline: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Middle (2,) and covariance (3,), xx, xy and yy, of the area within a polygon (k, 2)."""
    x, y = (outline - outline[0]).T
    u, v = np.roll(x, -1), np.roll(y, -1)
    twice = x * v - u * y  # the area of each triangle from the first corner
    area = twice.sum()
    a, b = ((x + u) * twice).sum() / (3 * area), ((y + v) * twice).sum() / (3 * area)
    second = np.array(
        [
            (x * x + x * u + u * u) @ twice,
            (x * v / 2 + x * y + u * v + u * y / 2) @ twice,
            (y * y + y * v + v * v) @ twice,
        ]
    )
    covariance: FloatArray = second / (6 * area) - np.array([a * a, a * b, b * b])
    return outline[0] + np.array([a, b]), covariance


def _to_the_rim(view: CameraView, hue: tuple[float, float]) -> ColourPatch:
    """What has that colour, and its corners too, which are no 3 x 3 pixels."""
    patches = coloured(view, hue, SATURATION, VALUE)
    around = cv2.dilate(patches.mask.astype(np.uint8), np.ones((3, 3), np.uint8)).astype(bool)
    pixels = view.image[around].reshape(-1, 1, 3)
    mask = np.zeros_like(patches.mask)
    if len(pixels):
        shade, strong, bright = cv2.cvtColor(pixels, cv2.COLOR_RGB2HSV)[:, 0].T
        fits = (2.0 * shade - hue[0]) % 360.0 <= hue[1] - hue[0]
        mask[around] = fits & (strong >= SATURATION) & (bright >= VALUE)
    return ColourPatch(view, mask)


def _along(direction: FloatArray, frame: FloatArray) -> FloatArray:
    """The frame (3, 3) nearest to `frame` whose x is along a direction, to or fro."""
    x = direction * np.sign(direction @ frame[:, 0]) / np.linalg.norm(direction)
    z = np.cross(x, frame[:, 1])
    z /= np.linalg.norm(z)
    return np.stack([x, np.cross(z, x), z], axis=1)


def _blobs(seen: ColourPatch) -> list[FloatArray]:
    """Pixels (n, 2) of each connected patch that is large enough."""
    count, labels, stats, _ = cv2.connectedComponentsWithStats(seen.mask.astype(np.uint8))
    large = [i for i in range(1, count) if stats[i, cv2.CC_STAT_AREA] >= TIP_LEAST]
    return [np.stack(np.nonzero(labels == i)[::-1], axis=1).astype(np.float64) for i in large]
