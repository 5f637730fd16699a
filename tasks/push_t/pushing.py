"""Which push next: contacts on the T's outline, what a push does, and how much it helps.

A push is straight, against a face, at a point that stays the same on the block. The block answers
as a slider does whose friction with the bench fills an ellipsoid (Goyal, Ruina and Papadopoulos
1991; Lynch and Mason 1996): a force f at p moves it along f and turns it by (p x f) / c^2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from enpire.environment import Readings
from enpire.types import FloatArray

from .geometry import OUTLINE, displacement, rotate, tray_margin

# The shut fingers near the bench: a block, almost square, beside the grasp point.
FINGER_AT = -0.009  # its middle from the grasp point along the opening [m]
FINGER_HALF = np.array([0.0115, 0.0105])  # along the opening, and across [m]
ROUND = 0.3  # sine of the angle to a face from which on it touches with a corner

LENGTH = 0.042  # c, of the friction ellipsoid; fitted to pushes on the twin [m]
STANDOFF = 0.010  # of the fingers before a face, before the push begins [m]
CONVEX, CONCAVE = 0.006, 0.023  # how near to an end of a face the fingers push it [m]
BETWEEN = 0.008  # contacts along a face [m]
STEP = 0.002  # from one pose of a push to the next [m]
LENGTHS = STEP * np.arange(2, 41)  # of a push [m]
REACH = (0.076, 0.257)  # of the hand from the first joint's axis [m]
# x of that axis; least x of the hand: setpoints end at 0.104, and friction keeps it 7 mm off [m].
AXIS, NEAREST = 0.0388, 0.112
# What a person thinks that things take.
PAUSE, LIFT = 1.2, 1.6  # to draw back and look; to go up, over and down to another face [s]
SPEED, TRAVEL = 0.050, 0.090  # of a push, of a free hand [m/s]
ONCE_MORE = 8.0  # what shrinks a small displacement to 1/e [s]
GROSS = 0.012  # speed at which a large one shrinks [m/s]
OUTSIDE = 1e5  # what a push costs that would go further over the rim: of two the lesser [s/m]
FINE, DOUBT = 0.003, 0.002  # a small displacement; by how much a push comes out otherwise [m]


def _contacts() -> tuple[FloatArray, FloatArray, NDArray[np.int64]]:
    """Points (k, 2), normals into the block (k, 2), faces (k,): where fingers may push."""
    points: list[complex] = []
    normals: list[complex] = []
    faces: list[int] = []
    edges = [b - a for a, b in zip(OUTLINE, OUTLINE[1:] + OUTLINE[:1], strict=True)]
    margins = [
        CONVEX if (before.conjugate() * after).imag > 0 else CONCAVE
        for before, after in zip(edges[-1:] + edges, edges, strict=False)
    ]
    for face, (corner, edge) in enumerate(zip(OUTLINE, edges, strict=True)):
        along = edge / abs(edge)
        low, high = margins[face], abs(edge) - margins[(face + 1) % len(edges)]
        for at in np.linspace(low, high, 1 + round((high - low) / BETWEEN)):
            points.append(corner + at * along)
            normals.append(1j * along)
            faces.append(face)
    return _plane(points), _plane(normals), np.array(faces)


def _plane(numbers: list[complex]) -> FloatArray:
    return np.array([(z.real, z.imag) for z in numbers])


POINTS, NORMALS, FACES = _contacts()  # in the block's frame
TORQUE = POINTS[:, 0] * NORMALS[:, 1] - POINTS[:, 1] * NORMALS[:, 0]


@dataclass(frozen=True, slots=True)
class Push:
    """One push: against which face, where, and the poses that the block should go through.

    point [m] and normal (unit, into the block) in the block's frame, shape (2,); path (d, 3).
    """

    face: int
    point: FloatArray
    normal: FloatArray
    path: FloatArray

    def contact(self, pose: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Point and normal, each (2,), in the world frame when the block is at `pose`."""
        return pose[:2] + rotate(pose[2], self.point), rotate(pose[2], self.normal)

    def remaining(self, pose: FloatArray) -> float:
        """How far the contact still has to go, along the normal [m]."""
        point, normal = self.contact(pose)
        return float((self.contact(self.path[-1])[0] - point) @ normal)


@dataclass(frozen=True, slots=True)
class Finger:
    """The shut fingers as seen from above: their middle (2,) [m], the hand's opening (2,)."""

    at: FloatArray
    opening: FloatArray

    @classmethod
    def seen(cls, readings: Readings) -> Finger:
        """In one station's readings."""
        opening = readings.hand_rotation[0, 0, :2, 0]
        opening = opening / np.linalg.norm(opening)
        return cls(readings.hand_position[0, 0, :2] + FINGER_AT * opening, opening)

    def touching(self, point: FloatArray, normal: FloatArray) -> FloatArray:
        """Where fingers are that touch a face, with `normal` into it, at `point`, all (..., 2).

        They keep the hand's direction: a face meets one of theirs or, turned further, a corner.
        """
        frame = np.stack([self.opening, [-self.opening[1], self.opening[0]]])
        corner = FINGER_HALF * np.clip(normal @ frame.T / ROUND, -1, 1)
        result: FloatArray = point - corner @ frame
        return result


def predict(pose: FloatArray) -> FloatArray:
    """Poses after a push at each contact over each length, shape (contacts, lengths, 3)."""
    gain = (1 / (LENGTH**2 + TORQUE**2))[:, None]
    turn = TORQUE[:, None] * gain * LENGTHS
    chord = LENGTH**2 * gain * LENGTHS * np.sinc(turn / (2 * np.pi))  # the way is an arc
    way = chord[..., None] * rotate(pose[2] + turn / 2, NORMALS[:, None])
    return np.concatenate([pose[:2] + way, pose[2] + turn[..., None]], axis=-1)


def choose(pose: FloatArray, goal: FloatArray, finger: Finger, face: int) -> Push:
    """The push that leaves the least time to bring a block at `pose` to `goal`, poses (3,).

    face: before which the fingers are, low; -1 when they are lifted.
    """
    after = predict(pose)
    off = np.hypot(displacement(after, goal), DOUBT)
    left = ONCE_MORE * np.log1p(off / FINE) + off / GROSS
    cost = _approach(pose, finger, face)[:, None] + LENGTHS / SPEED + left
    further_out = min(0.0, float(tray_margin(pose))) - tray_margin(after)
    cost += OUTSIDE * np.maximum(further_out, 0.0)
    contact, length = np.unravel_index(cost.argmin(), cost.shape)
    path = np.concatenate([pose[None], after[contact, : length + 1]])
    return Push(int(FACES[contact]), POINTS[contact], NORMALS[contact], path)


def _approach(pose: FloatArray, finger: Finger, face: int) -> FloatArray:
    """Time before a push at each contact can begin, infinite out of reach, (contacts,) [s]."""
    normal = rotate(pose[2], NORMALS)
    start = finger.touching(pose[:2] + rotate(pose[2], POINTS), normal) - STANDOFF * normal
    time = PAUSE + LIFT * (face != FACES) + np.linalg.norm(start - finger.at, axis=1) / TRAVEL
    hand = start - FINGER_AT * finger.opening
    radius = np.hypot(hand[:, 0] - AXIS, hand[:, 1])
    reached = (radius > REACH[0]) & (radius < REACH[1]) & (hand[:, 0] > NEAREST)
    return np.where(reached, time, np.inf)
