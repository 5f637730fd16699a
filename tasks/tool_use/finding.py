"""What a station's tracker says of the cutter, wherever it lies, and how a hand can take it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from enpire.environment import Readings
from enpire.types import FloatArray

from . import layout
from .layout import BASE, CUTTER, GRIP, HAND, JAW, RIGHT

ROOM = np.array([0.31, -0.14, 0.0])  # where nothing stands, to lay the cutter down [m]
# The palm: its underside over the grasp point, half its breadth along the opening, across [m].
PALM, PALM_HALF = 0.070, (0.060, 0.031)
# The arm in its plane: shoulder from the base's axis and over the bench, and its links [m].
SHOULDER, UPPER_ARM, FOREARM, HAND_LENGTH = (0.02, 0.104), 0.264, 0.2522, 0.244
FOREARM_BEND = 0.2402  # of the way from elbow to wrist above link 3 [rad]
BENT, STRETCHED, MOST_LEAN = 1.45, 0.96, 1.2  # of joint 4 [rad]; share of its length; [rad]
ASIDE = 0.05  # of a hand's way outwards, at least: joint 5 is near its stop
LEAN = 0.21  # of each handle from the axis of its half of the cutter [rad]


@dataclass(frozen=True, slots=True)
class Bar:
    """A handle: its middle (3,) [m], and the way along it, unit (3,)."""

    at: FloatArray
    along: FloatArray


@dataclass(frozen=True, slots=True)
class Situation:
    """The mean of some readings of hands that rest; lengths in m, world frame.

    pivot (3,), frame (3, 3): of the cutter: hinge, opening, towards the handles. halves (2, 3, 3):
    of its two jaws. hand (3,), hand_frame (3, 3): approach, opening, up as it holds the cutter.
    """

    pivot: FloatArray
    frame: FloatArray
    halves: FloatArray
    hand: FloatArray
    hand_frame: FloatArray
    strap: FloatArray
    stand: FloatArray
    clamp: FloatArray
    bundle: FloatArray
    gap: float
    gripper: float

    @classmethod
    def of(cls, readings: Sequence[Readings]) -> Situation:
        """Of one station's readings, (1, ...) each."""
        joined = Readings.joined(list(readings))
        mean = Readings(
            *(getattr(joined, name).mean(axis=0, keepdims=True) for name in Readings.__slots__)
        )
        return cls(
            pivot=layout.pivot(mean)[0],
            frame=layout.cutter_frame(mean)[0],
            halves=mean.rotation[0, [CUTTER, JAW]],
            hand=mean.hand_position[0, RIGHT],
            hand_frame=mean.hand_rotation[0, RIGHT] @ HAND.T,
            strap=layout.strap(mean)[0],
            stand=mean.position[0, layout.STAND],
            clamp=layout.clamp(mean)[0],
            bundle=layout.bundle(mean)[0],
            gap=float(layout.gap(mean)[0]),
            gripper=float(mean.gripper[0, RIGHT]),
        )

    @property
    def handles(self) -> FloatArray:
        """The middle between the handles (3,)."""
        result: FloatArray = self.pivot + GRIP * self.frame[:, 2]
        return result

    @property
    def flat(self) -> bool:
        """Whether the cutter lies on a flat side."""
        return bool(abs(self.frame[2, 0]) > 0.8)

    @property
    def corners(self) -> FloatArray:
        """Points of the cutter that may touch what is below, in its frame, (k, 3)."""
        half = [(y, z) for y, z in ((0.014, -0.026), (0.026, 0.083))]
        sides = [(x, s * y, z) for y, z in half for s in (-1, 1) for x in (-0.005, 0.005)]
        return np.array(sides)

    def clear(self, point: FloatArray) -> float:
        """How far a point is from the axes of stand and clamp, horizontally."""
        return min(float(np.hypot(*(point - at)[:2])) for at in (self.stand, self.clamp))

    def room(self, at: FloatArray, yaw: float, wide: float) -> float:
        """How far hand and fingers keep from stand, clamp and bundle, below 0 if they touch [m].

        Of a hand that points straight down at a point (3,), its upper side towards `yaw`, its
        fingers within `wide` of the point.
        """
        up = np.array([np.cos(yaw), np.sin(yaw)])
        opening = np.array([-up[1], up[0]])
        least = np.inf
        for axis, radius, top in (
            (self.stand, 0.022, self.stand[2] + 0.041),
            (self.stand, 0.028, self.stand[2]),
            (self.bundle, 0.013, self.bundle[2] + 0.142),
            (self.clamp, 0.030, self.clamp[2] + 0.088),
        ):
            for bottom, half in ((at[2] + PALM, PALM_HALF), (at[2] - 0.01, (wide, 0.006))):
                if bottom < top:
                    off = (axis - at)[:2]
                    beyond = np.abs((opening @ off, up @ off)) - half
                    outside = float(np.linalg.norm(np.maximum(beyond, 0.0)))
                    least = min(least, outside + min(0.0, float(beyond.max())) - radius)
        return least

    def near(self, distance: float) -> bool:
        """Whether some part of the handles is within `distance` of the grasp point."""
        points = [bar.at for bar in self.bars()] + [self.handles]
        return min(float(np.linalg.norm(p - self.hand)) for p in points) < distance

    def facing(self, way: FloatArray) -> FloatArray:
        """Of the two frames of the cutter, the same from both sides, that which looks there."""
        if self.frame[:, 0] @ way >= 0:
            return self.frame
        return self.frame * (-1.0, -1.0, 1.0)

    def bars(self) -> tuple[Bar, Bar]:
        """The two handles."""
        one, other = (
            Bar(
                self.pivot + half @ (0.0, side * 0.0075, GRIP),
                half @ (0.0, -side * np.sin(LEAN), np.cos(LEAN)),
            )
            for half, side in zip(self.halves, (1.0, -1.0), strict=True)
        )
        return one, other


def down(yaw: float) -> FloatArray:
    """The frame of a hand that points straight down, its upper side towards `yaw` [rad]."""
    approach, up = np.array([0.0, 0.0, -1.0]), np.array([np.cos(yaw), np.sin(yaw), 0.0])
    return np.stack([approach, np.cross(up, approach), up], axis=1)


def outward(at: FloatArray) -> FloatArray:
    """The frame of a hand that points down at a point (3,) with its wrist in the middle."""
    return down(azimuth(at))


def unrolled(frame: FloatArray, at: FloatArray) -> FloatArray:
    """The frame of a hand at a point (3,) that points where `frame` does, its upper side up.

    The more it points down, the more outwards instead. Only the wrist's last joint turns for that;
    a hand that is turned upright and otherwise in one goes may run into the stop of another.
    """
    approach, way = frame[:, 0], azimuth(at)
    level = np.array([np.cos(way), np.sin(way), 0.0])
    up = (0.0, 0.0, np.hypot(*approach[:2])) - float(approach[2]) * level
    up -= float(up @ approach) * approach
    up /= np.linalg.norm(up)
    return np.stack([approach, np.cross(up, approach), up], axis=1)


def leaning(frame: FloatArray, at: FloatArray) -> FloatArray:
    """A frame (3, 3) that points down, leaning outwards by as much as the arm needs at a point.

    Others are returned as they are.
    """
    if frame[2, 0] > -0.5:
        return frame
    way = azimuth(at)
    axis = np.array([np.sin(way), -np.cos(way), 0.0])
    upright, _ = Rotation.align_vectors((0.0, 0.0, -1.0), frame[:, 0])
    turned = Rotation.from_rotvec(_lean(at) * axis) * upright
    result: FloatArray = turned.as_matrix() @ frame
    return result


def azimuth(point: FloatArray) -> float:
    """Of a point, seen from the arm's base [rad]."""
    return float(np.arctan2(point[1] - BASE[1], point[0] - BASE[0]))


def _lean(at: FloatArray) -> float:
    """The least angle from the vertical at which the arm can hold its hand there [rad].

    Shoulder, elbow and wrist in their plane: within reach, and joint 4 off its stop.
    """
    radius = float(np.linalg.norm(at[:2] - BASE[:2])) - SHOULDER[0]
    height = float(at[2]) - SHOULDER[1]
    for lean in np.arange(0.0, MOST_LEAN, 0.04):
        out, up = radius - HAND_LENGTH * np.sin(lean), height + HAND_LENGTH * np.cos(lean)
        if _falls(out, up) - np.pi / 2 + lean > -BENT:
            return float(lean)
    return MOST_LEAN


def _falls(out: float, up: float) -> float:
    """Of link 3 below the horizontal [rad], the wrist (out, up) from the shoulder [m].

    Minus infinity out of reach.
    """
    reach = float(np.hypot(out, up))
    if reach > STRETCHED * (UPPER_ARM + FOREARM):
        return -np.inf
    cosine = (reach**2 + FOREARM**2 - UPPER_ARM**2) / (2 * reach * FOREARM)
    return float(np.arccos(np.clip(cosine, -1, 1)) - np.arctan2(up, out) + FOREARM_BEND)


def bend(at: FloatArray, way: FloatArray) -> float:
    """About of joint 4 [rad], the hand at a point (3,) [m], pointing along a unit vector (3,).

    Joint 5 turns the hand out of the arm's plane, joint 4 in it. Infinite out of reach, or where
    the hand would point inwards.
    """
    wrist = at - HAND_LENGTH * way
    round_ = azimuth(wrist)
    radius = float(np.linalg.norm(wrist[:2] - BASE[:2])) - SHOULDER[0]
    outwards = float(way[0] * np.cos(round_) + way[1] * np.sin(round_))
    falls = _falls(radius, float(wrist[2]) - SHOULDER[1])
    if np.isinf(falls) or outwards < ASIDE:
        return np.inf
    return falls + float(np.arctan2(way[2], outwards))


def wrap(angle: float) -> float:
    """The same angle within half a turn of zero [rad]."""
    return float((angle + np.pi) % (2 * np.pi) - np.pi)
