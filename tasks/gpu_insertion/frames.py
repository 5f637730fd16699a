"""Frames of the task, and the card as seen from the slot.

Card and slot have the same axes: x across the card, y along the connector (left is +), z up.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.spatial.transform import Rotation

from enpire.environment import Readings
from enpire.types import FloatArray

SLOT_AT = np.array([0.40, 0.020, 0.040])  # middle of the mouth, nominal, world frame [m]
DEPTH = 0.0075  # of the slot [m]
HOME = 0.0068  # depth of an end of the edge from which on it is home [m]
HALF = 0.0445  # of the connector, along it [m]
GRASPS = np.array([[0.0, 0.065, 0.076], [0.0, -0.105, 0.076]])  # of the hands, card frame [m]
TILT = math.radians(30.0)  # hands come from above and from the card's ends, at this angle
LEFT, RIGHT = 0, 1
TAGS = ("left_low", "left_high", "right_low", "right_high")  # of card and slot, as in scene.xml
CARD_TAGS = np.array([0.006, -0.020, 0.050])  # the middle of the card's, card frame [m]
THICK = 0.012  # of the card between the fingers [m]
# Corners of a finger's inner face, as far as it is beside a card, from its middle, hand frame [m].
FINGER = np.array([(0.0, y, z) for y in (-0.006, 0.006) for z in (-0.016, 0.010)])
SLOT_TAGS = np.array([0.0, -0.020, -0.0111])  # of those on the motherboard, slot frame [m]


def hand_rotation(arm: int) -> FloatArray:
    """Grasp frame to card frame of a hand that holds the card; 0 left, 1 right."""
    side = 1.0 if arm == LEFT else -1.0
    approach = np.array([0.0, -side * math.sin(TILT), -math.cos(TILT)])
    opening = np.array([side, 0.0, 0.0])
    return np.stack([opening, np.cross(approach, opening), approach], axis=1)


def hands_on(
    at: FloatArray, frame: FloatArray, grasps: tuple[FloatArray, FloatArray]
) -> tuple[FloatArray, FloatArray]:
    """Positions (2, 3) [m] and frames (2, 3, 3) of hands whose `grasps` are in a card's frame.

    at [m] and frame: of the card, in the frame that is asked for.
    """
    return at + grasps[0] @ frame.T, frame @ grasps[1]


def card_pose(seen: Sequence[Readings]) -> tuple[FloatArray, FloatArray]:
    """Position (3,) [m] of the edge's middle and frame (3, 3) of a card, mean of one station's."""
    at: FloatArray = np.mean([middle(r)[0] for r in seen], axis=0)
    frame: FloatArray = Rotation.from_matrix([_card_frame(r)[0] for r in seen]).mean().as_matrix()
    return at, frame


def card_seen(readings: Readings) -> tuple[FloatArray, FloatArray]:
    """The same from one station's single reading; NaN where it was not seen."""
    return middle(readings)[0], _card_frame(readings)[0]


def slot_frame(readings: Readings) -> FloatArray:
    """Slot frame to world, (m, 3, 3)."""
    return _frame(readings.position[:, 4:], readings.rotation[:, 4:])


def ends_in_slot(readings: Readings) -> FloatArray:
    """The edge's two ends, each from the slot's end that it belongs to, slot frame (m, 2, 3) [m].

    z is the height of the edge's rim above the mouth: a seated card is at -DEPTH.
    """
    slot, card = slot_frame(readings), _card_frame(readings)
    mouth = readings.position[:, 4:].mean(axis=1) - slot @ SLOT_TAGS
    at = ((middle(readings) - mouth)[:, None] @ slot)[:, 0]
    turned = (card[:, None, :, 1] @ slot)[:, 0] - (0.0, 1.0, 0.0)
    return np.stack([at + HALF * turned, at - HALF * turned], axis=1)


def middle(readings: Readings) -> FloatArray:
    """Of the edge's rim, (m, 3), world frame [m]."""
    result: FloatArray = readings.position[:, :4].mean(axis=1) - _card_frame(readings) @ CARD_TAGS
    return result


def lean(readings: Readings) -> FloatArray:
    """How far the card leans over to the front (+x) of the slot, (m,) [rad]."""
    card = _card_frame(readings)
    result: FloatArray = (slot_frame(readings)[:, :, 0] * card[:, :, 2]).sum(axis=-1)
    return result


def depth(ends: FloatArray) -> FloatArray:
    """Of the edge's middle below the mouth, from its ends (..., 2, 3) [m]."""
    result: FloatArray = -ends[..., 2].mean(axis=-1)
    return result


def aside(ends: FloatArray) -> FloatArray:
    """Of the end that is further from the slot's middle plane or end, from ends (..., 2, 3) [m]."""
    result: FloatArray = np.linalg.norm(ends[..., :2], axis=-1).max(axis=-1)
    return result


def clearance(at: FloatArray, frame: FloatArray, hands: Readings) -> float:
    """Of the finger that is nearest to the face of the card that it belongs to [m].

    Negative where a finger is in the card, or on the other side of it. at [m] and frame: of the
    card, in the world.
    """
    nearest = np.inf
    for arm in (LEFT, RIGHT):
        axes, opening = hands.hand_rotation[0, arm], hands.gripper[0, arm]
        for side in (1.0, -1.0):
            corners = FINGER + np.array([side * opening / 2, 0.0, 0.0])
            across = ((hands.hand_position[0, arm] + corners @ axes.T - at) @ frame)[:, 0]
            outward = side * hand_rotation(arm)[0, 0]  # to the card's front, or to its back
            nearest = min(nearest, float((outward * across).min()) - THICK / 2)
    return nearest


def together(levers: FloatArray, move: FloatArray, turn: FloatArray) -> FloatArray:
    """Twists (2, 6) of hands, `levers` (2, 3) from a card's origin, that move it as one thing."""
    return np.concatenate([move + np.cross(turn, levers), [turn, turn]], axis=1)


def between(here: FloatArray, there: FloatArray) -> FloatArray:
    """Rotation vector from one frame to another [rad]."""
    vector: FloatArray = Rotation.from_matrix(there @ here.T).as_rotvec()
    return vector


def _card_frame(readings: Readings) -> FloatArray:
    return _frame(readings.position[:, :4], readings.rotation[:, :4])


def _frame(tags: FloatArray, rotations: FloatArray) -> FloatArray:
    """Axes of a body from its tags, two at its left and two at its right (m, 4, 3).

    y by where they are, the rest by how they are turned (m, 4, 3, 3).
    """
    along = tags[:, :2].sum(axis=1) - tags[:, 2:].sum(axis=1)
    along /= np.linalg.norm(along, axis=-1, keepdims=True)
    across = np.cross(along, rotations[..., 2].mean(axis=1))
    across /= np.linalg.norm(across, axis=-1, keepdims=True)
    return np.stack([across, along, np.cross(across, along)], axis=-1)
