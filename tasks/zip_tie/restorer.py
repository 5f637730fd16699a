"""A physical reset: have the tie presented, take it at both ends, bring it round the bundle.

Whatever a policy left, the hands let go and draw back, and one that has sunk beside the bundle's
stand is lifted out by its shoulder; the fixture lifts the pawl, and draws the
tail out of the head and both before the bundle's free end, the loop hanging between them. There the
hands take head and tail, each as at the start, and carry them along the bundle, which so comes to
lie in the loop. No hand has to reach the bench, nor to pull.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from enpire.environment import ActionSpec, Readings, Restorer
from enpire.types import Float32Array, FloatArray, Predicate

from .fixture import LINES, PAWL, PRESENTED
from .frames import HEAD, SHOULDERS, Poses, away, both_ends, hand_rotation, within
from .strap import TAIL
from .verify import CLOSED as CLOSED_LOOP
from .verify import turns

BUNDLE = 2  # its place among what is tracked
SHUT = 0.0  # gripper setpoint of the start [m]
FULL = 0.075  # opening of a gripper [m]
LOOSE, WIDER = 0.022, 0.004  # openings: that lets go; that a gripper is opened by in a period [m]
TAKING, CLOSED = 0.07, -1.0  # gripper actions: 40 mm open; shut
ABOUT = np.array([-0.68, -0.92])  # the same, about head and tail, to still them: 12 and 3 mm
SIDE = np.array([[-0.3, 1.0, 0.0], [-0.3, -1.0, 0.0]])  # where hands that let go move
BACK = 0.06  # of a hand that waits from where it takes the tie, against its approach [m]
GAIN = 0.3  # share of what is left that a hand goes in a control period
GLANCE = 25  # readings that are seen as one: the tie swings where it is presented
FREE, SPREAD = 10, 20  # periods until fingers have let go, and until hands are apart
ABREAST = 0.035  # a hand so near to the bundle's axis may have a finger behind it [m]
GENTLY = 0.2  # of its pace, at which such a hand moves: a finger that catches is felt in time
CAUGHT = 3.0  # of a wrist, at which a hand goes back along its fingers, and opens [N]
WIDE = 0.06  # opening of such a hand, at most [m]
SUNK, RISEN = 0.153, 0.205  # a hand so low is beside the stand; so high its way is free [m]
RISE, LIFT = 80, 0.02  # periods of rising at most; of an arm in its shoulder in a period [rad]
WIND, FALL = 65, 20  # periods in which the lines are wound in, and lie slack before another time
REACH, CALM, CLOSE, CARRY = 120, 12, 14, 120  # periods: at most, of the fingers, at most
PRESENT = 0.015  # of head and tail from where they are presented [m]
HANGS = 0.85  # cosine of the angle by which head and tail may be turned there
GRASPING = 0.001, 0.015  # of a hand from its grasp, to close [m], [rad]
NEAR = 0.004, 0.06  # of a hand from its start, to go straight to the posture [m], [rad]
OFF, ASKEW = (6.0, 8.0), 14.0  # of head and tail in their hands, at the look [mm], [deg]


@dataclass(frozen=True, slots=True)
class Start:
    """Joints (arms, dof) [rad], and the poses of hands, head and held tail in the world.

    offsets: of the hands from these, in their frames [m].
    """

    joints: FloatArray
    hands: Sequence[FloatArray]
    hand_rotations: Sequence[FloatArray]
    objects: tuple[FloatArray, FloatArray]
    object_rotations: tuple[FloatArray, FloatArray]
    offsets: tuple[FloatArray, FloatArray]


class Skill(Enum):
    """What the arms are doing."""

    FREE = "free"
    SPREAD = "spread"
    RISE = "rise"
    WIND = "wind"
    DROP = "drop"
    REACH = "reach"
    CLOSE = "close"
    CARRY = "carry"


def fetching() -> Poses:
    """Poses of hands that wait for the tie to be presented."""
    turned = [hand_rotation(arm) for arm in (0, 1)]
    return [at - BACK * turn[:, 2] for at, turn in zip(PRESENTED, turned, strict=True)], turned


class PutBack(Restorer):
    """The tie into both hands, and these to the start."""

    def __init__(self, actions: ActionSpec, fetching: FloatArray, start: Start) -> None:
        """Wait for the tie with joints `fetching` (arms, dof) [rad]."""
        self._start = start
        self._fetching = fetching
        self.posture = start.joints, np.full(2, SHUT)
        self._scale = actions.scale
        self._seen: deque[Readings] = deque(maxlen=GLANCE)
        self._skill = Skill.FREE
        self._periods = 0  # since the skill began
        self._spread = 0.0  # periods at full pace for which hands have moved apart
        self._sunk = np.zeros(2, np.bool_)  # hands that are to be lifted
        self._taking: Poses = start.hands, start.hand_rotations

    def clear(self, readings: Readings) -> Float32Array | None:
        """Let go, move the hands apart, lift those that have sunk; then to where they wait."""
        self.fixture = (PAWL,)
        self._periods += 1
        opening, height = readings.gripper[0], readings.hand_position[0, :, 2]
        move, rotate, wide = np.zeros((2, 3)), np.zeros((2, 3)), np.full(2, LOOSE)
        if self._skill is Skill.FREE:
            if self._periods > FREE:
                self._go(Skill.SPREAD)
        elif self._skill is Skill.SPREAD:
            caught = np.linalg.norm(readings.wrist_force[0], axis=1) > CAUGHT
            wide = np.where(caught, WIDE, LOOSE)
            pace = GENTLY if (caught | self._abreast(readings)).any() else 1.0
            back = -readings.hand_rotation[0, :, :, 2]
            move = pace * self._scale[:, :3] * np.where(caught[:, None], back, SIDE)
            self._spread += pace
            if self._spread > SPREAD:
                self._sunk = height < SUNK
                self._go(Skill.RISE)
        if self._skill is Skill.RISE:
            rising = self._sunk & (height < RISEN)
            if not rising.any() or self._periods > RISE:
                self.posture = self._fetching, opening.copy()
                self._go(Skill.WIND)
                return None
            move, rotate = (rising[:, None] * part for part in _lifted(readings))
        wider = np.maximum(opening, np.minimum(opening + WIDER, wide))
        return self._action(move, rotate, 2 * wider / FULL - 1)

    def act(self, readings: Readings) -> Float32Array | None:
        """Have it presented, take it, carry it."""
        self._seen.append(readings)
        self._periods += 1
        move, rotate, jaws = np.zeros((2, 3)), np.zeros((2, 3)), np.full(2, CLOSED)
        match self._skill:
            case Skill.WIND:
                jaws[:] = TAKING
                self.fixture = (PAWL, LINES)
                if self._periods > WIND:
                    self._taking = self._grasps()
                    self._go(Skill.REACH if self._presented() else Skill.DROP)
            case Skill.DROP:
                jaws[:] = TAKING
                self.fixture = (PAWL,)
                if self._periods > FALL:
                    self._go(Skill.WIND)
            case Skill.REACH:
                jaws[:] = TAKING
                off, turn = away(readings, self._taking)
                move, rotate = GAIN * off, GAIN * turn
                if within(off, turn, GRASPING) or self._periods > REACH:
                    self._go(Skill.CLOSE)
            case Skill.CLOSE:
                if self._periods < CALM:
                    jaws[:] = ABOUT
                if self._periods > CALM + CLOSE:
                    self.fixture = ()
                    self._go(Skill.CARRY)
            case Skill.CARRY:
                off, turn = away(readings, (self._start.hands, self._start.hand_rotations))
                move, rotate = GAIN * off, GAIN * turn
                if within(off, turn, NEAR) or self._periods > CARRY:
                    self.posture = self._start.joints, np.full(2, SHUT)
                    return None
            case _:
                pass
        return self._action(move, rotate, jaws)

    def in_place(self, readings: Sequence[Readings]) -> tuple[Predicate, ...]:
        """Head and tail are in the hands as they are to be held, the loop round the bundle."""
        self._seen = deque(readings)
        predicates: list[Predicate] = []
        start = self._start
        names, found = ("head", "tail"), both_ends(self._seen)
        held = zip(names, found, start.objects, start.object_rotations, strict=True)
        for arm, (name, (at, frame), wanted, turned) in enumerate(held):
            off = turned.T @ (at - wanted)
            across = 1e3 * float(np.linalg.norm(off[:2]))  # the fingers centre it in its height
            askew = float(np.degrees(np.arccos(min(1.0, frame[:, 2] @ turned[:, 2]))))
            predicates += [
                Predicate(f"{name}_off", across, OFF[arm], "mm", at_least=False),
                Predicate(f"{name}_askew", askew, ASKEW, "deg", at_least=False),
            ]
        loop = np.median([turns(r.position[0], r.rotation[0]) for r in readings])
        return (*predicates, Predicate("loop_closed", float(loop), CLOSED_LOOP, "turns"))

    def _abreast(self, readings: Readings) -> NDArray[np.bool_]:
        """Which hands are so near to the bundle that a finger may be behind it, (arms,)."""
        off = readings.hand_position[0] - readings.position[0, BUNDLE]
        near: NDArray[np.bool_] = np.linalg.norm(off[:, 1:], axis=1) < ABREAST
        return near

    def _grasps(self) -> Poses:
        """Of hands that hold head and tail as they are to be held.

        A strap bends in its plane only: at the start that runs through both hands, whichever way
        these are turned, and so they take it.
        """
        start, objects = self._start, both_ends(self._seen)
        held = start.objects[1] - TAIL[0] / 2 * start.object_rotations[1][:, 0]  # the link's begin
        plane = _heading(start.objects[0] - held)
        hands, frames = [], []
        both = zip(objects, start.object_rotations, start.offsets, strict=True)
        for arm, ((at, frame), turned, offset) in enumerate(both):
            about = Rotation.from_euler("z", _heading(turned[:, 0]) - plane).as_matrix()
            hands.append(at + frame @ offset)
            frames.append(frame @ about @ HEAD.T @ hand_rotation(arm))
        return hands, frames

    def _presented(self) -> bool:
        """Whether head and tail are where the lines draw them, and the loop hangs."""
        objects = both_ends(self._seen)
        off = np.linalg.norm([at for at, _ in objects] - PRESENTED, axis=1).max()
        turned = min(float(np.diag(HEAD.T @ frame).min()) for _, frame in objects)
        return bool(off < PRESENT and turned > HANGS)

    def _action(self, move: FloatArray, rotate: FloatArray, jaws: FloatArray) -> Float32Array:
        """Of moves and turns in a period, (arms, 3) [m], [rad]; none more than a full action."""
        twist = np.concatenate([move, rotate], axis=1) / self._scale
        twist /= np.maximum(1.0, abs(twist).max(axis=1, keepdims=True))
        return np.concatenate([twist, jaws[:, None]], axis=1).ravel().astype(np.float32)

    def _go(self, skill: Skill) -> None:
        self._skill = skill
        self._periods = 0


def _lifted(readings: Readings) -> tuple[FloatArray, FloatArray]:
    """How hands move and turn, each (arms, 3) [m], [rad], if their arms rise in the shoulder alone.

    So they do at any joint's stop; one that is told to keep its tilt as it rises may sink there.
    """
    arms = readings.hand_position[0] - SHOULDERS
    turn = np.cross(arms, (0.0, 0.0, LIFT)) / np.linalg.norm(arms[:, :2], axis=1, keepdims=True)
    return np.cross(turn, arms), turn


def _heading(along: FloatArray) -> float:
    """Of a direction, from where the tail is fed, about the vertical [rad]."""
    return float(np.arctan2(-along[0], along[1]))
