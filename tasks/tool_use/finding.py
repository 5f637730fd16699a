"""What a station's tracker says of the cutter, wherever it lies, and how a hand can take it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from enpire.environment import Readings
from enpire.types import FloatArray

from . import layout
from .layout import CUTTER, GRIP, HAND, JAW, RIGHT

BASE = np.array([0.10, -0.34, 0.0])  # of the arm that works [m]
ROOM = np.array([0.31, -0.14, 0.0])  # where nothing stands, to lay the cutter down [m]
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
    gap: float

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
            gap=float(layout.gap(mean)[0]),
        )

    @property
    def handles(self) -> FloatArray:
        """The middle between the handles (3,)."""
        result: FloatArray = self.pivot + GRIP * self.frame[:, 2]
        return result

    @property
    def corners(self) -> FloatArray:
        """Points of the cutter that may touch what is below, in its frame, (k, 3)."""
        half = [(y, z) for y, z in ((0.014, -0.026), (0.026, 0.083))]
        sides = [(x, s * y, z) for y, z in half for s in (-1, 1) for x in (-0.005, 0.005)]
        return np.array(sides)

    def near(self, distance: float) -> bool:
        """Whether some part of the handles is within `distance` of the grasp point."""
        points = [bar.at for bar in self.bars()] + [self.handles]
        return min(float(np.linalg.norm(p - self.hand)) for p in points) < distance

    def facing(self, way: FloatArray) -> FloatArray:
        """The cutter's frame, of the two (it is the same from both sides) that which looks there."""
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


def wrap(angle: float) -> float:
    """The same angle within half a turn of zero [rad]."""
    return float((angle + np.pi) % (2 * np.pi) - np.pi)
