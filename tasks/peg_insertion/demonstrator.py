"""The scripted demonstrator: a person at a leader arm who puts the peg into the hole.

Line the tip up over the mouth and set the peg upright, lower it, feel. When it stands on the rim,
move it about under a light push until it drops in. Then push it home, and give way to what presses
it aside. Imperfect as teleoperation is: late (a reaction time), trembling, with a pace and a care
of the day, and never looking at more than the tracker gives.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from enum import Enum

import numpy as np

from enpire.environment import ActionSpec, Demonstrator, Readings
from enpire.types import Float32Array, FloatArray

from .frames import axis_in_hole, block_frame, peg_pose, tip_in_hole

FASTEST = 0.0010  # of the tip in a control period [m]
TURNING = 0.008  # of the peg in a control period, at most [rad]
SEARCH = 60  # control periods of a search on the rim, in a spiral
FLOOR = 0.026  # depth of the tip from which on the floor is near [m]
STUCK = 25  # control periods of pushing without depth after which a person lines up again
TREMOR = 0.2  # of the hand, in full actions


@dataclass(frozen=True, slots=True)
class Manner:
    """How the peg is put in: the numbers of it that may differ."""

    pace: float  # of the tip in a control period, at most [m]
    care: float  # of the tip off the hole's axis, lined up [m]
    above: float = 0.002  # of the tip over the mouth while it is lined up [m]
    upright: float = 0.02  # lean of a peg that is lined up, at most [rad]
    steer: float = 0.2  # share of an error that is corrected in a control period
    softly: float = 0.00015  # way down in a period where the tip is about to touch [m]
    felt: float = 3.0  # push at which the rim is noticed [N]
    light: float = 5.0  # the same while searching on it [N]
    spiral: float = 0.0016  # radius of that in the end [m]
    entered: float = 0.003  # depth from which on the hole guides the peg [m]
    hard: float = 10.0  # push at which a person pushes no harder [N]
    give: float = 4e-5  # how far the peg gives way to what presses it aside, in a period [m/N]


class Skill(Enum):
    """What the person is doing."""

    ALIGN = "align"
    LOWER = "lower"
    SEARCH = "search"
    PUSH = "push"


class Teleoperator(Demonstrator):
    """One episode's person."""

    def __init__(
        self,
        rng: np.random.Generator,
        actions: ActionSpec,
        manner: Manner | None = None,
        late: int | None = None,
        tremor: float = TREMOR,
    ) -> None:
        """Draw the person's pace, care and reaction time, unless given; where a search begins.

        late: readings, of which the first is acted on. tremor: in full actions.
        """
        self._rng = rng
        self._scale = actions.scale[0]
        self._skill = Skill.ALIGN
        self._periods = 0  # since the skill began
        if manner is None:
            manner = Manner(FASTEST * rng.uniform(0.6, 1.0), rng.uniform(0.0006, 0.0012))
        self._manner = manner
        self._phase = rng.uniform(0, 2 * math.pi)
        self._seen: deque[Readings] = deque(
            maxlen=int(rng.integers(1, 4)) if late is None else late
        )
        self._trembling = tremor
        self._tremor: FloatArray = np.zeros(6)

    def act(self, readings: Readings) -> Float32Array:
        """Return one control period's action."""
        self._seen.append(readings)
        seen = self._seen[0]
        block = block_frame(seen)[0]
        tip, axis = tip_in_hole(seen)[0], axis_in_hole(seen)[0]
        force = seen.wrist_force[0, 0] @ block  # of the hand on the peg, block frame [N]
        self._choose(tip, axis, -float(force[2]))
        move, turn = self._twist(tip, axis, force)
        move, turn = block @ move, block @ turn
        at = peg_pose([readings])[0]
        lever = readings.hand_position[0, 0] - at
        before = self._tremor
        self._tremor = 0.7 * before + 0.7 * self._rng.normal(0, self._trembling, 6)
        twist = np.concatenate([move + np.cross(turn, lever), turn])
        moving = self._scale > 0
        action = np.full(7, -1.0)
        action[:6] = np.where(moving, twist / np.where(moving, self._scale, 1.0), 0.0)
        action[:6] += moving * (self._tremor - before)
        return np.clip(action, -1, 1).astype(np.float32)

    def _choose(self, tip: FloatArray, axis: FloatArray, push: float) -> None:
        """Go on to the next skill, or back."""
        self._periods += 1
        manner = self._manner
        off, lean, deep = np.hypot(*tip[:2]), np.hypot(*axis[:2]), -tip[2]
        match self._skill:
            case Skill.ALIGN if off < manner.care and lean < manner.upright:
                self._go(Skill.LOWER)
            case Skill.LOWER | Skill.SEARCH if deep > manner.entered:
                self._go(Skill.PUSH)
            case Skill.LOWER if push > manner.felt:
                self._go(Skill.SEARCH)
            case Skill.LOWER if off > 0.003:
                self._go(Skill.ALIGN)
            case Skill.SEARCH if off > 0.003 or self._periods > SEARCH:
                self._go(Skill.ALIGN)
            case Skill.PUSH if deep < manner.entered and self._periods > STUCK:
                self._go(Skill.ALIGN)
            case _:
                pass

    def _twist(
        self, tip: FloatArray, axis: FloatArray, force: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return the peg's way [m] and turn [rad] about its tip over one period, block frame."""
        manner = self._manner
        pace, steer, push = manner.pace, manner.steer, -float(force[2])
        # The turn that takes the peg's axis to the hole's.
        turn = np.clip(steer * np.array([axis[1], -axis[0], 0.0]), -TURNING, TURNING)
        move = np.clip(-steer * tip, -pace, pace)
        given = manner.give * force[:2]
        match self._skill:
            case Skill.ALIGN:
                move[2] = np.clip(steer * (manner.above - tip[2]), -pace, pace)
            case Skill.LOWER:
                move[:2] -= given
                move[2] = -manner.softly
            case Skill.SEARCH:
                angle = self._phase + 0.4 * self._periods
                spiral = manner.spiral * self._periods / SEARCH
                goal = spiral * np.array([math.cos(angle), math.sin(angle)])
                move[:2] = np.clip(steer * (goal - tip[:2]), -pace, pace) - given
                move[2] = 0.0004 * np.clip((push - manner.light) / manner.light, -1, 1)
            case Skill.PUSH:
                move[:2] = -given
                turn *= 0.5
                down = 0.6 * pace if tip[2] > -FLOOR else manner.softly
                move[2] = -down * np.clip(2.0 * (1 - push / manner.hard), -1, 1)
        return move, turn

    def _go(self, skill: Skill) -> None:
        self._skill = skill
        self._periods = 0
