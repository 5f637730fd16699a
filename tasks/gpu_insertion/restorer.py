"""A physical reset: seat the card, take it anew where it is to be held, pull it, hold it there.

The slot is the fixture in which both hands let go of the card and grasp it at other places. On the
way there they unbend: a policy twists them on the card, until a wrist is at its stop. A hand that
has lost the card takes it again while the other holds it in the air: its end sinks by 0.05 rad in a
second, no more. A card that lies is beyond them: it is flat on the board, and wider than a jaw
opens.
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
from .frames import (
    aside,
    between,
    card_pose,
    depth,
    ends_in_slot,
    hands_on,
    slot_frame,
    together,
)

OPEN, CLOSED = 0.0, -1.0  # gripper actions: 13 mm off each face of the card; shut
HIGH = 0.157  # of hands over any card that stands [m]
STANDS = 0.002  # depth of the edge at which a card does not fall when it is let go of [m]
IN_SLOT = 0.004  # of either end beside its place in the slot, so that the edge is in it [m]
SEATED = 0.0070  # depth of the edge at which it stands by itself [m]
OUT = 0.006  # of the edge's lower end over the mouth, clear of it [m]
OVER = 0.012  # of the edge over the mouth, from where a card is seated [m]
LEVEL = 0.05  # of a card that is seated from there [rad]
LIFTING = 100  # control periods after which hands go on that lift a card no further
TIRED = 75  # control periods of seating after which it is begun again from above
UPRIGHT = 0.75  # upward part of the axis of a card that hands get hold of
ARRIVED = (0.0003, 0.010)  # of a hand from where it is to grasp, at most [m], [rad]
PULL = 0.0015  # out of the slot, in a control period [m]
NEARLY = (0.001, 0.012)  # of the card from its place, from where hands go to their posture
# What hands creep apart on a card that they hold, until a policy sees them: pads give [m].
CREEP = 0.00015
GAIN = 0.25  # share of what is left that hands go in a control period
CALM = 0.7  # of a full action
GLANCE = 6  # readings that are seen as one
PATIENCE = 250  # control periods of one skill
HELD = 9.0  # opening that a held card leaves, at least [mm]
# Of the card from its place, at the look: beside it [mm], turned [deg], higher or lower [mm]. Arms
# are soft, and their gravity compensation knows nothing of the card: one of 0.75 kg hangs 5 mm
# lower than one of 0.5 kg where servos are weak, after a fast reset too.
ALLOWED = (3.5, 2.5, 7.0)


class Skill(Enum):
    """What the hands are doing."""

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
    """The card to its place over the slot, held as it was drawn.

    The hands go back to their posture with the card between them, so all is done before that.
    """

    def __init__(
        self,
        rng: np.random.Generator,
        actions: ActionSpec,
        card: tuple[FloatArray, FloatArray],
        grasps: tuple[FloatArray, FloatArray],
        posture: tuple[FloatArray, FloatArray],
        bearing: FloatArray,
    ) -> None:
        """Bring it about.

        Args:
            rng: for the person's way of seating a card.
            actions: what both hands can do.
            card: where the card is to be, its position [m] and frame.
            grasps: of both hands, positions (2, 3) [m] and frames (2, 3, 3), card frame.
            posture: joints and grippers at the start.
            bearing: setpoints ahead of the joints there, which bear the card, (2, dof) [rad].
        """
        self.posture, self.bearing = posture, bearing
        self._at, self._frame = card
        self._grasps = grasps[0] - ((0.0, CREEP, 0.0), (0.0, -CREEP, 0.0)), grasps[1]
        self._rng = rng
        self._actions = actions
        self._seat = Teleoperator(rng, actions, tremor=0.0)
        self._weight: FloatArray = np.zeros((1, 2, 3))  # what wrists felt of a card in the air [N]
        self._seen: deque[Readings] = deque(maxlen=GLANCE)
        self._skill = Skill.SHUT
        self._periods = 0  # since the skill began
        self._free = np.ones(2, dtype=bool)  # hands that let go and take the card anew

    def clear(self, readings: Readings) -> Float32Array | None:
        """All skills; None once both hands hold the card at its place."""
        self._seen.append(readings)
        self._periods += 1
        if self._periods > PATIENCE:
            raise ResetFailed(f"{self._skill.value} does not come to an end")
        at, frame = card_pose(self._seen)
        if frame[2, 2] < UPRIGHT:
            raise ResetFailed("the card lies on the board: set it into the slot by hand")
        hands = hands_on(at, frame, self._grasps)
        if not self._choose(readings, at, frame, hands):
            return None
        if self._skill is Skill.SEAT:
            felt = readings.wrist_force - self._weight
            return self._seat.act(replace(readings, wrist_force=felt))
        action = np.zeros((2, 7))
        action[:, :6] = self._twists(readings, at, frame, hands) / self._actions.scale
        action[:, :6] *= CALM / np.maximum(abs(action[:, :6]).max(), CALM)
        opened = self._skill in (Skill.OPEN, Skill.RAISE, Skill.REACH, Skill.DESCEND)
        action[:, 6] = np.where(opened & self._free, OPEN, CLOSED)
        return action.ravel().astype(np.float32)

    def act(self, readings: Readings) -> Float32Array | None:
        """Nothing is left to do."""
        return None

    def in_place(self, readings: Sequence[Readings]) -> tuple[Predicate, ...]:
        """The card is over the slot as drawn, in both hands."""
        at, frame = card_pose(readings)
        turned = np.linalg.norm(between(frame, self._frame))
        off, opening = 1e3 * (at - self._at), readings[-1].gripper[0].min()
        return (
            Predicate("card_off", float(np.hypot(*off[:2])), ALLOWED[0], "mm", at_least=False),
            Predicate("card_turned", np.degrees(turned), ALLOWED[1], "deg", at_least=False),
            Predicate("card_hangs", float(abs(off[2])), ALLOWED[2], "mm", at_least=False),
            Predicate("card_held", 1e3 * float(opening), HELD, "mm"),
        )

    def _choose(
        self,
        readings: Readings,
        at: FloatArray,
        frame: FloatArray,
        hands: tuple[FloatArray, FloatArray],
    ) -> bool:
        """Go on to the next skill; False once there is none."""
        ends = ends_in_slot(readings)
        deep = float(depth(ends)[0]) if aside(ends)[0] < IN_SLOT else 0.0
        hold = 1e3 * readings.gripper[0] > HELD
        match self._skill:
            case Skill.SHUT if self._periods > 12:
                stands = deep > SEATED or (deep > STANDS and not hold.all())
                self._free = np.ones(2, dtype=bool) if stands else ~hold
                self._go(Skill.OPEN if self._free.all() else Skill.LIFT)
            case Skill.GRASP if self._periods > 12:
                self._free = ~hold
                held = Skill.PULL if deep > STANDS else Skill.LIFT
                self._go(held if hold.all() else Skill.OPEN)
            case Skill.LIFT if self._lifted(readings, frame) or self._periods > LIFTING:
                self._weight = np.mean([r.wrist_force for r in self._seen], axis=0)
                self._seat = Teleoperator(self._rng, self._actions, tremor=0.0)
                self._go(Skill.OPEN if self._free.any() else Skill.SEAT)
            case Skill.SEAT if deep > SEATED:
                self._free[:] = True
                self._go(Skill.OPEN)
            case Skill.SEAT if self._periods > TIRED:
                self._go(Skill.LIFT)
            case Skill.OPEN if self._periods > 10:
                self._go(Skill.RAISE)
            case Skill.RAISE if readings.hand_position[0, self._free, 2].min() > HIGH - 0.004:
                self._go(Skill.REACH)
            case Skill.REACH if self._arrived(readings, hands):
                self._go(Skill.DESCEND)
            case Skill.DESCEND if self._arrived(readings, hands):
                self._go(Skill.GRASP)
            case Skill.PULL if ends[0, :, 2].min() > OUT:
                self._go(Skill.CARRY)
            case Skill.CARRY:
                turned = float(np.linalg.norm(between(frame, self._frame)))
                return float(np.linalg.norm(self._at - at)) > NEARLY[0] or turned > NEARLY[1]
            case _:
                pass
        return True

    def _twists(
        self,
        readings: Readings,
        at: FloatArray,
        frame: FloatArray,
        hands: tuple[FloatArray, FloatArray],
    ) -> FloatArray:
        """Of both hands over one period, (2, 6) [m], [rad], world frame."""
        result = np.zeros((2, 6))
        position, frames = readings.hand_position[0], readings.hand_rotation[0]
        match self._skill:
            case Skill.RAISE:
                result[:, 2] = GAIN * (HIGH - position[:, 2])
                result[~self._free] = 0.0
            case Skill.REACH | Skill.DESCEND:
                result[:, :3] = GAIN * (hands[0] - position)
                result[:, 3:] = [GAIN * between(*two) for two in zip(frames, hands[1], strict=True)]
                if self._skill is Skill.REACH:
                    result[:, 2] = GAIN * (HIGH - position[:, 2])
                result[~self._free] = 0.0
            case Skill.LIFT:
                slot, ends = slot_frame(readings)[0], ends_in_slot(readings)[0]
                way = np.array([0.0, 0.0, OVER]) - ends.mean(axis=0)
                way[:2] *= ends[:, 2].min() > OUT
                turn = between(frame, slot) * (not self._free.any())
                result = GAIN * together(position - at, slot @ way, turn)
                unbent = slot @ self._grasps[1]
                result[:, 3:] = [GAIN * between(*two) for two in zip(frames, unbent, strict=True)]
                result[self._free] = 0.0
            case Skill.PULL:
                result = together(position - at, np.array([0.0, 0.0, PULL]), np.zeros(3))
            case Skill.CARRY:
                turn = between(frame, self._frame)
                result = GAIN * together(position - at, self._at - at, turn)
            case _:
                pass
        return result

    @staticmethod
    def _lifted(readings: Readings, frame: FloatArray) -> bool:
        """Whether the card is clear of the slot, and level."""
        lowest = float(ends_in_slot(readings)[0, :, 2].min())
        off = float(np.linalg.norm(between(frame, slot_frame(readings)[0])))
        return lowest > OUT and off < LEVEL

    def _arrived(self, readings: Readings, hands: tuple[FloatArray, FloatArray]) -> bool:
        """Whether free hands are where they grasp, or above it."""
        for arm in np.flatnonzero(self._free):
            off = hands[0][arm] - readings.hand_position[0, arm]
            if self._skill is Skill.REACH:
                off[2] = 0.0
            turn = between(readings.hand_rotation[0, arm], hands[1][arm])
            if np.linalg.norm(off) > ARRIVED[0] or np.linalg.norm(turn) > ARRIVED[1]:
                return False
        return True

    def _go(self, skill: Skill) -> None:
        self._skill = skill
        self._periods = 0
