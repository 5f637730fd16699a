"""Where card and slot are, from round marks on both, as a lab would stick on, in two pictures.

Four marks a body, whose places on it are known. The middle of a mark's colour is that of its
outline, so each shows a pixel; card and motherboard are each where all of their marks, in both
pictures at once, are as nearly seen there as can be (least squares by Gauss and Newton). Both are
seen by the same cameras: what is off in these is off for both, and hardly counts for one from the
other. A mark that is partly hidden shows too little of its colour, and is not used; three whole
ones in each picture are enough. Where a picture shows another moment, or from another place than
the calibration says, no place of a body fits both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from scipy.spatial.transform import Rotation

from enpire.environment import Camera, CameraView, ColourPatch, coloured, fresh
from enpire.types import FloatArray

from .frames import GRASPS, HALF, LEFT, RIGHT, SLOT_AT, hand_rotation

CENTRE = np.array([0.43, 0.0, 0.065])  # that both cameras look at [m]
CAMERAS = {"front": (0.58, 32.0, 32.0), "side": (0.58, -32.0, 32.0)}  # away [m], round, above [deg]

MAGENTA, CYAN = (285.0, 335.0), (172.0, 215.0)  # of the card's marks, of the motherboard's [deg]
SATURATION = 110.0  # of 255
RADIUS = 0.005  # of a mark [m]
# Their middles, card and slot frame [m]; as in scene.xml.
CARD_MARKS = np.array(
    [
        (0.0061, 0.068, 0.018),
        (0.0061, -0.108, 0.018),
        (0.0061, 0.028, 0.079),
        (0.0061, -0.068, 0.079),
    ]
)
SLOT_MARKS = np.array(
    [
        (0.075, 0.090, -0.0110),
        (0.075, -0.130, -0.0110),
        (0.022, 0.060, -0.0110),
        (0.022, -0.100, -0.0110),
    ]
)
ROUND = np.linspace(0.0, 2 * np.pi, 24, endpoint=False)  # corners that a mark is drawn with [rad]
CARD_FACE, SLOT_FACE = np.eye(3)[[1, 2]], np.eye(3)[[0, 1]]  # two axes in the marks' plane

REACH = 0.020  # of where a mark is expected is what may be it [m]
LEAST = 30  # pixels of a mark that may be whole
WHOLE = (0.95, 1.10)  # of its outline's area is seen of a mark that nothing hides
ENOUGH = 3  # whole marks that each view must show
APART = 0.5  # that a mark may be seen beside where it fits best [px]
STEPS = 6  # of Gauss and Newton, at most: three are enough from where it begins
ASTRAY = 0.2  # step after which a body is not where it was expected [m], [rad]
NUDGE = 1e-5  # for slopes [m], [rad]
# Standard deviation of a mark's middle [px]. It is 0.06 px; the rest is for a camera that stands a
# millimetre from where it was calibrated, which may go unnoticed and makes 0.1 mm of depth.
MARK = 0.15
SURE = 3.0  # standard deviations within which a measure is


@dataclass(frozen=True, slots=True)
class Marks:
    """What has the colours of the card's and of the motherboard's marks in one view."""

    card: ColourPatch
    slot: ColourPatch

    @property
    def all(self) -> ColourPatch:
        """Both together."""
        return ColourPatch(self.card.view, self.card.mask | self.slot.mask)


@dataclass(frozen=True, slots=True)
class Pose:
    """Where a body's origin is (3,) [m], its frame (3, 3), and how sure that is.

    covariance: (6, 6) of a shift [m] and a turn [rad], in the world. outlines: of its marks there,
    (marks, corners, 3) [m].
    """

    at: FloatArray
    frame: FloatArray
    covariance: FloatArray
    outlines: FloatArray

    def accuracy(self, reach: float) -> float:
        """How far a point of it may be off, so far from its origin [m]."""
        shift = np.linalg.eigvalsh(self.covariance[:3, :3]).max()
        turn = np.linalg.eigvalsh(self.covariance[3:, 3:]).max()
        return SURE * float(np.sqrt(shift) + reach * np.sqrt(turn))

    def moved(self, by: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Origin and frame after a shift [m] and a turn [rad] (6,)."""
        return self.at + by[:3], _turn(by[3:]) @ self.frame


@dataclass(frozen=True, slots=True)
class Seating:
    """The card in the slot, each with how far it may be off.

    depth: of the edge's middle; aside: of its end that is further from its place; step: of one end
    above the other [mm]. lean: to either side [rad].
    """

    depth: tuple[float, float]
    aside: tuple[float, float]
    step: tuple[float, float]
    lean: tuple[float, float]


UNSEEN = Seating(*[(np.nan, np.nan)] * 4)


def marks(views: Sequence[CameraView], now: float) -> list[Marks]:
    """What has their colours in those views that show what is at `now` [s]."""
    return [
        Marks(*(coloured(view, hue, SATURATION) for hue in (MAGENTA, CYAN)))
        for view in fresh(views, now)
    ]


def find_slot(seen: Sequence[Marks]) -> Pose | None:
    """The slot; None if fewer than two views show it, or if they contradict each other."""
    return _fit([one.slot for one in seen], SLOT_MARKS, SLOT_FACE, (SLOT_AT, np.eye(3)))


def find_card(seen: Sequence[Marks], hands: FloatArray, frames: FloatArray) -> Pose | None:
    """The card between both hands; None as for the slot, or if it is not there.

    hands, frames: the grasp frames in the world, (2, 3) [m] and (2, 3, 3).
    """
    along = hands[LEFT] - hands[RIGHT]
    along /= np.linalg.norm(along)
    upward = sum(frames[arm] @ hand_rotation(arm).T[:, 2] for arm in (LEFT, RIGHT))
    across = np.cross(along, upward)
    across /= np.linalg.norm(across)
    frame = np.stack([across, along, np.cross(across, along)], axis=1)
    at = hands.mean(axis=0) - frame @ GRASPS.mean(axis=0)
    return _fit([one.card for one in seen], CARD_MARKS, CARD_FACE, (at, frame))


def seating(card: Pose, slot: Pose) -> Seating:
    """Where the card is in the slot. Errors are propagated to first order from both poses."""

    def measures(by: FloatArray) -> FloatArray:
        """Depth, aside, step, lean, with card and slot so much off (12,)."""
        (at, frame), (mouth, axes) = card.moved(by[:6]), slot.moved(by[6:])
        middle, turned = (at - mouth) @ axes, axes.T @ frame
        end = HALF * (turned[:, 1] - (0.0, 1.0, 0.0))
        ends = np.stack([middle + end, middle - end])
        off = np.linalg.norm(ends[:, :2], axis=1).max()
        step = ends[LEFT, 2] - ends[RIGHT, 2]
        return np.array([-1e3 * middle[2], 1e3 * off, 1e3 * step, turned[0, 2]])

    here = measures(np.zeros(12))
    slopes = np.stack([measures(NUDGE * way) - here for way in np.eye(12)], axis=1) / NUDGE
    covariance = np.zeros((12, 12))
    covariance[:6, :6], covariance[6:, 6:] = card.covariance, slot.covariance
    off = SURE * np.sqrt(np.diag(slopes @ covariance @ slopes.T))
    depth, aside, step, lean = zip(here.tolist(), off.tolist(), strict=True)
    return Seating(depth, aside, (abs(step[0]), step[1]), (abs(lean[0]), lean[1]))


@dataclass(frozen=True, slots=True)
class _Blob:
    """A patch of a mark's colour: the mark it may be, its camera, its middle (2,), its area."""

    mark: int
    camera: Camera
    middle: FloatArray
    area: float


def _fit(
    seen: Sequence[ColourPatch],
    middles: FloatArray,
    face: FloatArray,
    start: tuple[FloatArray, FloatArray],
) -> Pose | None:
    """The body whose marks are seen, near where it is expected.

    middles: (marks, 3) and face: (2, 3), two axes in the marks' plane, body frame [m].
    """
    rims = RADIUS * np.stack([np.cos(ROUND), np.sin(ROUND)], axis=1) @ face
    drawn = middles[:, None] + rims
    at, frame = start
    blobs = [blob for one in seen for blob in _near(one, at + middles @ frame.T)]
    for _ in range(2):  # once more without those that turn out not to be whole
        if not _enough(blobs, len(seen)):
            return None
        found = _nearest(blobs, drawn, (at, frame))
        if found is None:
            return None
        at, frame, covariance, missed = found
        placed = at + drawn @ frame.T
        whole = [_whole(blob, placed[blob.mark]) for blob in blobs]
        if all(whole):
            break
        blobs = [blob for blob, is_whole in zip(blobs, whole, strict=True) if is_whole]
    if not all(whole) or missed > APART:
        return None
    return Pose(at, frame, covariance, placed)


def _near(seen: ColourPatch, expected: FloatArray) -> list[_Blob]:
    """Of each mark the one patch that is near where it is expected, (marks, 3) [m]."""
    camera = seen.view.camera
    count, _, stats, centres = cv2.connectedComponentsWithStats(seen.mask.astype(np.uint8))
    large = [i for i in range(1, count) if stats[i, cv2.CC_STAT_AREA] >= LEAST]
    if not large:
        return []
    pixels = camera.project(expected)
    reach = REACH * camera.focal / np.linalg.norm(camera.position - expected, axis=1)
    near = np.linalg.norm(pixels[:, None] - centres[large], axis=2) < reach[:, None]
    alone = (near.sum(axis=1) == 1)[:, None] & (near.sum(axis=0) == 1) & near
    return [
        _Blob(int(mark), camera, centres[large[i]], float(stats[large[i], cv2.CC_STAT_AREA]))
        for mark, i in np.argwhere(alone)
    ]


def _enough(blobs: Sequence[_Blob], views: int) -> bool:
    """Whether two views or more were looked at, and each shows enough marks."""
    shown = Counter(blob.camera.name for blob in blobs)
    return len(shown) == views >= 2 and min(shown.values()) >= ENOUGH


def _nearest(
    blobs: Sequence[_Blob], drawn: FloatArray, start: tuple[FloatArray, FloatArray]
) -> tuple[FloatArray, FloatArray, FloatArray, float] | None:
    """Origin, frame, covariance (6, 6) of the body that fits best, and by how much a mark misses.

    drawn: outlines of the marks, body frame (marks, corners, 3) [m].
    """
    at, frame = start

    def off(by: FloatArray) -> FloatArray:
        """Of each mark's middle as it would be seen from where it is seen, (2 n,) [px]."""
        moved, turned = at + by[:3], _turn(by[3:]) @ frame
        return np.concatenate(
            [
                _middle(blob.camera.project(moved + drawn[blob.mark] @ turned.T)) - blob.middle
                for blob in blobs
            ]
        )

    for _ in range(STEPS):
        here = off(np.zeros(6))
        slopes = np.stack([off(NUDGE * way) - here for way in np.eye(6)], axis=1) / NUDGE
        step = np.linalg.lstsq(slopes, -here, rcond=None)[0]
        at, frame = at + step[:3], _turn(step[3:]) @ frame
        if np.linalg.norm(step) > ASTRAY:
            return None
        if np.linalg.norm(step) < NUDGE:
            break
    missed = np.linalg.norm(off(np.zeros(6)).reshape(-1, 2), axis=1).max()
    return at, frame, MARK**2 * np.linalg.inv(slopes.T @ slopes), float(missed)


def _whole(blob: _Blob, outline: FloatArray) -> bool:
    """Whether nothing hides it, (corners, 3) [m], and nothing is seen beside it."""
    pixels = blob.camera.project(outline).astype(np.float32)
    low, high = WHOLE
    return low < blob.area / cv2.contourArea(pixels) < high


def _middle(polygon: FloatArray) -> FloatArray:
    """Of a polygon's area (n, 2), by Gauss's formula."""
    origin = polygon[0]
    here = polygon - origin
    there = np.roll(here, -1, axis=0)
    twice = here[:, 0] * there[:, 1] - here[:, 1] * there[:, 0]
    result: FloatArray = origin + (twice @ (here + there)) / (3.0 * twice.sum())
    return result


def _turn(vector: FloatArray) -> FloatArray:
    matrix: FloatArray = Rotation.from_rotvec(vector).as_matrix()
    return matrix
