"""A physical reset: seat the peg, take it anew where it is to be held, pull it, hold it there.

The hole is the fixture in which the hand lets go of the peg and grasps it at another place. While a
policy runs the hand stays shut, so the peg is in the hand or in the hole. A peg that lies elsewhere
is for a person.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from enum import Enum

import numpy as np

from enpire.environment import ActionSpec, Readings, Restorer
from enpire.errors import ResetFailed
from enpire.types import Float32Array, FloatArray, Predicate

from .demonstrator import Teleoperator
from .frames import between, block_frame, hand_on, mouth, peg_pose, tip_in_hole

OPEN, CLOSED = 0.25, -1.0  # gripper actions: 13 mm off each face of the head; shut
# A seated peg cannot give way to a finger that snaps shut: the wrist felt up to 78 N.
CLOSING = 0.05  # of a gripper action in a control period: each finger closes at 25 mm/s
HIGH = 0.130  # of a hand whose fingers are over any peg that stands [m]
SEATED = 0.0285  # depth of the tip at which the peg stands by itself [m]
IN_HOLE = 0.002  # of the tip from the hole's axis, so that it is in the hole [m]
OUT = 0.005  # of the tip over the mouth, clear of it [m]
OVER = 0.010  # of the tip over the mouth, from where a peg is put in [m]
LEVEL = 0.05  # lean of a peg that is put in from there [rad]
LIFTING, TIRED = 150, 250  # control periods of lifting, and of putting in, until it is begun again
UPRIGHT = 0.7  # upward part of the axis of a peg that the hand gets hold of
ARRIVED = (0.0005, 0.008)  # of the hand from where it is to grasp, at most [m], [rad]
PULL = 0.0020  # out of the hole, in a control period [m]
NEARLY = (0.0008, 0.008)  # of the peg from its place, from where the hand goes to its posture
GAIN = 0.25  # share of what is left that the hand goes in a control period
CALM = 0.7  # of a full action
GLANCE = 6  # readings that are seen as one
PATIENCE = 400  # control periods of one skill
HELD = 15.0  # opening that a held peg leaves, at least [mm]
AJAR = 26.0  # opening from which on the fingers do not touch the head [mm]
STROKE = 80.0  # opening of the gripper action 1 [mm]
# Of the peg from its place, at the look: beside it [mm], turned [deg], higher or lower [mm].
ALLOWED = (2.0, 2.5, 2.0)


class Skill(Enum):
    """What the hand is doing."""

    SHUT = "shut"
    LIFT = "lift"
    SEAT = "seat"
    OPEN = "open"
    RAISE = "raise"
    REACH = "reach"
    DESCEND = "descend"
    GRASP = "grasp"
    PULL = "pull"
    CARRY = "carry"


class HoldAgain(Restorer):
    """The peg to its place over the hole, held as it was drawn.

    The hand goes back to its posture with the peg, so all is done before that.
    """

    def __init__(
        self,
        rng: np.random.Generator,
        actions: ActionSpec,
        peg: tuple[FloatArray, FloatArray],
        grasp: tuple[FloatArray, FloatArray],
        posture: tuple[FloatArray, FloatArray],
    ) -> None:
        """Bring it about.

        Args:
            rng: for the person's way of putting a peg in.
            actions: what the hand can do.
            peg: where the peg is to be, its tip (3,) [m] and frame (3, 3).
            grasp: of the hand, position (3,) [m] and frame (3, 3), peg frame.
            posture: joints and gripper at the start.
        """
        self.posture = posture
        self._at, self._frame = peg
        self._grasp = grasp
        self._rng = rng
        self._actions = actions
        self._seat = Teleoperator(rng, actions, tremor=0.0)
        self._weight: FloatArray = np.zeros(
            (1, 1, 3)
        )  # what the wrist felt of a peg in the air [N]
        self._seen: deque[Readings] = deque(maxlen=GLANCE)
        self._skill = Skill.SHUT
        self._periods = 0  # since the skill began
        self._jaw: float | None = None  # the gripper action of the period before

    def clear(self, readings: Readings) -> Float32Array | None:
        """Return the next action of all skills; None once the hand holds the peg at its place."""
        self._seen.append(readings)
        self._periods += 1
        if self._periods > PATIENCE:
            raise ResetFailed(f"{self._skill.value} does not come to an end")
        at, frame = peg_pose(self._seen)
        if frame[2, 2] < UPRIGHT:
            raise ResetFailed("the peg lies: put it into the hole by hand")
        hand = hand_on(at, frame, self._grasp)
        if self._jaw is None:  # a hand that holds the peg does not let go of it
            opening = 1e3 * float(readings.gripper[0, 0])
            self._jaw = 2.0 * opening / STROKE - 1.0 if opening > AJAR else CLOSED
        if not self._choose(readings, at, frame, hand):
            return None
        if self._skill is Skill.SEAT:
            felt = readings.wrist_force - self._weight
            return self._seat.act(replace(readings, wrist_force=felt))
        opened = self._skill in (Skill.OPEN, Skill.RAISE, Skill.REACH, Skill.DESCEND)
        self._jaw = OPEN if opened else max(CLOSED, self._jaw - CLOSING)
        action = np.zeros(7)
        action[:6] = self._twist(readings, at, frame, hand) / self._actions.scale[0]
        action[:6] *= CALM / max(float(abs(action[:6]).max()), CALM)
        action[6] = self._jaw
        return action.astype(np.float32)

    def act(self, readings: Readings) -> Float32Array | None:
        """Return None: nothing is left to do."""
        return None

    def in_place(self, readings: Sequence[Readings]) -> tuple[Predicate, ...]:
        """Return what must hold: the peg is over the hole as drawn, in the hand."""
        at, frame = peg_pose(readings)
        turned = float(np.degrees(np.linalg.norm(between(frame, self._frame))))
        off, opening = 1e3 * (at - self._at), 1e3 * float(readings[-1].gripper[0, 0])
        return (
            Predicate("peg_off", float(np.hypot(*off[:2])), ALLOWED[0], "mm", at_least=False),
            Predicate("peg_turned", turned, ALLOWED[1], "deg", at_least=False),
            Predicate("peg_hangs", float(abs(off[2])), ALLOWED[2], "mm", at_least=False),
            Predicate("peg_held", opening, HELD, "mm"),
        )

    def _choose(
        self,
        readings: Readings,
        at: FloatArray,
        frame: FloatArray,
        hand: tuple[FloatArray, FloatArray],
    ) -> bool:
        """Go on to the next skill; False once there is none."""
        tip = np.mean([tip_in_hole(r)[0] for r in self._seen], axis=0)
        stands = -tip[2] > SEATED and np.hypot(*tip[:2]) < IN_HOLE
        held = 1e3 * float(readings.gripper[0, 0]) > HELD
        match self._skill:
            case Skill.SHUT if self._periods > 12 and self._jaw == CLOSED:
                if not (stands or held):
                    raise ResetFailed(
                        "the hand does not hold the peg: put it into the hole by hand"
                    )
                self._go(Skill.OPEN if stands else Skill.LIFT)
            case Skill.LIFT if self._lifted(tip, frame, readings) or self._periods > LIFTING:
                self._weight = np.mean([r.wrist_force for r in self._seen], axis=0)
                self._seat = Teleoperator(self._rng, self._actions, tremor=0.0)
                self._go(Skill.SEAT)
            case Skill.SEAT if stands:
                self._go(Skill.OPEN)
            case Skill.SEAT if self._periods > TIRED:
                self._go(Skill.LIFT)
            case Skill.OPEN if self._periods > 12:
                self._go(Skill.RAISE)
            case Skill.RAISE if readings.hand_position[0, 0, 2] > HIGH - 0.004:
                self._go(Skill.REACH)
            case Skill.REACH | Skill.DESCEND if self._arrived(readings, hand):
                self._go(Skill.DESCEND if self._skill is Skill.REACH else Skill.GRASP)
            case Skill.GRASP if self._periods > 33:
                self._go(Skill.PULL if held else Skill.OPEN)
            case Skill.PULL if tip[2] > OUT:
                self._go(Skill.CARRY)
            case Skill.CARRY:
                turned = float(np.linalg.norm(between(frame, self._frame)))
                return float(np.linalg.norm(self._at - at)) > NEARLY[0] or turned > NEARLY[1]
            case _:
                pass
        return True

    def _twist(
        self,
        readings: Readings,
        at: FloatArray,
        frame: FloatArray,
        hand: tuple[FloatArray, FloatArray],
    ) -> FloatArray:
        """Return the hand's twist over one period, (6,) [m], [rad], world frame."""
        result: FloatArray = np.zeros(6)
        position, turned = readings.hand_position[0, 0], readings.hand_rotation[0, 0]
        match self._skill:
            case Skill.RAISE:
                result[2] = GAIN * (HIGH - position[2])
            case Skill.REACH | Skill.DESCEND:
                result[:3] = GAIN * (hand[0] - position)
                result[3:] = GAIN * between(turned, hand[1])
                if self._skill is Skill.REACH:
                    result[2] = GAIN * (HIGH - position[2])
            case Skill.LIFT:
                over = mouth(readings)[0] + np.array([0.0, 0.0, OVER])
                turn = between(frame, block_frame(readings)[0]) * (1.0, 1.0, 0.0)
                out = at[2] - mouth(readings)[0, 2] > OUT
                way = (over - at) * (out, out, 1.0)
                result = _carried(position - at, GAIN * way, GAIN * turn)
            case Skill.PULL:
                result[2] = PULL
            case Skill.CARRY:
                turn = between(frame, self._frame)
                result = _carried(position - at, GAIN * (self._at - at), GAIN * turn)
            case _:
                pass
        return result

    @staticmethod
    def _lifted(tip: FloatArray, frame: FloatArray, readings: Readings) -> bool:
        """Whether the peg is clear of the hole, over it, and upright."""
        lean = np.linalg.norm(np.cross(frame[:, 2], block_frame(readings)[0, :, 2]))
        return bool(tip[2] > OUT and np.hypot(*tip[:2]) < OUT and lean < LEVEL)

    def _arrived(self, readings: Readings, hand: tuple[FloatArray, FloatArray]) -> bool:
        """Whether the hand is where it grasps, or above it."""
        off = hand[0] - readings.hand_position[0, 0]
        if self._skill is Skill.REACH:
            off[2] = 0.0
        turn = np.linalg.norm(between(readings.hand_rotation[0, 0], hand[1]))
        return bool(np.linalg.norm(off) < ARRIVED[0] and turn < ARRIVED[1])

    def _go(self, skill: Skill) -> None:
        self._skill = skill
        self._periods = 0


def _carried(lever: FloatArray, move: FloatArray, turn: FloatArray) -> FloatArray:
    """Return the twist (6,) of a hand, `lever` (3,) from the tip, that moves the peg so."""
    return np.concatenate([move + np.cross(turn, lever), turn])
