"""The scripted demonstrator: a person at two leader arms, skills over inverse kinematics.

Bring the tail before the slot, push it through, back off and try again when it is stuck. Imperfect
as teleoperation is: late (a reaction time), trembling, at a pace and with a care of the day, and
never looking at more than the tracker gives.
"""

from __future__ import annotations

from collections import deque
from enum import Enum

import numpy as np

from enpire.environment import ActionSpec, Demonstrator, Readings
from enpire.types import Float32Array, FloatArray

from .frames import in_head

BEFORE = -0.014  # where the tip is lined up, before the slot, head frame [m]
MOUTH = -0.007  # where the head begins [m]
INSIDE = -0.003  # from here on the slot guides the tip [m]
TREMOR = 0.25  # of the hands, in full actions (0.6 mm, 8 mrad)


class Skill(Enum):
    """What the person is doing."""

    ALIGN = "align"
    PUSH = "push"
    BACK = "back"


class Teleoperator(Demonstrator):
    """One episode's person."""

    def __init__(self, rng: np.random.Generator, actions: ActionSpec) -> None:
        """Draw the person's pace, care, reaction time and tremor."""
        self._rng = rng
        self._scale = actions.scale
        self._size = actions.size
        self._skill = Skill.ALIGN
        self._pace = rng.uniform(0.6, 1.1)
        self._care = rng.uniform(0.0008, 0.0018)
        self._seen: deque[tuple[FloatArray, FloatArray, FloatArray]] = deque(
            maxlen=int(rng.integers(1, 4))
        )
        self._tremor = np.zeros(self._size)
        self._stuck = 0
        self._best = -np.inf

    def act(self, readings: Readings) -> Float32Array:
        """One control period's action."""
        self._seen.append(tuple(part[0] for part in in_head(readings)))
        tip, direction, side = self._seen[0]
        rotation = readings.rotation[0, 0]
        twist = np.zeros(6)
        turn = 0.15 if tip[0] < INSIDE else 0.0
        twist[:3] = rotation @ self._translate(tip, direction)
        twist[3:] = rotation @ (turn * np.array([-side[2], direction[2], -direction[1]]))
        action = np.zeros(self._size)
        action[7:13] = twist / self._scale[1]
        before = self._tremor
        self._tremor = 0.7 * before + 0.7 * self._rng.normal(0, TREMOR, self._size)
        action += self._tremor - before
        action[[6, 13]] = -1.0
        return np.clip(action, -1, 1).astype(np.float32)

    def _translate(self, tip: FloatArray, direction: FloatArray) -> FloatArray:
        """The hand's translation over one period in the head's frame [m]."""
        lateral = np.linalg.norm(tip[1:])
        if self._skill is Skill.ALIGN:
            goal = np.array([BEFORE, 0, 0])
            tilt = np.linalg.norm(direction[1:])
            if lateral < self._care and abs(tip[0] - BEFORE) < 0.003 and tilt < 0.09:
                self._go(Skill.PUSH)
        if self._skill is Skill.PUSH:
            self._stuck = 0 if tip[0] > self._best + 2e-4 else self._stuck + 1
            self._best = max(self._best, float(tip[0]))
            missed = tip[0] < MOUTH and lateral > 0.0025
            if missed or (self._stuck > 8 and tip[0] < INSIDE):
                self._go(Skill.BACK)
            advance = 0.0013 * self._pace
            steer = 0.2 if tip[0] < INSIDE else 0.0
            return np.array([advance, *(-steer * np.clip(tip[1:], -0.003, 0.003))])
        if self._skill is Skill.BACK:
            if tip[0] < BEFORE:
                self._go(Skill.ALIGN)
            return np.array([-0.0016 * self._pace, 0, 0])
        step = 0.18 * (goal - tip)
        return step * min(1.0, 0.0018 * self._pace / (np.linalg.norm(step) + 1e-9))

    def _go(self, skill: Skill) -> None:
        self._skill = skill
        self._stuck = 0
        self._best = -np.inf
