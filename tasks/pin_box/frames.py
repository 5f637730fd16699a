"""Frames of the pin box, and the pins as seen from their holes."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from enpire.environment import Readings
from enpire.types import FloatArray

from .parts import DEPTH, HOLES, PINS

BOX_AT = np.array([0.48, 0.0, 0.200])  # nominal [m]
GRIP = 0.0245  # where the fingers hold a pin, from the end that goes in first [m]
AHEAD = 0.007  # of the grasp point, along the approach: there the pin is held [m]
HAND_AT = BOX_AT + HOLES[-1] + (-AHEAD, 0.0, GRIP)  # holds the last pin over its hole, nominal [m]
IN_HOLE = 0.004  # from a hole's bottom: a pin that is as near is in its hole for good [m]
LET_GO = 0.015  # of a pin's grip from the grasp point: one that is farther is not held [m]


def hand_rotation(pitch: float = 0.0, yaw: float = 0.0) -> FloatArray:
    """Grasp frame to world of a hand that opens sideways; pitch 0 looks forward, pi/2 down."""
    level = np.array([math.cos(yaw), math.sin(yaw), 0.0])
    approach = math.cos(pitch) * level - np.array([0.0, 0.0, math.sin(pitch)])
    opening = np.array([-math.sin(yaw), math.cos(yaw), 0.0])
    return np.stack([opening, np.cross(approach, opening), approach], axis=1)


def in_holes(readings: Readings) -> tuple[FloatArray, FloatArray]:
    """Every pin's end [m] and direction (unit) in the frame of its hole, both (m, pins, 3).

    A hole's frame is the box's, with its origin in the middle of the hole's mouth.
    """
    rotation = readings.rotation[:, 0]
    offset = readings.position[:, 1:] - readings.position[:, :1]
    return offset @ rotation - HOLES, readings.rotation[:, 1:, :, 2] @ rotation


def from_hand(readings: Readings) -> FloatArray:
    """How far every pin's grip is from the grasp point, (m, pins) [m]."""
    grips = readings.position[:, 1:] + GRIP * readings.rotation[:, 1:, :, 2]
    result: FloatArray = np.linalg.norm(grips - readings.hand_position, axis=-1)
    return result


def active(readings: Readings) -> NDArray[np.int64]:
    """Which pin is next, (m,): the first that is not in its hole and let go; else the last."""
    from_bottom = in_holes(readings)[0] + (0.0, 0.0, DEPTH)
    done = (np.linalg.norm(from_bottom, axis=-1) < IN_HOLE) & (from_hand(readings) > LET_GO)
    done[:, PINS - 1] = False
    result: NDArray[np.int64] = done.argmin(axis=1)
    return result


@dataclass(frozen=True, slots=True)
class View:
    """What a person looks at and feels, in one station's readings.

    end [m] and direction: of the next pin, in its hole's frame; force: from the hand on what it
    touches, box frame [N]. at, grip [m] and axis: its end, where it is gripped and where it points;
    hand, hand_frame, box, box_frame, box_yaw: all in the world frame. nearest: of the pins' grips
    from the grasp point [m].
    """

    end: FloatArray
    direction: FloatArray
    force: FloatArray
    at: FloatArray
    grip: FloatArray
    axis: FloatArray
    hand: FloatArray
    hand_frame: FloatArray
    box: FloatArray
    box_frame: FloatArray
    box_yaw: float
    nearest: float

    @classmethod
    def of(cls, readings: Readings, pin: int | None = None) -> View:
        """Of one station (m = 1), and of this pin instead of the next one."""
        pin = int(active(readings)[0]) if pin is None else pin
        ends, directions = in_holes(readings)
        at, axis = readings.position[0, 1 + pin], readings.rotation[0, 1 + pin, :, 2]
        frame = readings.rotation[0, 0]
        return cls(
            end=ends[0, pin],
            direction=directions[0, pin],
            force=frame.T @ readings.wrist_force[0, 0],
            at=at,
            grip=at + GRIP * axis,
            axis=axis,
            hand=readings.hand_position[0, 0],
            hand_frame=readings.hand_rotation[0, 0],
            box=readings.position[0, 0],
            box_frame=frame,
            box_yaw=math.atan2(frame[1, 0], frame[0, 0]),
            nearest=float(from_hand(readings).min()),
        )

    def held(
        self,
        hand: FloatArray,
        frame: FloatArray,
        end: FloatArray,
        axis: FloatArray,
        hole: FloatArray,
    ) -> View:
        """The same with the hand elsewhere, and the next pin in it.

        hand, frame: of the hand, world. end, axis: of the pin, in the grasp frame. hole: its mouth,
        world.
        """
        at, axis = hand + frame @ end, frame @ axis
        return replace(
            self,
            end=self.box_frame.T @ (at - hole),
            direction=self.box_frame.T @ axis,
            at=at,
            grip=at + GRIP * axis,
            axis=axis,
            hand=hand,
            hand_frame=frame,
        )
