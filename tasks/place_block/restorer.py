"""A physical reset: grasp the block wherever it was left, and carry it to where it is to lie.

Skills after one another, as the demonstrator's, without a person's tremor and haste: each ends by
what is seen, and what went wrong is begun again from above.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from enum import Enum

import numpy as np

from enpire.environment import ActionSpec, Readings, Restorer
from enpire.types import Float32Array, FloatArray, Predicate

from .geometry import BLOCK, block_from_hand, block_yaw, quarter_turn

OPEN, CLOSED = 0.75, -1.0  # gripper actions: 17 mm wider than the block on each side; shut
HIGH, LOW = 0.080, 0.0315  # heights of a hand that looks and carries, that grasps [m]
LAID = 0.0020  # height of the block over the bench at which it is let go [m]
GAIN = 0.3  # share of what is left that the hand goes in a control period
SLOW = 0.6  # of a full action, going down
GLANCE = 6  # readings that are seen as one
STILL = 4  # control periods until a hand that went down rests, before it shuts
GRASPING = 14  # control periods until fingers have shut, or opened
PATIENCE = 80  # control periods of one skill
# Push from below, in the mean of two readings, at which a hand that goes down has touched [N].
FELT = 4.0
NEAR = 0.006  # height of the block over the bench from which on it is only lowered [m]
HELD = 0.022  # of a block in the fingers from the grasp point [m]
APART = 0.060  # opening of fingers that hold nothing: the block's diagonal is 57 mm [m]
REACH = 0.015  # out of the hand's box, within which the block can still be grasped [m]
# What is good enough to let it lie, and what the look allows: shift [m], turn [rad].
GOOD = (0.004, 0.08)
ALLOWED = (0.007, 0.15)
FLAT = (6.0, 4.0)  # what the look allows of its tilt [deg], and of its height over the bench [mm]


class Skill(Enum):
    """What the arm is doing."""

    FREE = "free"
    PUT_DOWN = "put down"
    RAISE = "raise"
    LOOK = "look"
    REACH = "reach"
    DESCEND = "descend"
    CLOSE = "close"
    LIFT = "lift"
    CARRY = "carry"
    LOWER = "lower"
    OPEN = "open"


CARRYING = (Skill.PUT_DOWN, Skill.LIFT, Skill.CARRY, Skill.LOWER)


class PutBack(Restorer):
    """The block to its x, y [m] and yaw [rad]."""

    def __init__(
        self, actions: ActionSpec, target: FloatArray, posture: tuple[FloatArray, FloatArray]
    ) -> None:
        """Put it there by `actions`; posture: joints and opening at the start."""
        self._at, self._yaw = target[:2], float(target[2])
        self.posture = posture
        arm = actions.arms[0]
        self._step, self._turn = np.array(arm.translation), arm.rotation[2]
        self._low, self._high = np.array(arm.low[:2]), np.array(arm.high[:2])
        self._seen: deque[Readings] = deque(maxlen=GLANCE)
        self._skill = Skill.FREE
        self._clearing = True
        self._periods = 0  # since the skill began

    def clear(self, readings: Readings) -> Float32Array | None:
        """Put down what is held, open the gripper, raise the hand."""
        self._clearing = True
        return self._next(readings)

    def act(self, readings: Readings) -> Float32Array | None:
        """Look; while the block lies elsewhere, carry it."""
        self._clearing = False
        return self._next(readings)

    def in_place(self, readings: Sequence[Readings]) -> tuple[Predicate, ...]:
        """The block lies flat where it is to lie, to some millimetres and degrees."""
        self._seen = deque(readings)
        block = self._block()
        upright = np.mean([abs(r.rotation[0, 0, 2]).max() for r in readings])
        tilt = float(np.degrees(np.arccos(min(1.0, upright))))
        off = 1e3 * float(np.linalg.norm(block[:2] - self._at))
        turn = float(np.degrees(abs(self._place_turn())))
        high = 1e3 * abs(float(block[2]) - BLOCK / 2)
        return (
            Predicate("block_off", off, 1e3 * ALLOWED[0], "mm", at_least=False),
            Predicate("block_turned", turn, np.degrees(ALLOWED[1]), "deg", at_least=False),
            Predicate("block_tilted", tilt, FLAT[0], "deg", at_least=False),
            Predicate("block_high", high, FLAT[1], "mm", at_least=False),
        )

    def _next(self, readings: Readings) -> Float32Array | None:
        self._seen.append(readings)
        self._periods += 1
        offset = np.mean([block_from_hand(r)[0] for r in self._seen], axis=0)
        hand = readings.hand_position[0, 0]
        block = offset + hand if self._skill in CARRYING else self._block()
        if not self._choose(readings, offset, block):
            return None
        move, turn = self._move(hand, block)
        step = GAIN * move / self._step
        step[2] = max(step[2], -SLOW * (1.0 if self._skill is Skill.DESCEND else 0.5))
        action = np.zeros(7)
        action[:3] = step / max(1.0, float(np.linalg.norm(step)))
        action[5] = np.clip(GAIN * turn / self._turn, -1, 1)
        action[6] = CLOSED if self._shut(readings) else OPEN
        return action.astype(np.float32)

    def _choose(self, readings: Readings, offset: FloatArray, block: FloatArray) -> bool:
        """Go on to the next skill, or back to an earlier one; False once there is none."""
        height = float(readings.hand_position[0, 0, 2])
        away = float(np.linalg.norm(offset))
        lifted = block[2] - BLOCK / 2
        pushed = [-float(r.wrist_force[0, 0, 2]) for r in list(self._seen)[-2:]]
        touched = np.mean(pushed) > FELT
        match self._skill:
            case Skill.FREE if self._periods >= GLANCE:
                held = lifted > 0.010 and away < HELD
                self._go(Skill.PUT_DOWN if held else Skill.OPEN)
            case Skill.OPEN if self._periods > GRASPING:
                self._go(Skill.RAISE)
            case Skill.RAISE if height > HIGH - 0.004:
                self._go(Skill.LOOK)
                return not self._clearing
            case Skill.LOOK if self._periods > GLANCE:
                if self._lies() or not self._within_reach(block):
                    return False
                self._go(Skill.REACH)
            case Skill.REACH if self._near(offset, self._grip_turn(), 0.003, 0.06):
                self._go(Skill.DESCEND)
            case Skill.DESCEND if height < LOW + 0.003:
                self._go(Skill.CLOSE)
            case Skill.DESCEND if touched:
                self._go(Skill.RAISE)
            case Skill.CLOSE if self._periods > GRASPING:
                self._go(Skill.LIFT)
            case Skill.LIFT if height > HIGH - 0.004:
                self._go(Skill.CARRY if away < HELD else Skill.OPEN)
            case Skill.CARRY | Skill.LOWER | Skill.PUT_DOWN if away > HELD:
                self._go(Skill.OPEN)  # lost it
            case Skill.CARRY if self._near(self._at - block[:2], self._place_turn(), 0.0015, 0.03):
                self._go(Skill.LOWER)
            case Skill.LOWER | Skill.PUT_DOWN if lifted < LAID or touched:
                self._go(Skill.OPEN)
            case _ if self._periods > PATIENCE:
                self._go(Skill.OPEN)
            case _:
                pass
        return True

    def _move(self, hand: FloatArray, block: FloatArray) -> tuple[FloatArray, float]:
        """Where the hand has to go [m], and how far to turn [rad]."""
        height = float(hand[2])
        to_block, to_place = (block - hand)[:2], self._at - block[:2]
        lifted = block[2] - BLOCK / 2
        match self._skill:
            case Skill.RAISE | Skill.LIFT:
                return np.array([0.0, 0.0, HIGH + 0.002 - height]), 0.0
            case Skill.REACH:
                return np.array([*to_block, HIGH - height]), self._grip_turn()
            case Skill.DESCEND:
                return np.array([*to_block, LOW - height]), self._grip_turn()
            case Skill.CARRY:
                return np.array([*to_place, HIGH - height]), self._place_turn()
            case Skill.LOWER:
                far = lifted > NEAR
                return np.array([*(to_place * far), -lifted - 0.001]), self._place_turn() * far
            case Skill.PUT_DOWN:
                return np.array([0.0, 0.0, -lifted - 0.001]), 0.0
            case _:
                return np.zeros(3), 0.0

    def _shut(self, readings: Readings) -> bool:
        """Whether the gripper is to be shut; at first it stays as it was left."""
        if self._skill is Skill.FREE:
            return bool(readings.gripper[0, 0] < APART)
        shutting = self._skill is Skill.CLOSE and self._periods > STILL
        return shutting or self._skill in CARRYING

    def _block(self) -> FloatArray:
        """Where the block is that rests (3,) [m]."""
        result: FloatArray = np.mean([r.position[0, 0] for r in self._seen], axis=0)
        return result

    def _near(self, off: FloatArray, turn: float, close: float, turned: float) -> bool:
        there = float(np.linalg.norm(off[:2])) < close and abs(turn) < turned
        return self._periods > GLANCE and there

    def _lies(self) -> bool:
        off = float(np.linalg.norm(self._block()[:2] - self._at))
        return off < GOOD[0] and abs(self._place_turn()) < GOOD[1]

    def _within_reach(self, block: FloatArray) -> bool:
        return bool(((block[:2] > self._low - REACH) & (block[:2] < self._high + REACH)).all())

    def _grip_turn(self) -> float:
        """How far the hand has to turn to grip the block, up to quarter turns [rad]."""
        turn = np.mean([quarter_turn(r)[0] for r in self._seen], axis=0)
        return float(np.arctan2(turn[1], turn[0])) / 4

    def _place_turn(self) -> float:
        """How far the block has to turn, up to quarter turns [rad]."""
        turns = np.mean([np.exp(4j * block_yaw(r)[0]) for r in self._seen])
        return float(np.angle(np.exp(4j * self._yaw) * np.conj(turns))) / 4

    def _go(self, skill: Skill) -> None:
        self._skill = skill
        self._periods = 0
