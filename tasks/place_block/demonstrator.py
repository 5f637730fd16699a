"""The scripted demonstrator: a person at a leader arm, who picks the block up and puts it down.

Imperfect as teleoperation is: late (a reaction time), trembling, at a pace and with a care of the
day, and never looking at more than the tracker gives. What goes wrong is begun again from above.
"""

from __future__ import annotations

from collections import deque
from enum import Enum

import numpy as np

from enpire.environment import ActionSpec, Demonstrator, Readings
from enpire.types import Float32Array, FloatArray

from .geometry import BLOCK, block_from_hand, height, pad_from_block, quarter_turn

ABOVE = 0.048  # of the hand over the block while it aligns: 9 mm from fingers to block [m]
LOW = 0.032  # the hand's height when it closes [m]
CARRIED = 0.030  # of the block over the bench, on its way [m]
LAID = 0.0030  # the same when it is let go of [m]
OPEN, CLOSED = 0.75, -1.0  # gripper actions: 17 mm wider than the block on each side; shut
GRASPING, RELEASING = 10, 8  # control periods in which the gripper shuts, and opens
HELD = 0.025  # of a block in the fingers from the grasp point [m]
PATIENCE = 40  # control periods of going down
TREMOR = 0.3  # of the hand, in full actions (5 mm, 3 mm upwards, 0.05 rad)
HASTE = 1.3  # of the hand at most, in full actions: it is no faster on a slant
GAIN = 0.25  # share of what is left that the hand goes in a control period


class Skill(Enum):
    """What the person is doing."""

    REACH = "reach"
    DESCEND = "descend"
    CLOSE = "close"
    LIFT = "lift"
    CARRY = "carry"
    LOWER = "lower"
    RELEASE = "release"


# How fast the hand goes down at most, in full actions: the arm is stiff, and presses before anybody
# can feel it.
GENTLY = {Skill.DESCEND: 0.8, Skill.CLOSE: 0.2, Skill.LOWER: 0.5}
OPENED = (Skill.REACH, Skill.DESCEND, Skill.RELEASE)


class Teleoperator(Demonstrator):
    """One episode's person."""

    def __init__(self, rng: np.random.Generator, actions: ActionSpec) -> None:
        """Draw the person's pace, care, reaction time and tremor."""
        self._rng = rng
        self._scale = actions.scale[0]
        self._pace = rng.uniform(0.75, 1.0)
        self._care = rng.uniform(0.003, 0.005)
        self._seen: deque[Readings] = deque(maxlen=int(rng.integers(1, 4)))
        self._tremor: FloatArray = np.zeros(actions.size)
        self._skill = Skill.REACH
        self._periods = 0  # since the skill began

    def act(self, readings: Readings) -> Float32Array:
        """One control period's action."""
        self._seen.append(readings)
        seen = self._seen[0]
        offset, way = block_from_hand(seen)[0], pad_from_block(seen)[0]
        cos, sin = quarter_turn(seen)[0]
        turn = np.arctan2(sin, cos) / 4
        self._choose(seen, offset, way, turn)
        move = self._move(seen, offset, way)
        action = np.zeros(7)
        action[:3] = self._pace * np.clip(GAIN * move / self._scale[:3], -1, 1)
        if self._skill in (Skill.REACH, Skill.DESCEND):
            action[5] = np.clip(GAIN * turn / self._scale[5], -1, 1)
        before = self._tremor
        self._tremor = 0.7 * before + 0.7 * self._rng.normal(0, TREMOR, 7)
        action += self._tremor - before
        action[:3] /= max(1.0, float(np.linalg.norm(action[:3])) / HASTE)
        action[2] = max(action[2], -GENTLY.get(self._skill, 1.0))
        action[6] = OPEN if self._skill in OPENED else CLOSED
        return np.clip(action, -1, 1).astype(np.float32)

    def _choose(self, seen: Readings, offset: FloatArray, way: FloatArray, turn: float) -> None:
        """Go on to the next skill, or back to an earlier one."""
        self._periods += 1
        off, left = np.linalg.norm(offset[:2]), np.linalg.norm(way[:2])
        lifted, hand = height(seen)[0], seen.hand_position[0, 0, 2]
        match self._skill:
            case Skill.REACH if off < self._care and abs(turn) < 0.12:
                self._go(Skill.DESCEND)
            case Skill.DESCEND if hand < LOW + 0.003:
                self._go(Skill.CLOSE)
            case Skill.DESCEND if off > 0.012 or self._periods > PATIENCE:
                self._go(Skill.REACH)
            case Skill.CLOSE if self._periods > GRASPING:
                self._go(Skill.LIFT)
            case Skill.LIFT | Skill.CARRY | Skill.LOWER if np.linalg.norm(offset) > HELD:
                self._go(Skill.REACH)  # lost it
            case Skill.LIFT if lifted > 0.7 * CARRIED:
                self._go(Skill.CARRY)
            case Skill.CARRY if left < self._care:
                self._go(Skill.LOWER)
            case Skill.LOWER if lifted < LAID:
                self._go(Skill.RELEASE)
            case Skill.RELEASE if self._periods > RELEASING and hand > BLOCK + ABOVE / 2:
                self._go(Skill.REACH)
            case _:
                pass

    def _move(self, seen: Readings, offset: FloatArray, way: FloatArray) -> FloatArray:
        """Where the hand has to go, from where it is, along the world's axes [m]."""
        hand, lifted = float(seen.hand_position[0, 0, 2]), float(height(seen)[0])
        match self._skill:
            case Skill.REACH:
                return np.array([offset[0], offset[1], offset[2] + ABOVE])
            case Skill.DESCEND:
                return np.array([offset[0], offset[1], LOW - hand])
            case Skill.CLOSE:
                return np.zeros(3)
            case Skill.LIFT:
                return np.array([0.0, 0.0, CARRIED - lifted + 0.01])
            case Skill.CARRY:
                return np.array([way[0], way[1], CARRIED - lifted])
            case Skill.LOWER:
                return np.array([way[0], way[1], -lifted - 0.001])
            case Skill.RELEASE:
                rise = 0.0 if self._periods < RELEASING else BLOCK + ABOVE - hand
                return np.array([0.0, 0.0, rise])

    def _go(self, skill: Skill) -> None:
        self._skill = skill
        self._periods = 0
