"""The scripted demonstrator: a person at two leader arms who moves the card as one thing.

Line the edge up above the slot, lower it, feel; when it stands on the slot's rim, move it about in
the plane under a light push, giving way to what is felt, until it drops in; then push it home, one
end after the other, no harder than needed. Imperfect as teleoperation is: late (a reaction time),
trembling, with a pace and a care of the day, and never looking at more than the tracker gives.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from enum import Enum

import numpy as np

from enpire.environment import ActionSpec, Demonstrator, Readings
from enpire.types import Float32Array, FloatArray

from .frames import (
    GRASPS,
    HALF,
    HOME,
    LEFT,
    RIGHT,
    aside,
    depth,
    ends_in_slot,
    lean,
    middle,
    slot_frame,
)

FASTEST = 0.0013  # of the card in a control period [m]
TURNING = 0.009  # of the card in a control period, at most [rad]
SEARCH = 50  # control periods of a search on the rim, in a spiral
STUCK = 20  # control periods of pushing without depth after which a person searches again
TREMOR = 0.25  # of the hands, in full actions (0.4 mm, 3 mrad)


@dataclass(frozen=True, slots=True)
class Manner:
    """How the card is seated: the numbers of it that may differ."""

    pace: float  # of the card in a control period, at most [m]
    care: float  # of either end off its place over the slot, lined up [m]
    above: float = 0.003  # of the edge over the mouth while it is lined up [m]
    steer: float = 0.22  # share of an error that is corrected in a control period
    felt: float = 3.0  # push of both hands together at which the rim is noticed [N]
    light: float = 6.0  # the same while wiggling on it [N]
    spiral: float = 0.0016  # radius of that in the end [m]
    entered: float = 0.0026  # depth from which on the slot guides the edge [m]
    down: float = 0.7  # way down in the slot, as a share of the pace
    hard: float = 13.0  # of one hand, at which it pushes no harder [N]
    even: float = 5e-5  # how far the card is tipped towards the hand that feels less [rad/N]
    give: float = 4e-5  # how far it gives way to what pushes it aside, in a period [m/N]
    yaw_give: float = 4e-3  # and to what turns it about the vertical [rad/(N m)]


class Skill(Enum):
    """What the person is doing."""

    ALIGN = "align"
    LOWER = "lower"
    WIGGLE = "wiggle"
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
        self._scale = actions.scale
        self._skill = Skill.ALIGN
        self._periods = 0  # since the skill began
        if manner is None:
            manner = Manner(FASTEST * rng.uniform(0.6, 1.0), rng.uniform(0.0008, 0.0014))
        self._manner = manner
        self._phase = rng.uniform(0, 2 * math.pi)
        self._first = LEFT if self._phase < math.pi else RIGHT  # end that is pressed home first
        self._seen: deque[Readings] = deque(
            maxlen=int(rng.integers(1, 4)) if late is None else late
        )
        self._trembling = tremor
        self._tremor: FloatArray = np.zeros(actions.size)

    def act(self, readings: Readings) -> Float32Array:
        """One control period's action."""
        self._seen.append(readings)
        seen = self._seen[0]
        slot, ends, lean_now = slot_frame(seen)[0], ends_in_slot(seen)[0], float(lean(seen)[0])
        force = seen.wrist_force[0] @ slot  # of each hand on the card, slot frame [N]
        self._choose(ends, lean_now, -force[:, 2])
        move, turn = self._twist(ends, lean_now, force)
        return self._shaken(self._of_hands(readings, slot @ move, slot @ turn))

    def _shaken(self, action: FloatArray) -> Float32Array:
        """As a hand that trembles carries it out; the grippers do as they are told."""
        before = self._tremor
        self._tremor = 0.7 * before + 0.7 * self._rng.normal(0, self._trembling, before.shape)
        shaken = action + self._tremor - before
        shaken[[6, 13]] = action[[6, 13]]
        return np.clip(shaken, -1, 1).astype(np.float32)

    def _choose(self, ends: FloatArray, lean_now: float, push: FloatArray) -> None:
        """Go on to the next skill, or back."""
        self._periods += 1
        deep = float(depth(ends))
        off, manner = float(aside(ends)), self._manner
        match self._skill:
            case Skill.ALIGN if off < manner.care and self._straight(ends, lean_now):
                self._go(Skill.LOWER)
            case Skill.LOWER | Skill.WIGGLE if deep > manner.entered:
                self._go(Skill.PUSH)
            case Skill.LOWER if push.sum() > manner.felt:
                self._go(Skill.WIGGLE)
            case Skill.LOWER if off > 0.003:
                self._go(Skill.ALIGN)
            case Skill.WIGGLE if off > 0.003 or self._periods > SEARCH:
                self._go(Skill.ALIGN)
            case Skill.PUSH if deep < manner.entered and self._periods > STUCK:
                self._go(Skill.WIGGLE)
            case _:
                pass

    def _twist(
        self, ends: FloatArray, lean_now: float, force: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Of the card about the edge's middle over one period, slot frame [m], [rad]."""
        manner, middle = self._manner, ends.mean(axis=0)
        pace, steer = manner.pace, manner.steer
        slope = float(ends[LEFT, 2] - ends[RIGHT, 2]) / (2 * HALF)
        yaw = float(ends[RIGHT, 0] - ends[LEFT, 0]) / (2 * HALF)
        turn = np.clip(-steer * np.array([slope, lean_now, yaw]), -TURNING, TURNING)
        push = -force[:, 2]
        given = manner.give * force[:, :2].sum(axis=0)
        given_yaw = manner.yaw_give * float((GRASPS[:, 1] - GRASPS[:, 1].mean()) @ force[:, 0])
        move = np.clip(-steer * middle, -pace, pace)
        match self._skill:
            case Skill.ALIGN:
                move[2] = np.clip(steer * (manner.above - middle[2]), -pace, pace)
            case Skill.LOWER:
                move[2] = -0.6 * pace
            case Skill.WIGGLE:
                angle = self._phase + 0.5 * self._periods
                spiral = manner.spiral * self._periods / SEARCH
                goal = spiral * np.array([math.cos(angle), math.sin(angle)])
                move[:2] = np.clip(steer * (goal - middle[:2]), -pace, pace)
                move[:2] -= given
                turn[2] = 0.3 * turn[2] + given_yaw  # yaw is felt better than seen
                move[2] = 0.0004 * np.clip((push.sum() - manner.light) / manner.light, -1, 1)
            case Skill.PUSH:
                move[:2] = -given
                turn[1:] = 0.0, given_yaw
                move[2], turn[0] = self._pressed(ends, push, 0.5 * turn[0])
        return move, turn

    def _pressed(self, ends: FloatArray, push: FloatArray, levelling: float) -> tuple[float, float]:
        """The edge's way up [m] and its turn about the slot's x [rad] in a period of pushing.

        One end goes home after the other, each under its own hand. A soft arm is wound up by some
        20 mm when the contact springs give way, and both hands at once would drop the card onto
        the slot's floor: 32 N at a wrist in the median, 50 N at most. A hand that presses its own
        end has the longer lever: half of the force, and a way on which the arm's damping takes up
        what was wound up: 11 N and 21 N.

        push: of both hands [N]. levelling: turn that makes the card level [rad].
        """
        manner = self._manner
        down = manner.down * manner.pace
        hand = next((a for a in (self._first, 1 - self._first) if -ends[a, 2] < HOME), None)
        if hand is None:
            rate = down * np.clip(2.0 * (1 - push.max() / manner.hard), -1, 1)
            return -rate, levelling + manner.even * (push[LEFT] - push[RIGHT])
        rate = down * np.clip(2.0 * (1 - push[hand] / manner.hard), -1, 1)
        other = GRASPS[1 - hand, 1]  # which stays where it is
        turn = -rate / (GRASPS[hand, 1] - other)
        return -turn * other, turn

    def _of_hands(self, readings: Readings, move: FloatArray, turn: FloatArray) -> FloatArray:
        """The action that moves both hands as the card is to move, world frame."""
        at = middle(readings)[0]
        action = np.zeros((2, 7))
        action[:, 6] = -1.0
        for arm in (LEFT, RIGHT):
            lever = readings.hand_position[0, arm] - at
            twist = np.concatenate([move + np.cross(turn, lever), turn])
            action[arm, :6] = twist / self._scale[arm]
        return action.ravel()

    def _straight(self, ends: FloatArray, lean_now: float) -> bool:
        return abs(float(ends[LEFT, 2] - ends[RIGHT, 2])) < 0.002 and abs(lean_now) < 0.03

    def _go(self, skill: Skill) -> None:
        self._skill = skill
        self._periods = 0
