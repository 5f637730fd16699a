"""The scripted demonstrator: a person at a leader arm, skills and another try when one fails.

With the next pin in the fingers: bring it upright over its hole, lower it; where it is felt to
land on the face, press lightly and search in a widening spiral until it drops; push it home,
yielding sideways to what is felt, and let go. Otherwise pick it up first. Imperfect as
teleoperation is: late (a reaction time), trembling, with a pace and a care of the day, and never
looking at more than the tracker gives.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from enum import Enum

import numpy as np
from scipy.spatial.transform import Rotation

from enpire.environment import ActionSpec, Demonstrator, Readings
from enpire.types import Float32Array, FloatArray

from .frames import GRIP, LET_GO, View, hand_rotation
from .parts import DEPTH
from .reach import eased

HIGH = 0.015  # of the pin over the face, far aside [m]
ENTERED = 0.002  # depth from which on the hole guides the pin [m]
TREMOR = np.array([0.0003] * 3 + [0.004] * 3 + [0.0])  # of the hand [m], [rad]
OPEN, CLOSED = -0.4, -1.0  # gripper actions: 22 mm; shut
OVER, PICK = 0.050, 0.0087  # of the grasp point above a lying pin: before the grasp, at it [m]
CLEAR = 0.085  # how far the hand backs off from a seated pin [m]
NEWS = 0.25  # weight of what is seen now, of a held pin, beside what was seen before
STILL = 0.0004  # way of a hand in a control period that has come to rest over a hole [m]
FOLLOWS = 0.1  # share of what a searching pin is off its spiral, corrected in a period
GIVES = 0.0003  # how far the hand goes on in a period for each N that it presses too little [m/N]


@dataclass(frozen=True, slots=True)
class Manner:
    """How one seats a pin."""

    hover: float = 0.003  # of the pin over the face, lined up [m]
    upright: float = 0.03  # lean of a pin that is lined up [rad]
    steer: float = 0.2  # share of an error that is corrected in a control period
    fastest: float = 0.0018  # of a pin near its hole in a control period [m]
    felt: float = 1.5  # push at which one notices that something has landed [N]
    press: float = 2.5  # push while searching [N]
    step: float = 0.0003  # of the search, in a control period [m]
    apart: float = 0.0005  # of the turns of its spiral [m]
    widest: float = 0.0016  # radius of the search [m]
    give: float = 0.0001  # how far the hand gives way sideways in a control period [m/N]
    bottom: float = 4.0  # push against the bottom at which one lets go [N]
    home: float = DEPTH - 0.0008  # depth that looks like the bottom [m]


class Skill(Enum):
    """What the person is doing."""

    OVER = "over"
    REACH = "reach"
    GRASP = "grasp"
    LIFT = "lift"
    ALIGN = "align"
    LOWER = "lower"
    SEARCH = "search"
    INSERT = "insert"
    RELEASE = "release"
    BACK = "back"


HOLDING = (Skill.LIFT, Skill.ALIGN, Skill.LOWER, Skill.SEARCH)
OPENED = (Skill.OVER, Skill.REACH, Skill.RELEASE, Skill.BACK)


class Teleoperator(Demonstrator):
    """One episode's person."""

    manner = Manner()

    def __init__(
        self,
        rng: np.random.Generator,
        actions: ActionSpec,
        tremor: float = 1.0,
        pin: int | None = None,
        skill: Skill = Skill.ALIGN,
    ) -> None:
        """Draw the person's pace, care and reaction time.

        tremor: how much the hand trembles. pin: the one to seat, if it is not the next. skill: what
        to begin with.
        """
        self._rng = rng
        self._scale = np.append(actions.scale[0], 1.0)
        self._pace = rng.uniform(0.6, 1.1)
        self._care = rng.uniform(0.0004, 0.0009)
        self._seen: deque[View] = deque(maxlen=int(rng.integers(1, 4)))
        self._trembles = tremor * TREMOR
        self._tremor: FloatArray = np.zeros(actions.size)
        self._pin = pin
        self._skill = skill
        self._periods = 0  # since the skill began
        self._searched = 0  # periods of search since the pin was lowered
        # Of the held pin: its end and axis, in the grasp frame, and its hole's mouth, world frame.
        self._looks: FloatArray | None = None
        self._hand: FloatArray = np.zeros(3)  # where it was [m]
        self._still = False

    @property
    def skill(self) -> Skill:
        """What the person is doing."""
        return self._skill

    def act(self, readings: Readings) -> Float32Array:
        """One control period's action."""
        now = View.of(readings, self._pin)
        self._seen.append(now)
        seen = self._seen[0]
        held = self._hold(seen, now)
        self._still = float(np.linalg.norm(now.hand - self._hand)) < STILL
        self._hand = now.hand
        self._choose(seen, held, now.force)  # felt at once
        move, turn = self._move(held, now.force)
        before = self._tremor
        self._tremor = 0.7 * before + 0.7 * self._trembles * self._rng.standard_normal(7)
        action = np.concatenate([move, turn, [0.0]]) + self._tremor - before
        action /= self._scale
        action[6] = OPEN if self._skill in OPENED else CLOSED
        return np.clip(action, -1, 1).astype(np.float32)

    def _hold(self, seen: View, now: View) -> View:
        """What was seen with the held pin where it is by now, as one knows one's own hand.

        Steered by where it was seen alone, a soft arm, itself late by 0.1 s, swings about the hole.
        """
        if self._skill not in (*HOLDING, Skill.INSERT):
            self._looks = None
            return seen
        looks = np.stack(
            [
                seen.hand_frame.T @ (seen.at - seen.hand),
                seen.hand_frame.T @ seen.axis,
                seen.at - seen.box_frame @ seen.end,
            ]
        )
        self._looks = looks if self._looks is None else self._looks + NEWS * (looks - self._looks)
        at, axis, hole = self._looks
        return seen.held(now.hand, now.hand_frame, at, axis, hole)

    def _choose(self, seen: View, held: View, force: FloatArray) -> None:
        """Go on to the next skill, or back to an earlier one.

        seen: what was seen last. held: the same with the pin where it is by now.
        """
        self._periods += 1
        end, push, manner = seen.end, -float(force[2]), self.manner
        home, landed = end[2] < 0.0015 - manner.home, push > manner.felt
        off_now = np.linalg.norm(held.end[:2])
        lined_up = off_now < self._care and np.linalg.norm(held.direction[:2]) < manner.upright
        if self._skill in HOLDING and np.linalg.norm(seen.grip - seen.hand) > LET_GO:
            self._go(Skill.OVER)
        match self._skill:
            case Skill.OVER if self._arrived(seen, 0.003):
                self._go(Skill.REACH)
            case Skill.REACH if self._arrived(seen, 0.004 if landed else 0.0015):
                self._go(Skill.GRASP)
            case Skill.GRASP if self._periods > 8:
                self._go(Skill.LIFT)
            case Skill.LIFT if self._arrived(seen, 0.020):
                self._go(Skill.ALIGN)
            case Skill.ALIGN if lined_up and self._still:
                self._go(Skill.LOWER)
                self._searched = 0
            case Skill.LOWER | Skill.SEARCH if end[2] < -ENTERED:
                self._go(Skill.INSERT)
            case Skill.LOWER if landed and end[2] < 0.001:
                self._go(Skill.SEARCH)
            case Skill.LOWER if off_now > 0.002:
                self._go(Skill.ALIGN)
            case Skill.SEARCH if self._searched > 80 or off_now > 0.004:
                self._go(Skill.ALIGN)
            case Skill.INSERT if push > manner.bottom and end[2] > -2 * ENTERED:
                self._go(Skill.SEARCH)  # it only looked as if it had entered
            case Skill.INSERT if end[2] < -manner.home or (push > manner.bottom and home):
                self._go(Skill.RELEASE)
            case Skill.RELEASE if self._periods > 15:
                self._go(Skill.BACK if home else Skill.INSERT)
            case Skill.BACK if seen.nearest > CLEAR:
                self._go(Skill.OVER)
            case _:
                pass

    def _move(self, seen: View, force: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The hand's translation [m] and turn [rad] in one period, world frame."""
        match self._skill:
            case Skill.OVER | Skill.REACH | Skill.GRASP | Skill.LIFT:
                position, rotation = self._goal(seen)
                return self._toward(position - seen.hand), self._toward_turn(rotation, seen)
            case Skill.RELEASE:
                return np.zeros(3), np.zeros(3)
            case Skill.BACK:
                away = np.array([0.0, 0.0, 0.3]) - seen.hand_frame[:, 2]  # up, off the face
                return 0.6 * self._pace * self._scale[0] * away, np.zeros(3)
            case _:
                move, turn = (seen.box_frame @ part for part in self._guide(seen, force))
                return move + np.cross(turn, seen.hand - seen.at), turn

    def _guide(self, seen: View, force: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The pin's translation [m] and turn about its end [rad] in one period, box frame."""
        end, direction, manner = seen.end, seen.direction, self.manner
        pace = self._pace * manner.fastest
        upright = manner.steer * np.array([direction[1], -direction[0], 0.0])
        steer = -manner.steer * np.clip(end[:2], -0.008, 0.008)
        match self._skill:
            case Skill.ALIGN:
                height = min(HIGH, manner.hover + 0.5 * float(np.linalg.norm(end[:2])))
                return np.array([*steer, manner.steer * (height - end[2])]), upright
            case Skill.LOWER:
                return np.array([*steer, -0.5 * pace]), upright
            case Skill.SEARCH:
                press = GIVES * np.clip(manner.press + force[2], -4.0, 4.0)
                self._searched += 1
                to = self._spiral(self._searched)
                step = to - self._spiral(self._searched - 1) + FOLLOWS * (to - end[:2])
                return np.array([*step, -press]), 0.5 * upright
            case _:
                return np.array([*(-manner.give * force[:2]), -pace]), 0.3 * upright

    def _goal(self, seen: View) -> tuple[FloatArray, FloatArray]:
        """Where the hand is to be to pick the pin up and carry it: position [m] and frame."""
        if self._skill is Skill.LIFT:
            height = seen.box[2] + HIGH + GRIP
            return np.array([*seen.hand[:2], height]), hand_rotation(0.0, seen.box_yaw)
        above = OVER if self._skill is Skill.OVER else PICK
        yaw = math.atan2(seen.axis[1], seen.axis[0])
        position = seen.grip + np.array([0.0, 0.0, above])
        return position, eased(seen.hand, hand_rotation(math.pi / 2, yaw))

    def _arrived(self, seen: View, near: float) -> bool:
        position, rotation = self._goal(seen)
        angle = np.linalg.norm(_between(seen.hand_frame, rotation))
        return bool(np.linalg.norm(position - seen.hand) < near and angle < 0.1)

    def _toward(self, gap: FloatArray) -> FloatArray:
        far = float(np.linalg.norm(gap))
        share: float = min(self.manner.steer, self._pace * self._scale[0] / max(far, 1e-9))
        return gap * share

    def _toward_turn(self, rotation: FloatArray, seen: View) -> FloatArray:
        gap = _between(seen.hand_frame, rotation)
        angle = float(np.linalg.norm(gap))
        share: float = min(self.manner.steer, self._pace * self._scale[3] / max(angle, 1e-9))
        return gap * share

    def _spiral(self, step: int) -> FloatArray:
        """Archimedes' spiral of the search, as far as it is wide [m]."""
        apart = self.manner.apart
        angle = math.sqrt(4 * math.pi * self.manner.step / apart * step)
        radius = min(apart * angle / (2 * math.pi), self.manner.widest)
        return radius * np.array([math.cos(angle), math.sin(angle)])

    def _go(self, skill: Skill) -> None:
        self._skill = skill
        self._periods = 0


def _between(here: FloatArray, there: FloatArray) -> FloatArray:
    """Rotation vector from one frame to another [rad]."""
    vector: FloatArray = Rotation.from_matrix(there @ here.T).as_rotvec()
    return vector
