"""The scripted demonstrator: a person at a leader arm, four skills and another try when one fails.

Imperfect as teleoperation is: late (a reaction time), trembling, at a pace and with a care of the
day, and never looking at more than the tracker gives.
"""

from __future__ import annotations

from collections import deque
from enum import Enum

import numpy as np

from enpire.environment import ActionSpec, Demonstrator, Readings
from enpire.types import Float32Array, FloatArray

from .geometry import cube_in_hand, quarter_turn

ABOVE = 0.040  # of the hand over the cube while it aligns [m]
OPEN, CLOSED = -0.52, -1.0  # gripper actions: 3 mm wider than the cube on each side; shut
BESIDE = 0.003  # the cube's place in the open jaw, off the grasp point along the opening [m]
LOW = 0.0165  # the hand's height when it closes [m]
TREMOR = 0.8  # of the hand, in full actions (5 mm, 0.1 rad)
HASTE = 1.3  # of the hand at most, in full actions: it is no faster on a slant


class Skill(Enum):
    """What the person is doing."""

    REACH = "reach"
    DESCEND = "descend"
    CLOSE = "close"
    LIFT = "lift"


# How fast the hand goes down at most, in full actions: fingers that come down on the cube, and a
# jaw that shuts on it and drags it down, press before anybody can feel it.
GENTLY = {Skill.DESCEND: 0.6, Skill.CLOSE: 0.4}


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
        opening = seen.hand_rotation[0, 0, :, 0]
        offset = cube_in_hand(seen)[0] - BESIDE * opening
        cos, sin = quarter_turn(seen)[0]
        turn = np.arctan2(sin, cos) / 4
        self._choose(seen, offset, turn)
        move = self._move(seen, offset)
        action = np.zeros(7)
        action[:3] = self._pace * np.clip(0.25 * move / self._scale[:3], -1, 1)
        if self._skill in (Skill.REACH, Skill.DESCEND):
            action[5] = np.clip(0.25 * turn / self._scale[5], -1, 1)
        before = self._tremor
        self._tremor = 0.7 * before + 0.7 * self._rng.normal(0, TREMOR, 7)
        action += self._tremor - before
        action[:3] /= max(1.0, float(np.linalg.norm(action[:3])) / HASTE)
        action[2] = max(action[2], -GENTLY.get(self._skill, 1.0))
        action[6] = OPEN if self._skill in (Skill.REACH, Skill.DESCEND) else CLOSED
        return np.clip(action, -1, 1).astype(np.float32)

    def _choose(self, seen: Readings, offset: FloatArray, turn: float) -> None:
        """Go on to the next skill, or back to the first."""
        self._periods += 1
        off = np.linalg.norm(offset[:2])
        height = seen.hand_position[0, 0, 2]
        match self._skill:
            case Skill.REACH if off < self._care and abs(turn) < 0.12:
                self._go(Skill.DESCEND)
            case Skill.DESCEND if height < LOW + 0.004:
                self._go(Skill.CLOSE)
            case Skill.DESCEND if off > 0.010 or self._periods > 30:
                self._go(Skill.REACH)
            case Skill.CLOSE if self._periods > 8:
                self._go(Skill.LIFT)
            case Skill.LIFT if np.linalg.norm(cube_in_hand(seen)[0]) > 0.025:
                self._go(Skill.REACH)
            case _:
                pass

    def _move(self, seen: Readings, offset: FloatArray) -> FloatArray:
        """Where the hand has to go, from where it is, along the world's axes [m]."""
        height = seen.hand_position[0, 0, 2]
        match self._skill:
            case Skill.REACH:
                return np.array([offset[0], offset[1], offset[2] + ABOVE])
            case Skill.DESCEND:
                return np.array([offset[0], offset[1], LOW - height])
            case Skill.CLOSE:
                return np.array([0.0, 0.0, LOW - height])
            case Skill.LIFT:
                return np.array([0.0, 0.0, 0.100 - height])

    def _go(self, skill: Skill) -> None:
        self._skill = skill
        self._periods = 0
