"""Whether and where the loop goes round the bundle, from its colours in two pictures.

It goes round in the directions in which strap and head are seen from the bundle's axis, in the
head's plane, and in those between in which bundle or stand hide them. Where the loop crosses that
axis is told by the plane in which both views have the same strap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from enpire.environment import Camera, ColourPatch
from enpire.types import FloatArray

from .frames import BUNDLE_HALF, leans
from .look import Body, Colours

BUNDLE = np.array([0.42, -0.030, 0.166])  # its stand is screwed to the bench; it lies along x [m]
AROUND = np.linspace(0.0, 2 * np.pi, 24, endpoint=False)  # the bundle [rad]
BUNDLE_CORNERS = np.array(  # from its middle, as those below [m]
    [(x, 0.009 * np.cos(a), 0.009 * np.sin(a)) for x in (-BUNDLE_HALF, BUNDLE_HALF) for a in AROUND]
)
POST_CORNERS = np.array(  # of its stand
    [(x, y, z) for x in (0.035, 0.051) for y in (-0.012, 0.012) for z in (-0.164, 0.0)]
)
RING = (0.009, 0.110)  # from the bundle's axis is what may be the strap [m]
DIRECTIONS = 720  # that are told apart
SEAM = 0.01  # no wider is what hides nothing, between neighbouring pixels [turns]
RIM = 3  # so near to bundle or stand a strap is seen that goes behind them [px]
ALONG = 60  # places along the line between where it goes in and comes out
OPEN = 0.6  # of a turn, as a strap may be seen that does not go round the bundle
ROUND = 0.05  # of a turn, that the gap may be off for a strap that leans [turns]
# The loop's plane crosses the bundle's axis so much nearer to the post than the head's plane does:
# head and strap are twisted against each other (mean of 77 successes; it varies by 1.2 mm).
TWISTED = 0.002  # [m]
BY_HEAD, BY_STRAP = 2.4, 1.5  # that either plane may cross it elsewhere: two deviations [mm]
SECTORS = 72  # round the bundle, in each of which the strap has one distance from its axis
THIN = 3  # every so many pixels of the strap are enough
SHOWS, SHARED = 3, 20  # of these that a sector needs; sectors that both views have to show
BESIDE_HEAD = np.pi / 4  # so near to the head the tail is before the loop [rad]
LEANS = 0.006  # that a loop may cross the axis beside the head's plane, where that is all [m]
PLANE_STEP = np.array([2e-4, 4e-3, 4e-3])  # of differences: along the axis [m], two slopes
ROUNDS, OUTLIER, FINEST = 30, 2.0, 3e-4  # of the fit; what weighs half, in deviations of [m]
MOST_STEPS, STILL = 50.0, 0.03  # that a round goes, in those steps; with less it is the last
UNEVEN = 0.0015  # that distances may differ in the middle [m]
FROM_HEAD = 0.008  # that the strap's plane may cross the axis from where the head's does [m]


@dataclass(frozen=True, slots=True)
class LoopPlane:
    """The plane of a loop.

    crosses: where it crosses the bundle's axis, from the bundle's middle towards the post [m].
    accuracy: how far that may be off [mm]. leans: how far it turns from across the bundle [rad].
    """

    crosses: float
    accuracy: float
    leans: float


def turns_seen(seen: Sequence[Colours], head: Body, loop: LoopPlane) -> float:
    """How far round the bundle label, strap and tip go: a turn less the widest gap [turns].

    They go where a view shows them, and where bundle and stand hide them from every view that does
    not. 0 if the loop's plane passes beside the bundle. Not a number if it passes by one of its
    ends, or if one view has so little that the strap need not go round the bundle, and another has
    more. loop: that plane, as `loop_plane` has it.
    """
    unsure = 1e-3 * loop.accuracy if loop.accuracy < BY_HEAD else LEANS
    beyond = abs(loop.crosses) - BUNDLE_HALF
    if not seen or beyond > unsure:
        return 0.0
    if not beyond < -unsure:
        return np.nan
    pairs = [_directions(one.all, head) for one in seen]
    shown = np.array([pair[0] for pair in pairs])
    known = shown | np.array([pair[1] for pair in pairs])
    round_ = {_round(one) > OPEN for one in known}
    return np.nan if len(round_) > 1 else _round(shown.any(axis=0) | known.all(axis=0))


def from_middle(head: Body) -> float:
    """How far along the bundle from its middle the head's plane crosses its axis [m]."""
    return float(_on_axis(head)[0] - BUNDLE[0])


def loop_plane(seen: Sequence[Colours], head: Body) -> LoopPlane:
    """The loop's plane, from two views.

    The plane in which the strap has the same distance from the bundle's axis in both views, sector
    by sector: least squares by Gauss and Newton, which what is hidden in part weighs little in. As
    the head's plane has it where too little is seen, or what is seen does not fit.
    """
    normal = head.frame[:, 1] / head.frame[0, 1]
    off = head.middle - BUNDLE
    plane = np.array([from_middle(head), *normal[1:]])
    by_head = LoopPlane(float(plane[0]) + TWISTED, BY_HEAD, leans(plane))
    if len(seen) != 2:
        return by_head
    views = [_StrapRays.of(one) for one in seen]
    sectors = (np.arange(SECTORS) + 0.5) * 2 * np.pi / SECTORS
    aside = (sectors - np.arctan2(off[2], off[1]) + np.pi) % (2 * np.pi) - np.pi
    loop = abs(aside) > BESIDE_HEAD

    def unlike(plane: FloatArray) -> FloatArray:
        """How much farther from the axis the first view has it, (SECTORS,) [m]."""
        first, second = (view.distances(plane) for view in views)
        return np.where(loop, first - second, np.nan)

    for _ in range(ROUNDS):
        miss = unlike(plane)
        slopes = [unlike(plane + e) - miss for e in np.diag(PLANE_STEP)]
        shared = ~np.isnan([miss, *slopes]).any(axis=0)
        if shared.sum() < SHARED:
            return by_head
        miss, columns = miss[shared], np.stack(slopes, axis=1)[shared]
        usual = max(1.5 * float(np.median(abs(miss))), FINEST)
        weight = 1.0 / (1.0 + (miss / (OUTLIER * usual)) ** 2)
        moved = np.linalg.lstsq(weight[:, None] * columns, weight * miss)[0]
        plane = plane - PLANE_STEP * np.clip(moved, -MOST_STEPS, MOST_STEPS)
        if abs(moved).max() < STILL:
            break
    uneven = np.nanmedian(abs(unlike(plane)))
    if uneven > UNEVEN or abs(plane[0] - by_head.crosses) > FROM_HEAD:
        return by_head
    return LoopPlane(float(plane[0]), BY_STRAP, leans(plane))


@dataclass(frozen=True, slots=True)
class _StrapRays:
    """A camera's place from the bundle's middle (3,) [m], and rays to its strap, (n, 3)."""

    at: FloatArray
    rays: FloatArray

    @classmethod
    def of(cls, seen: Colours) -> _StrapRays:
        """Of some of the strap's pixels."""
        camera = seen.strap.view.camera
        return cls(camera.position - BUNDLE, camera.ray(seen.strap.points[::THIN]))

    def distances(self, plane: FloatArray) -> FloatArray:
        """How far from the bundle's axis the strap is in each sector, (SECTORS,) [m].

        Not a number where too little is seen. plane: where it crosses the axis, from the bundle's
        middle [m], and how it slopes along y and z.
        """
        normal = np.array([1.0, plane[1], plane[2]])
        away = (plane[0] - self.at @ normal) / (self.rays @ normal)
        around = (self.at + away[:, None] * self.rays)[:, 1:]
        radius = np.linalg.norm(around, axis=1)
        near = (radius > RING[0]) & (radius < RING[1])
        place = _turn(around[near]) * SECTORS  # shared between the middles of two sectors
        first = np.floor(place - 0.5)
        share = place - 0.5 - first
        sector = np.concatenate([first, first + 1]).astype(int) % SECTORS
        part = np.concatenate([1.0 - share, share])
        count = np.bincount(sector, part, SECTORS)
        total = np.bincount(sector, part * np.tile(radius[near], 2), SECTORS)
        return np.where(count >= SHOWS, total / np.maximum(count, 1), np.nan)


def _on_axis(head: Body) -> FloatArray:
    """Where the plane of the head's length and height crosses the bundle's axis, (3,) [m]."""
    normal = head.frame[:, 1]
    along = (head.middle - BUNDLE) @ normal / normal[0]
    place: FloatArray = BUNDLE + np.array([along, 0.0, 0.0])
    return place


def _round(known: NDArray[np.bool_]) -> float:
    """A turn less the widest gap between those of `DIRECTIONS` that are known [turns]."""
    at = np.flatnonzero(known)
    if not len(at):
        return 0.0
    return float(1.0 - np.diff(at, append=at[0] + DIRECTIONS).max() / DIRECTIONS)


def _directions(seen: ColourPatch, head: Body) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Of `DIRECTIONS` from the bundle's axis, those to what is seen, and those where it is hidden.

    In the plane of the head's length and height. The strap is one piece. So where a gap in what is
    seen has nothing in the picture but bundle and stand, from rim to rim, the strap goes on behind
    them: on the side that looks away from the camera, and through less than half a turn.
    """
    shown, hidden = np.zeros((2, DIRECTIONS), np.bool_)
    camera, points = seen.view.camera, seen.points
    normal, plane = head.frame[:, 1], head.frame[:, [0, 2]]
    axis = _on_axis(head)
    rays = camera.ray(points)
    away = (head.middle - camera.position) @ normal / (rays @ normal)
    around = (camera.position + away[:, None] * rays - axis) @ plane
    radius = np.linalg.norm(around, axis=1)
    near = (radius > RING[0]) & (radius < RING[1])
    if not near.any():
        return shown, hidden
    turn = _turn(around[near])
    order = np.argsort(turn)
    turn, points = turn[order], points[near][order]
    shown[(turn * DIRECTIONS).astype(int)] = True
    hides = covers(camera)
    to_camera = _turn((camera.position - axis) @ plane)
    gaps = np.diff(turn, append=turn[0] + 1.0)
    for i in np.flatnonzero((gaps > SEAM) & (gaps < 0.5)):
        facing = abs((turn[i] + gaps[i] / 2 - to_camera + 0.5) % 1.0 - 0.5)
        between = np.linspace(points[i], points[(i + 1) % len(points)], ALONG).round().astype(int)
        if facing > 0.25 and hides[between[:, 1], between[:, 0]].all():
            first, last = int(turn[i] * DIRECTIONS), int((turn[i] + gaps[i]) * DIRECTIONS)
            hidden[np.arange(first, last + 1) % DIRECTIONS] = True
    return shown, hidden


def _turn(around: FloatArray) -> FloatArray:
    """Directions (...) of vectors (..., 2), from 0 to below 1 [turns]."""
    turn: FloatArray = np.arctan2(around[..., 1], around[..., 0]) / (2 * np.pi) % 1.0
    return turn


def covers(camera: Camera) -> NDArray[np.bool_]:
    """Where bundle and stand are in the camera's picture, and what is at their rim."""
    mask = np.zeros((camera.height, camera.width), np.uint8)
    for corners in (BUNDLE_CORNERS, POST_CORNERS):
        outline = camera.outline(BUNDLE + corners).round().astype(np.int32)
        cv2.fillConvexPoly(mask, outline, 1)
    return cv2.dilate(mask, np.ones((2 * RIM + 1, 2 * RIM + 1), np.uint8)).astype(np.bool_)
