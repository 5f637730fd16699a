"""The scripted demonstrator: a person at a leader arm, who tries again what did not work.

Take the cutter, if it is not in the hand; bring its blades over the strap, lower them round it,
squeeze; lift it out, carry it over the stand, lower it in, let go and back off. Imperfect as
teleoperation is: late (a reaction time), trembling, at a pace and with a care of the day, and never
looking at more than the tracker gives.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from enum import Enum

import numpy as np

from enpire.environment import ActionSpec, Demonstrator, Readings
from enpire.types import Float32Array, FloatArray

from . import layout
from .layout import RIGHT

OPEN, HOLD, SHUT = 0.95, 0.15, -1.0  # gripper actions: 73 mm; 43 mm; shut
APART = 0.003  # gap at which a person sees that the strap is cut [m]
HELD = 0.015  # of the handles from the grasp point: in the hand [m]
CLOSING, OPENING = 0.2, 0.2  # of the gripper action in a control period, at most
TREMOR = 0.25  # of the hand, in full actions (1 mm, 8 mrad)


@dataclass(frozen=True, slots=True)
class Manner:
    """How one cuts, and puts the cutter back: the numbers of it that may differ."""

    pace: float  # fastest that the hand goes, in full actions
    care: float  # of the blades off the strap, to be lowered [m]
    steer: float = 0.25  # share of an error that is corrected in a control period
    over: float = 0.022  # of the blades over the strap before they are lowered [m]
    bite: float = 0.0015  # of the blades over the strap, at which they cut [m]
    squeeze: float = 12.0  # periods of a cut: the ends spring apart only when the blades let go
    clear: float = 0.030  # of the blades over the strap, lifted, before they are carried away [m]
    funnel: float = 0.048  # of the pivot over its place, the tips over the stand's funnel [m]
    aligned: float = 0.003  # of the cutter off its place there, to be lowered [m]
    deep: float = 0.003  # so far over its place the cutter is let go [m]


class Skill(Enum):
    """What the person is doing."""

    REACH = "reach"
    TAKE = "take"
    OVER = "over"
    LOWER = "lower"
    CUT = "cut"
    OPEN = "open"
    RAISE = "raise"
    CARRY = "carry"
    INSERT = "insert"
    RELEASE = "release"
    BACK = "back"


GRIPPER = {
    Skill.REACH: OPEN,
    Skill.CUT: SHUT,
    Skill.RELEASE: OPEN,
    Skill.BACK: OPEN,
}


class Teleoperator(Demonstrator):
    """One episode's person, who reckons with what the hand was told and has not shown yet."""

    def __init__(
        self,
        rng: np.random.Generator,
        actions: ActionSpec,
        manner: Manner | None = None,
        late: int | None = None,
        tremor: float = TREMOR,
    ) -> None:
        """Draw the person's pace, care and reaction time, unless they are given.

        late: readings, of which the first is acted on. tremor: in full actions.
        """
        self._rng = rng
        self._scale = actions.scale[RIGHT]
        drawn = rng.uniform(0.6, 1.0), rng.uniform(0.0010, 0.0018)
        late = int(rng.integers(1, 4)) if late is None else late
        self._manner = manner or Manner(*drawn)
        self._seen: deque[Readings] = deque(maxlen=late)
        # Twists that are sent and not seen yet [m, rad]. One period is the soft arm's own.
        self._sent: deque[FloatArray] = deque(maxlen=late + 1)
        self._trembles = tremor
        self._tremor = np.zeros(6)
        self._gripper = HOLD
        self._skill: Skill | None = None
        self._periods = 0  # since the skill began

    def act(self, readings: Readings) -> Float32Array:
        """One control period's action."""
        self._seen.append(readings)
        seen, manner = self._seen[0], self._manner
        self._choose(seen)
        before = self._tremor
        self._tremor = 0.7 * before + 0.7 * self._rng.normal(0, self._trembles, 6)
        twist = np.concatenate([self._move(seen), self._turn(seen)])
        left = twist - np.sum(self._sent, axis=0) if self._sent else twist
        step = manner.pace * np.clip(manner.steer * left / self._scale, -1, 1)
        self._sent.append(step * self._scale)
        action = np.zeros((2, 7))
        action[0, 6] = SHUT
        action[1, :6] = step + self._tremor - before
        wanted = GRIPPER.get(self._skill, HOLD) if self._skill else HOLD
        self._gripper += np.clip(wanted - self._gripper, -CLOSING, OPENING)
        action[1, 6] = self._gripper
        return np.clip(action.ravel(), -1, 1).astype(np.float32)

    def _choose(self, seen: Readings) -> None:
        """Go on to the next skill, or back to one that has to be done again."""
        self._periods += 1
        manner = self._manner
        blades, back = self._from_strap(seen), layout.from_stand(seen)[0]
        aside = np.linalg.norm(blades[:2] * (0.4, 1.0))  # along the strap there is room
        held = np.linalg.norm(layout.grip_from_hand(seen)[0]) < HELD
        parted = layout.gap(seen)[0] > APART
        off = np.linalg.norm(back[:2])
        match self._skill:
            case None:
                self._go(Skill.OVER if held else Skill.REACH)
            case Skill.REACH if held and abs(self._move(seen)[0]) < 0.003:
                self._go(Skill.TAKE)
            case Skill.TAKE if self._periods > 8 and back[2] > manner.funnel:
                self._go(Skill.CARRY if parted else Skill.OVER)
            case Skill.OVER if aside < manner.care and blades[2] < manner.over + 0.008:
                self._go(Skill.LOWER)
            case Skill.LOWER if blades[2] < manner.bite:
                self._go(Skill.CUT)
            case Skill.LOWER if aside > 0.004 or self._periods > 50:
                self._go(Skill.OVER)
            case Skill.CUT if self._periods > manner.squeeze:
                self._go(Skill.OPEN)
            case Skill.OPEN if self._periods > 7:
                self._go(Skill.RAISE if parted else Skill.OVER)
            case Skill.RAISE if blades[2] > manner.clear:
                self._go(Skill.CARRY)
            case Skill.CARRY if off < manner.aligned and back[2] < manner.funnel + 0.008:
                self._go(Skill.INSERT)
            case Skill.INSERT if back[2] < manner.deep:
                self._go(Skill.RELEASE)
            case Skill.INSERT if off > 0.010 or self._periods > 60:
                self._go(Skill.CARRY)
            case Skill.RELEASE if self._periods > 8:
                self._go(Skill.BACK)
            case _:
                pass

    def _move(self, seen: Readings) -> FloatArray:
        """Where the hand has to go, from where it is, along the world's axes [m]."""
        manner = self._manner
        blades, back = self._from_strap(seen), layout.from_stand(seen)[0]
        frame = layout.clamp_frame(seen)[0]
        aside = np.linalg.norm(blades[:2] * (0.4, 1.0))
        match self._skill:
            case Skill.REACH:
                grip = layout.grip_from_hand(seen)[0]
                straight = np.linalg.norm(grip[1:]) < 0.006 or abs(grip[0]) < 0.02
                return grip - (0.0 if straight else 0.055, 0.0, 0.0)
            case Skill.TAKE:
                return np.array([0.0, 0.0, 0.08 if self._periods > 8 else 0.0])
            case Skill.OVER:
                high = manner.over if blades[2] > 0.012 or aside < 0.003 else 0.03
                return frame @ np.array([*-blades[:2], high - blades[2]])
            case Skill.LOWER:
                return frame @ np.array([*-blades[:2], max(-0.005, -0.5 * blades[2] - 0.002)])
            case Skill.CUT | Skill.OPEN:
                return np.zeros(3)
            case Skill.RELEASE:  # down a little, so that the fingers come free of the flared ends
                return np.array([0.0, 0.0, -0.005 if self._periods < 5 else 0.0])
            case Skill.RAISE:
                return frame @ np.array([0.0, -blades[1], 0.06])
            case Skill.CARRY:
                return np.array([*-back[:2], manner.funnel - back[2]])
            case Skill.INSERT:
                return np.array([*-back[:2], -0.5 * back[2] - 0.002])
            case _:
                return -0.06 * seen.hand_rotation[0, RIGHT, :, 2]

    def _turn(self, seen: Readings) -> FloatArray:
        """How far the hand has to turn, rotation vector in the world frame [rad]."""
        if self._skill in (Skill.CUT, Skill.OPEN, Skill.RELEASE, Skill.BACK):
            return np.zeros(3)
        frame = layout.cutter_frame(seen)[0]
        goal = np.eye(3)
        if self._skill in (Skill.OVER, Skill.LOWER, Skill.RAISE):
            goal = layout.clamp_frame(seen)[0]
        if self._skill is Skill.REACH:
            frame = seen.hand_rotation[0, RIGHT] @ layout.HAND.T
        turn: FloatArray = 0.5 * np.cross(frame, goal, axis=0).sum(axis=1)
        return turn

    def _from_strap(self, seen: Readings) -> FloatArray:
        """The blades from the middle of the strap, in the strap's frame [m]."""
        frame = layout.clamp_frame(seen)[0]
        result: FloatArray = frame.T @ (layout.blades(seen) - layout.strap(seen))[0]
        return result

    def _go(self, skill: Skill) -> None:
        self._skill = skill
        self._periods = 0
