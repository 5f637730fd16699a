"""A physical reset: grasp the cube wherever it was left, and carry it to where it is to lie.

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

from .geometry import CUBE, cube_in_hand, cube_yaw, posture, quarter, quarter_turn

OPEN, CLOSED = -0.48, -1.0  # gripper actions: 5 mm wider than the cube on each side; shut
BESIDE = 0.005  # the cube's place in the open jaw, off the grasp point along the opening [m]
HIGH, LOW = 0.070, 0.0165  # heights of a hand that looks and carries, that grasps [m]
LAID = 0.0015  # height of the cube over the bench at which it is let go [m]
GAIN = 0.3  # share of what is left that the hand goes in a control period
SLOW = 0.4  # of a full action, going down
GLANCE = 6  # readings that are seen as one
PATIENCE = 60  # control periods of one skill
FELT = 2.0  # push from below at which a hand that goes down has touched something [N]
NEAR = 0.006  # height of the cube over the bench from which on it is only lowered [m]
HELD = 0.020  # of a cube in the fingers from the grasp point [m]
REACH = 0.012  # out of the hand's box, within which the cube can still be grasped [m]
# What is good enough to let it lie, and what the look allows: shift [m], turn [rad].
GOOD = (0.005, 0.08)
ALLOWED = (0.008, 0.15)


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


class PutBack(Restorer):
    """The cube to `target`: its x, y [m] and yaw [rad], then the joints' offsets at the start."""

    def __init__(self, actions: ActionSpec, target: FloatArray) -> None:
        """Put it there by `actions`."""
        self._at, self._yaw = target[:2], float(target[2])
        self.posture = posture(target[3:])
        arm = actions.arms[0]
        self._step, self._turn = arm.translation[0], arm.rotation[2]
        self._low, self._high = np.array(arm.low[:2]), np.array(arm.high[:2])
        self._seen: deque[Readings] = deque(maxlen=GLANCE)
        self._skill = Skill.FREE
        self._clearing = True
        self._periods = 0  # since the skill began
        self._wrist = np.pi / 2  # where joint 5 will be after the turn under way [rad]

    def clear(self, readings: Readings) -> Float32Array | None:
        """Put down what is held, open the jaw, raise the hand."""
        self._clearing = True
        return self._next(readings)

    def act(self, readings: Readings) -> Float32Array | None:
        """Look; while the cube lies elsewhere, carry it."""
        self._clearing = False
        return self._next(readings)

    def _next(self, readings: Readings) -> Float32Array | None:
        self._seen.append(readings)
        self._periods += 1
        offset = np.mean([cube_in_hand(r)[0] for r in self._seen], axis=0)
        hand = readings.hand_position[0, 0]
        cube = offset + hand if self._carried else self._cube()
        if not self._choose(readings, offset, cube):
            return None
        move, turn, jaw = self._move(readings, offset, cube)
        action = np.zeros(7)
        step = GAIN * move / self._step
        if move[2] < 0:
            step[2] = max(step[2], -SLOW)
        action[:3] = step / max(1.0, float(np.linalg.norm(step)))
        action[5] = np.clip(GAIN * turn / self._turn, -1, 1)
        action[6] = jaw
        return action.astype(np.float32)

    @property
    def _carried(self) -> bool:
        return self._skill in (Skill.PUT_DOWN, Skill.LIFT, Skill.CARRY, Skill.LOWER)

    def _cube(self) -> FloatArray:
        """Where the cube is that rests (3,) [m]."""
        result: FloatArray = np.mean([r.position[0, 0] for r in self._seen], axis=0)
        return result

    def _choose(self, readings: Readings, offset: FloatArray, cube: FloatArray) -> bool:
        """Go on to the next skill, or back to an earlier one; False once there is none."""
        height = float(readings.hand_position[0, 0, 2])
        away = float(np.linalg.norm(offset))
        lifted = cube[2] - CUBE / 2
        touched = -float(readings.wrist_force[0, 0, 2]) > FELT
        late = self._periods > PATIENCE
        match self._skill:
            case Skill.FREE if self._periods >= GLANCE:
                held = lifted > 0.010 and away < HELD
                self._go(Skill.PUT_DOWN if held else Skill.OPEN)
            case Skill.OPEN if self._periods > 12:
                self._go(Skill.RAISE)
            case Skill.RAISE if height > HIGH - 0.004:
                self._go(Skill.LOOK)
                return not self._clearing
            case Skill.LOOK if self._periods > GLANCE:
                if self._lies(GOOD) or not self._within_reach(cube):
                    return False
                self._go(Skill.REACH)
            case Skill.REACH if self._aligned(readings, offset):
                self._go(Skill.DESCEND)
            case Skill.DESCEND if height < LOW + 0.003:
                self._go(Skill.CLOSE)
            case Skill.CLOSE if self._periods > 10:
                self._go(Skill.LIFT)
            case Skill.LIFT if height > HIGH - 0.004:
                self._go(Skill.CARRY if away < HELD else Skill.OPEN)
            case Skill.CARRY | Skill.LOWER | Skill.PUT_DOWN if away > HELD:
                self._go(Skill.OPEN)  # lost it
            case Skill.CARRY if self._arrived(readings, cube):
                self._go(Skill.LOWER)
            case Skill.LOWER | Skill.PUT_DOWN if lifted < LAID or touched:
                self._go(Skill.OPEN)
            case Skill.DESCEND if touched:
                self._go(Skill.RAISE)
            case _ if late:
                self._go(Skill.OPEN)
            case _:
                pass
        return True

    def _move(
        self, readings: Readings, offset: FloatArray, cube: FloatArray
    ) -> tuple[FloatArray, float, float]:
        """Where the hand has to go [m], how far to turn [rad], and the gripper's action."""
        hand, opening = readings.hand_position[0, 0], readings.hand_rotation[0, 0, :, 0]
        height = float(hand[2])
        to_cube = cube - hand - BESIDE * opening
        to_place = self._at - cube[:2]
        match self._skill:
            case Skill.FREE:
                return np.zeros(3), 0.0, self._jaw(readings)
            case Skill.OPEN:
                near = self._periods > 6 and np.linalg.norm(offset) < HELD
                return np.array([*(to_cube[:2] * near), 0.0]), 0.0, OPEN
            case Skill.PUT_DOWN:
                return np.array([0.0, 0.0, CUBE / 2 - 0.002 - cube[2]]), 0.0, CLOSED
            case Skill.LOOK:
                return np.zeros(3), 0.0, OPEN
            case Skill.RAISE:
                return np.array([0.0, 0.0, HIGH + 0.002 - height]), 0.0, OPEN
            case Skill.REACH:
                turn = self._about(readings, self._grip_turn())
                return np.array([*to_cube[:2], HIGH - height]), turn, OPEN
            case Skill.DESCEND:
                turn = self._about(readings, self._grip_turn())
                return np.array([*to_cube[:2], LOW - height]), turn, OPEN
            case Skill.CLOSE:
                return np.array([0.0, 0.0, LOW - height]), 0.0, CLOSED
            case Skill.LIFT:
                return np.array([0.0, 0.0, HIGH + 0.002 - height]), 0.0, CLOSED
            case Skill.CARRY:
                turn = self._about(readings, self._place_turn())
                return np.array([*to_place, HIGH - height]), turn, CLOSED
            case Skill.LOWER:
                turn = self._about(readings, self._place_turn())
                lifted = cube[2] - CUBE / 2
                far = lifted > NEAR
                return np.array([*(to_place * far), -lifted - 0.002]), turn * far, CLOSED

    def _jaw(self, readings: Readings) -> float:
        """The gripper's action that leaves it as it is: shut if it is narrower than a cube."""
        return CLOSED if readings.gripper[0, 0] < 0.25 else OPEN

    def _aligned(self, readings: Readings, offset: FloatArray) -> bool:
        beside = offset - BESIDE * readings.hand_rotation[0, 0, :, 0]
        off = float(np.linalg.norm(beside[:2]))
        turn = self._about(readings, self._grip_turn())
        return self._periods > GLANCE and off < 0.003 and abs(turn) < 0.06

    def _arrived(self, readings: Readings, cube: FloatArray) -> bool:
        off = float(np.linalg.norm(self._at - cube[:2]))
        turn = self._about(readings, self._place_turn())
        return self._periods > GLANCE and off < 0.002 and abs(turn) < 0.03

    def _lies(self, allowed: tuple[float, float]) -> bool:
        off = float(np.linalg.norm(self._cube()[:2] - self._at))
        return off < allowed[0] and abs(self._place_turn()) < allowed[1]

    def _within_reach(self, cube: FloatArray) -> bool:
        return bool(((cube[:2] > self._low - REACH) & (cube[:2] < self._high + REACH)).all())

    def _grip_turn(self) -> float:
        """How far the hand has to turn to grip the cube, up to quarter turns [rad]."""
        turn = np.mean([quarter_turn(r)[0] for r in self._seen], axis=0)
        return float(np.arctan2(turn[1], turn[0])) / 4

    def _place_turn(self) -> float:
        """How far the cube has to turn, up to quarter turns [rad]."""
        turns = np.mean([np.exp(4j * cube_yaw(r)[0]) for r in self._seen])
        return quarter(self._yaw - float(np.angle(turns)) / 4)

    def _about(self, readings: Readings, turn: float) -> float:
        """Of all turns that differ by quarters, the one that keeps the wrist near its middle."""
        wrist = float(readings.joints[0, 0, 4])
        turn += np.pi / 2 * round((self._wrist - wrist - turn) / (np.pi / 2))
        self._wrist = wrist + turn
        return turn

    def in_place(self, readings: Sequence[Readings]) -> tuple[Predicate, ...]:
        """The cube lies flat where it is to lie, to some millimetres and degrees."""
        self._seen = deque(readings)
        cube = self._cube()
        upright = np.mean([abs(r.rotation[0, 0, 2]).max() for r in readings])
        tilt = float(np.degrees(np.arccos(min(1.0, upright))))
        off = 1e3 * float(np.linalg.norm(cube[:2] - self._at))
        turn = float(np.degrees(abs(self._place_turn())))
        high = 1e3 * abs(float(cube[2]) - CUBE / 2)
        return (
            Predicate("cube_off", off, 1e3 * ALLOWED[0], "mm", at_least=False),
            Predicate("cube_turned", turn, np.degrees(ALLOWED[1]), "deg", at_least=False),
            Predicate("cube_flat", tilt, 8.0, "deg", at_least=False),
            Predicate("cube_high", high, 6.0, "mm", at_least=False),
        )

    def _go(self, skill: Skill) -> None:
        self._skill = skill
        self._periods = 0
        if skill in (Skill.REACH, Skill.CARRY):
            self._wrist = np.pi / 2
