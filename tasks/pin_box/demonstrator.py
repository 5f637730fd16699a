"""The scripted demonstrator: a person at a leader arm, skills and another try when one fails.

Bring the pin upright over its hole, lower it; where it is felt to land on the face, press lightly
and search in a widening spiral until it drops; push it home, yielding sideways to what is felt, and
let go. Imperfect as teleoperation is: late (a reaction time), trembling, with a pace and a care of
the day, and never looking at more than the tracker gives.
"""

from __future__ import annotations

from collections import deque
from enum import Enum

import numpy as np

from enpire.environment import ActionSpec, Demonstrator, Readings
from enpire.types import Float32Array, FloatArray

from .frames import active, in_holes
from .parts import DEPTH

HOVER = 0.003  # of the pin over the face while it is lined up [m]
ENTERED = 0.0015  # depth from which on the hole guides the pin [m]
HOME = DEPTH - 0.0008  # depth that looks like the bottom [m]
FELT = 1.5  # push against the face at which a person notices that the pin has landed [N]
PRESS = 2.5  # push while searching [N]
BOTTOM = 4.0  # push against the bottom at which a person lets go [N]
STEER = 0.2  # share of an error that is corrected in a control period
YIELD = 0.00010  # how far the hand gives way sideways in a control period [m/N]
FASTEST = 0.0018  # of the hand in a control period [m]
WIDEST = 0.0016  # radius of the search [m]
TREMOR = 0.15  # of the hand, in full actions (0.3 mm, 4 mrad)
OPEN, CLOSED = -0.4, -1.0  # gripper actions: 22 mm; shut


class Skill(Enum):
    """What the person is doing."""

    ALIGN = "align"
    LOWER = "lower"
    SEARCH = "search"
    INSERT = "insert"
    RELEASE = "release"


class Teleoperator(Demonstrator):
    """One episode's person."""

    def __init__(self, rng: np.random.Generator, actions: ActionSpec) -> None:
        """Draw the person's pace, care, reaction time and tremor."""
        self._rng = rng
        self._scale = actions.scale[0]
        self._pace = FASTEST * rng.uniform(0.6, 1.1)
        self._care = rng.uniform(0.0004, 0.0009)
        self._seen: deque[Readings] = deque(maxlen=int(rng.integers(1, 4)))
        self._tremor = np.zeros(actions.size)
        self._skill = Skill.ALIGN
        self._periods = 0  # since the skill began

    def act(self, readings: Readings) -> Float32Array:
        """One control period's action."""
        self._seen.append(readings)
        seen = self._seen[0]
        pin = int(active(seen)[0])
        ends, directions = in_holes(seen)
        end, direction = ends[0, pin], directions[0, pin]
        force = seen.rotation[0, 0].T @ readings.wrist_force[0, 0]  # felt at once
        self._choose(end, direction, -float(force[2]))
        move, turn = self._move(end, direction, force)
        rotation = seen.rotation[0, 0]
        move, turn = rotation @ move, rotation @ turn
        move += np.cross(turn, seen.hand_position[0, 0] - seen.position[0, 1 + pin])
        before = self._tremor
        self._tremor = 0.7 * before + 0.7 * self._rng.normal(0, TREMOR, before.shape)
        action = self._tremor - before
        action[:6] += np.concatenate([move, turn]) / self._scale
        action[6] = OPEN if self._skill is Skill.RELEASE else CLOSED
        return np.clip(action, -1, 1).astype(np.float32)

    def _choose(self, end: FloatArray, direction: FloatArray, push: float) -> None:
        """Go on to the next skill, or back to an earlier one."""
        self._periods += 1
        off = float(np.linalg.norm(end[:2]))
        match self._skill:
            case Skill.ALIGN if off < self._care and np.linalg.norm(direction[:2]) < 0.03:
                self._go(Skill.LOWER)
            case Skill.LOWER | Skill.SEARCH if end[2] < -ENTERED:
                self._go(Skill.INSERT)
            case Skill.LOWER if push > FELT and end[2] < 0.001:
                self._go(Skill.SEARCH)
            case Skill.LOWER if off > 0.003:
                self._go(Skill.ALIGN)
            case Skill.SEARCH if self._periods > 80 or off > 0.004:
                self._go(Skill.ALIGN)
            case Skill.INSERT if end[2] < -HOME or (push > BOTTOM and end[2] < 0.0015 - HOME):
                self._go(Skill.RELEASE)
            case Skill.RELEASE if self._periods > 15:
                self._go(Skill.INSERT)
            case _:
                pass

    def _move(
        self, end: FloatArray, direction: FloatArray, force: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """The pin's translation [m] and turn about its end [rad] in one period, box frame."""
        upright = STEER * np.array([direction[1], -direction[0], 0.0])
        steer = -STEER * np.clip(end[:2], -0.008, 0.008)
        match self._skill:
            case Skill.ALIGN:
                return np.array([*steer, STEER * (HOVER - end[2])]), upright
            case Skill.LOWER:
                return np.array([*steer, -0.5 * self._pace]), upright
            case Skill.SEARCH:
                press = 0.0001 * np.clip(PRESS + force[2], -4.0, 4.0)
                return np.array([*self._spiral(), -press]), 0.5 * upright
            case Skill.INSERT:
                return np.array([*(-YIELD * force[:2]), -self._pace]), 0.3 * upright
            case Skill.RELEASE:
                return np.zeros(3), np.zeros(3)

    def _spiral(self) -> FloatArray:
        """The next step of a spiral out of the middle: 0.3 mm a step, turns 0.5 mm apart [m]."""
        here, there = (_spiral_at(self._periods + i) for i in (0, 1))
        return there - here

    def _go(self, skill: Skill) -> None:
        self._skill = skill
        self._periods = 0


def _spiral_at(step: int) -> FloatArray:
    """Archimedes' spiral at equal steps along it."""
    angle = np.sqrt(4 * np.pi * 0.3 / 0.5 * step)
    radius = min(0.0005 * angle / (2 * np.pi), WIDEST)
    return radius * np.array([np.cos(angle), np.sin(angle)])
