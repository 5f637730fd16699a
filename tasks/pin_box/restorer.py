"""A physical reset: every pin into its hole, then the last one out again, held as it was drawn.

The holes are the fixture in which a pin can be taken exactly as it is to be held. A pin that lies
is taken hold of as it can be, and if it cannot be seated so, laid down anew in front of the box.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from enum import Enum

import numpy as np
from scipy.spatial.transform import Rotation

from enpire.environment import ActionSpec, Readings, Restorer
from enpire.types import Float32Array, FloatArray, Predicate

from . import demonstrator, nudging
from .demonstrator import Teleoperator
from .frames import BOX_AT, hand_rotation, in_holes
from .glances import GLANCE, Glances
from .grasping import RETREAT, Grasp, palm_height, plan
from .parts import DEPTH, HOLES, PIN_LENGTH, PIN_RADIUS, PINS, STAGE, TRAY, in_tray
from .reach import bent, eased, joints, reached, stops_near
from .start import Start

OPENS = 0.075  # of the gripper at most [m]
AJAR, OPEN, CLOSED = -0.627, -0.4, -1.0  # gripper actions: 14 mm; 22 mm; shut
FREE = 0.255  # height of a hand that meets nothing: below, it goes as slowly as near a pin [m]
SAFE = 0.275  # height of a hand that clears, with a pin in it, whatever stands in the box [m]
GAIN = 0.3  # share of what is left that the hand goes in a control period
# So much of full speed is added to a hand's turn in a control period, at most. The wrist turns at
# once, and the arm, which is to keep the fingers in their place meanwhile, lags behind.
GROWS = 0.25
GENTLE, SLOW = 0.5, 0.3  # of a full action: near a pin; where it is to touch something
# The same with the last pin in the fingers. What is held slides outwards on the pads while an arm
# swings, by 0.1 mm on the way to the start at GENTLE: the more the faster it is gone.
EASY = 0.12
BENDING = 0.02  # of a turn that unbends a wrist, still to come [rad]
HALF_TURN = 2.0  # of joint 6, from which on the hand turns about its own axis first [rad]
# Control periods: of one skill, of seating a pin, of waiting until all pins rest.
PATIENCE, SEATING, WAITING = 120, 600, 250
FELT = 3.0  # at the wrist, from which on a hand has run into something [N]
STUCK = 4.0  # the same of one that pushes: it stands still; from here on it turns less [N]
# A soft arm that pulls with 5 N is stretched by some 25 mm, and springs away when it comes free. So
# a hand that is held back gives up its lead, by this share in a period, before it lets go.
RELAXES, RELAXING = 0.4, 4
HOOKED = 0.010  # of a hand from where it carries a pin, when it has had its time [m]
HELD, THIN = 0.016, 0.0025  # of a held pin from the grasp point; opening that it leaves [m]
SEATED, ASIDE, UPRIGHT = (
    0.0128,
    0.0025,
    0.10,
)  # of a seated pin: depth, off its axis [m]; tilt [rad]
IN_HOLE = 0.003  # depth from which on a pin is pushed home where it stands [m]
# Of the palm over the bristles [m]: with less it meets the tray's rim before the pin lies; with
# less it goes so slowly that it strikes nothing.
PALM_CLEAR, PALM_NEAR = 0.003, 0.015
LAID, LOW = 0.0005, 0.008  # of a pin over the bristles: it is down; it is lowered slowly [m]
RISE = 0.15  # of a hand that goes back from a pin that stands: so much of the way is up
BACK = 0.040  # that an open hand goes back before it is raised [m]
PULLED = 0.009  # of the last pin over the face, before it is carried to the start [m]
PULL_UP = np.array([0.0, 0.0, DEPTH + PULLED + 0.002])  # for the hand to get it there [m]
OVER = np.array([0.0, 0.0, 0.03])  # of a pin that is brought over its hole [m]
NEIGHBOUR = 1.0  # yaw of a hand that seats a pin behind others [rad]
SPOTS = ((-0.13, 0.05), (-0.13, -0.05), (-0.13, 0.0))  # in front of the box, to lay a pin down [m]
ROOM = 0.035  # from there to other pins [m]
NEAR, STILL = 0.0008, 0.00015  # of a hand from a grasp; from that of the last pin [m]
THERE = (0.001, 0.01)  # of a hand from the start [m], [rad]
KEPT = (0.002, 0.08)  # of the pin in the hand, off how it is to be held [m], [rad]
ALLOWED = (4.0, 6.0)  # of the last pin, at the look [mm], [deg]


class Skill(Enum):
    """What the arm is doing."""

    RELEASE = "release"
    BACK = "back"
    RAISE = "raise"
    TURN = "turn"
    LOOK = "look"
    OVER = "over"
    BEFORE = "before"
    REACH = "reach"
    CLOSE = "close"
    LIFT = "lift"
    CARRY = "carry"
    SEAT = "seat"
    LAY = "lay"
    PULL = "pull"
    HOLD = "hold"
    BESIDE = "beside"
    DOWN = "down"
    NUDGE = "nudge"


class HoldAgain(Restorer):
    """The pins to their holes, and the last one over its own as `start` says."""

    def __init__(
        self,
        rng: np.random.Generator,
        actions: ActionSpec,
        start: Start,
        posture: tuple[FloatArray, FloatArray],
    ) -> None:
        """Bring it about by `actions`; posture: of the start, with an open hand."""
        self._rng, self._actions, self._start = rng, actions, start
        self._step, self._turn = actions.scale[0, 0], actions.scale[0, 3]
        above = np.array([*start.hand[:2], SAFE])
        self._above = joints(above, start.hand_frame)[None], posture[1]
        self.posture = self._shut = posture[0], np.zeros(1)
        # How the last pin is to be held: its end and its axis in the grasp frame.
        self._end = start.hand_frame.T @ (start.end - start.hand)
        self._axis = start.hand_frame.T @ start.pin_frame[:, 2]
        self._seen = Glances()
        self._skill = Skill.RELEASE
        self._periods = 0  # since the skill began
        self._turned = 0.0  # how fast the hand turned in the period before, of a full action
        self._clearing = True
        self._fist = False  # whether the hand is shut when it is raised
        self._failed = 0
        self._pin, self._last = 0, False  # the pin in question; whether it is taken out again
        self._grasp = Grasp(start.hand, start.hand_frame, 0.0, seats=False)
        self._from = start.hand  # where the hand was when the skill began
        self._frame = start.hand_frame
        self._nudge = nudging.Nudge(start.hand, start.hand, start.hand_frame)
        self._lies = start.hand, start.hand_frame  # of a hand that lays a pin down
        self._person = Teleoperator(rng, actions, tremor=0.0)

    def clear(self, readings: Readings) -> Float32Array | None:
        """Let go, go back along the fingers, and up; then the tray may be moved."""
        action = self._next(readings)
        if action is None:
            self.fixture = (STAGE,)
        return action

    def act(self, readings: Readings) -> Float32Array | None:
        """Seat what is not seated, take the last pin out."""
        self._clearing = False
        self.fixture = ()
        return self._next(readings)

    def in_place(self, readings: Sequence[Readings]) -> tuple[Predicate, ...]:
        """All pins but the last are seated, and that is where it is to be."""
        seen = Glances(readings, None)
        ends, tilts = seen.ends(), seen.tilts()
        depth = -ends[:-1, 2].max()
        off = np.linalg.norm(ends[:-1, :2], axis=1).max()
        end, axis = seen.pin(PINS - 1)
        lean = math.acos(min(1.0, float(axis @ self._start.pin_frame[:, 2])))
        return (
            Predicate("others_seated", 1e3 * float(depth), 1e3 * SEATED, "mm"),
            Predicate("others_in_line", 1e3 * float(off), 1e3 * ASIDE, "mm", at_least=False),
            Predicate("others_upright", float(tilts[:-1].max()), UPRIGHT, "rad", at_least=False),
            Predicate(
                "pin_off",
                1e3 * float(np.linalg.norm(end - self._start.end)),
                ALLOWED[0],
                "mm",
                at_least=False,
            ),
            Predicate("pin_leans", math.degrees(lean), ALLOWED[1], "deg", at_least=False),
        )

    def _held(self, readings: Readings) -> bool:
        """Whether the pin in question is in the fingers."""
        end, axis = self._now(readings)
        off = end + self._grasp.along * axis - readings.hand_position[0, 0]
        return bool(np.linalg.norm(off) < HELD and readings.gripper[0, 0] > THIN)

    def _now(self, readings: Readings) -> tuple[FloatArray, FloatArray]:
        """End and axis of the pin in question in one reading: it moves with the hand."""
        return readings.position[0, 1 + self._pin], readings.rotation[0, 1 + self._pin, :, 2]

    def _next(self, readings: Readings) -> Float32Array | None:
        self._seen.add(readings)
        self._periods += 1
        if not self._choose(readings):
            return None
        return self._move(readings)

    def _choose(self, readings: Readings) -> bool:
        """Go on to the next skill, or back to an earlier one; False once there is none."""
        hand, late = readings.hand_position[0, 0], self._periods > PATIENCE
        felt = float(np.linalg.norm(readings.wrist_force[0, 0]))
        match self._skill:
            case Skill.RELEASE if self._periods > 8 + RELAXING:
                self._go(Skill.BACK, readings)
            case Skill.BACK if late or np.linalg.norm(hand - self._from) > BACK - 0.004:
                self._go(Skill.RAISE, readings)
            case Skill.RAISE if late or hand[2] > SAFE - 0.006:
                self._go(Skill.TURN if self._clearing else Skill.LOOK, readings)
            case Skill.TURN if late or self._arrived(readings, 0.03, 0.3):
                self.posture = self._above
                self._go(Skill.LOOK, readings)
                return False
            case Skill.LOOK if self._periods > (GLANCE if self._seen.rest() else WAITING):
                return self._decide(readings)
            case Skill.OVER if self._arrived(readings, 0.004, 0.10):
                self._go(Skill.BEFORE, readings)
            case Skill.BEFORE if self._arrived(readings, 0.002, 0.06):
                self._go(Skill.REACH, readings)
            case Skill.REACH if self._arrived(readings, self._exact(), 0.04):
                self._go(Skill.CLOSE, readings)
            case Skill.REACH if felt > FELT and self._arrived(readings, 0.003, 0.08):
                self._go(Skill.CLOSE, readings)
            case Skill.BESIDE if self._arrived(readings, 0.003, 0.10):
                self._go(Skill.DOWN, readings)
            case Skill.DOWN if self._arrived(readings, 0.0015, 0.06):
                self._go(Skill.NUDGE, readings)
            case Skill.NUDGE if felt > STUCK or late or self._arrived(readings, 0.002, 0.10):
                self._go(Skill.RAISE, readings)
            case Skill.BESIDE | Skill.DOWN if late:
                self._go(Skill.RAISE, readings)
            case Skill.OVER | Skill.BEFORE | Skill.REACH if late:
                self._give_up(readings)
            case Skill.CLOSE if self._periods > 12:
                self._grasped(readings)
            case Skill.LIFT | Skill.CARRY | Skill.LAY if not self._held(readings):
                self._give_up(readings)
            case Skill.PULL | Skill.HOLD if not self._held(readings):
                self._give_up(readings)
            case Skill.LIFT if late or hand[2] > SAFE - 0.006:
                self._carry(readings)
            case Skill.CARRY if late and not self._arrived(readings, HOOKED, 0.3):
                self._give_up(readings)
            case Skill.CARRY if late or self._arrived(readings, 0.002, 0.06):
                self._go(Skill.SEAT if self._grasp.seats else Skill.LAY, readings)
            case Skill.LAY if late or felt > FELT or self._height(readings) < LAID:
                self._go(Skill.RELEASE, readings)
            case Skill.SEAT if self._person.skill is demonstrator.Skill.BACK:
                self._go(Skill.BACK, readings)
            case Skill.SEAT if (
                self._person.skill is demonstrator.Skill.OVER
                or self._periods > SEATING
                or bent(readings.joints[0, 0])
            ):
                self._give_up(readings)
            case Skill.PULL if in_holes(readings)[0][0, -1, 2] > PULLED:
                if self._as_drawn():
                    self._go(Skill.HOLD, readings)
                else:
                    self._failed += 1
                    self._seat(readings, demonstrator.Skill.ALIGN)
            case Skill.HOLD if late or self._arrived(readings, *THERE):
                self.posture = self._shut
                return False
            case Skill.PULL if late:
                self._give_up(readings)
            case _:
                pass
        return True

    def _decide(self, readings: Readings) -> bool:
        """Which pin is next, and how it is to be taken; False if there is nothing to be done."""
        ends, tilts = self._seen.ends(), self._seen.tilts()
        off = np.linalg.norm(ends[:, :2], axis=1)
        seated = (-ends[:, 2] > SEATED) & (off < ASIDE) & (tilts < UPRIGHT)
        self._pin = PINS - 1 if seated.all() else int(seated.argmin())
        self._last = bool(seated.all())
        box, frame = self._seen.box()
        if self._last:
            end, _ = self._seen.pin(self._pin)
            pitch = -math.atan2(self._axis[2], self._axis[1])
            rotation = frame @ hand_rotation(pitch)
            along = float(self._axis @ -self._end)
            self._grasp = Grasp(end - rotation @ self._end, rotation, along, seats=True)
            self._go(Skill.OVER, readings)
            return True
        end, axis = self._seen.pin(self._pin)
        if not in_tray(frame.T @ (end + PIN_LENGTH / 2 * axis - box)):
            return False
        others = [self._seen.pin(i) for i in range(PINS) if i != self._pin]
        grasps = plan(end, axis, others, box, frame)
        if not grasps:
            nudge = nudging.plan(self._rng, (end, axis), others, box, frame)
            if nudge is None:
                return False
            self._nudge = nudge
            self._go(Skill.BESIDE, readings)
            return True
        self._grasp = grasps[5 * self._failed % len(grasps)]
        self._go(Skill.OVER, readings)
        return True

    def _grasped(self, readings: Readings) -> None:
        """With the fingers shut on a pin: out of its hole, home, or away."""
        ends, tilts = self._seen.ends()[self._pin], self._seen.tilts()[self._pin]
        off = float(np.linalg.norm(ends[:2]))
        if not self._held(readings):
            self._give_up(readings)
        elif self._last:
            self._go(Skill.PULL, readings)
        elif ends[2] < -IN_HOLE and off < ASIDE and tilts < 2 * UPRIGHT and self._grasp.seats:
            self._seat(readings, demonstrator.Skill.INSERT)
        else:
            self._go(Skill.LIFT, readings)

    def _carry(self, readings: Readings) -> None:
        """Over the pin's hole, upright; or to where it can be laid down."""
        end, axis = self._seen.in_hand(self._pin)
        box, frame = self._seen.box()
        lean = math.atan2(axis[2], axis[1])
        behind = (HOLES[self._pin, 0] - HOLES[:, 0] > 0).any()
        for turn in (NEIGHBOUR, -NEIGHBOUR) if behind else (0.0,):
            rotation = frame @ hand_rotation(-lean, turn)
            mouth = box + frame @ HOLES[self._pin] - rotation @ end
            home = mouth - (0.0, 0.0, DEPTH)
            way = np.array([mouth + OVER, home, home - BACK * rotation[:, 2]])
            if self._grasp.seats and reached(way, np.broadcast_to(rotation, (3, 3, 3))).all():
                self._lies = np.array([*mouth[:2], SAFE]), rotation
                self._person = Teleoperator(
                    self._rng,
                    self._actions,
                    tremor=0.0,
                    pin=self._pin,
                    skill=demonstrator.Skill.ALIGN,
                )
                break
        else:  # it cannot be seated as it is held
            self._grasp = replace(self._grasp, seats=False)
            spot = self._spot(box, frame)
            rotation = self._lying(spot, frame, end, axis)
            at = spot - rotation @ (end + PIN_LENGTH / 2 * axis)
            self._lies = np.array([*at[:2], SAFE]), rotation
        self._go(Skill.CARRY, readings)

    def _spot(self, box: FloatArray, frame: FloatArray) -> FloatArray:
        """Where a pin's middle is to be laid, clear of the others (3,) [m]."""
        others = [self._seen.pin(i) for i in range(PINS) if i != self._pin]
        middles = [end + PIN_LENGTH / 2 * axis for end, axis in others]
        spots = [box + frame @ (x, y, TRAY + PIN_RADIUS) for x, y in SPOTS]
        room = [min(np.linalg.norm(spot - m) for m in middles) for spot in spots]
        return spots[next((i for i, r in enumerate(room) if r > ROOM), 0)]

    def _lying(
        self, spot: FloatArray, frame: FloatArray, end: FloatArray, axis: FloatArray
    ) -> FloatArray:
        """A frame of the hand in which the pin lies flat and points so that it can be seated."""
        best, least = hand_rotation(math.pi / 2), math.inf
        for pitch in np.radians([90, 85, 80, 75, 65, 55, 45, 30, 15, 0]):
            for yaw in np.radians([0, 30, -30, 60, -60, 80, -80, 100, -100, 110, -110]):
                rotation = frame @ hand_rotation(float(pitch), float(yaw))
                at = spot - rotation @ (end + PIN_LENGTH / 2 * axis)
                points = rotation @ axis
                away = abs(math.atan2(points[1], points[0]))
                cost = 3.0 * abs(points[2]) + 2.0 * max(0.0, away - 1.3) + 0.1 * away
                cost += 50.0 * max(0.0, PALM_CLEAR - _palm(at, rotation))
                if cost < least and reached(at, rotation):
                    best, least = rotation, cost
        return best

    def _seat(self, readings: Readings, skill: demonstrator.Skill) -> None:
        self._person = Teleoperator(
            self._rng, self._actions, tremor=0.0, pin=self._pin, skill=skill
        )
        self._grasp = replace(self._grasp, seats=True)
        self._go(Skill.SEAT, readings)

    def _give_up(self, readings: Readings) -> None:
        """Begin again with another grasp."""
        self._failed += 1
        self._go(Skill.RELEASE, readings)

    def _exact(self) -> float:
        """How near the hand has to be to a grasp before it shuts [m].

        A pin in a hole goes up with a hand that is still on its way up, but not down with it. So
        the last pin would be held too high on average, by a hand that did not wait.
        """
        return STILL if self._last and self._periods < PATIENCE / 2 else NEAR

    def _height(self, readings: Readings) -> float:
        """Of the lowest part of the pin in question over the bristles [m]."""
        end, axis = self._now(readings)
        lowest = min(end[2], end[2] + PIN_LENGTH * axis[2]) - PIN_RADIUS
        return float(lowest - BOX_AT[2] - TRAY)

    def _as_drawn(self) -> bool:
        """Whether the last pin is in the hand as it is to be."""
        end, axis = self._seen.in_hand(self._pin)
        off = np.linalg.norm(end - self._end)
        return bool(off < KEPT[0] and np.linalg.norm(axis - self._axis) < KEPT[1])

    def _goal(self) -> tuple[FloatArray, FloatArray, float]:
        """Where the hand is to go: position (3,) [m], frame; and how fast, of a full action."""
        at, rotation = self._grasp.position, self._grasp.rotation
        before = at - RETREAT[-1] * rotation[:, 2]
        match self._skill:
            case Skill.TURN:
                return np.array([*self._start.hand[:2], SAFE]), self._start.hand_frame, 1.0
            case Skill.OVER:
                return np.array([*before[:2], SAFE]), rotation, 1.0
            case Skill.BEFORE:
                return before, rotation, 1.0
            case Skill.REACH | Skill.CLOSE:
                return at, rotation, GENTLE
            case Skill.BACK:
                away = -self._frame[:, 2]
                away[2] = max(away[2], RISE)  # off the face
                return self._from + BACK * away, self._frame, 1.0
            case Skill.RAISE | Skill.LIFT:
                return np.array([*self._from[:2], SAFE]), self._frame, 1.0
            case Skill.CARRY:
                return *self._lies, 1.0
            case Skill.BESIDE:
                return np.array([*self._nudge.begin[:2], SAFE]), self._nudge.rotation, 1.0
            case Skill.DOWN:
                return self._nudge.begin, self._nudge.rotation, GENTLE
            case Skill.NUDGE:
                return self._nudge.end, self._nudge.rotation, SLOW
            case Skill.LAY:
                at, rotation = self._lies
                return at - (0.0, 0.0, 0.2), rotation, GENTLE
            case Skill.PULL:
                return self._from + PULL_UP, self._frame, EASY
            case Skill.HOLD:
                return self._start.hand, self._start.hand_frame, EASY
            case _:
                return self._from, self._frame, GENTLE

    def _move(self, readings: Readings) -> Float32Array:
        if self._skill is Skill.SEAT:
            self._turned = 0.0
            return self._person.act(readings)
        position, rotation, pace = self._goal()
        hand = readings.hand_position[0, 0]
        if self._skill is Skill.LAY:
            if self._height(readings) < LOW:
                pace = SLOW
            if _palm(hand, readings.hand_rotation[0, 0]) < PALM_NEAR:
                pace = EASY
        if hand[2] < FREE or stops_near(readings.joints[0, 0]):
            pace = min(pace, GENTLE)
        action = np.zeros(7)
        action[:3] = _limited(GAIN * (position - hand) / self._step, pace)
        if self._skill is Skill.RELEASE:
            action[:3] = _limited(-RELAXES * readings.lead[0, 0] / self._step, 1.0)
        turn = self._about(readings, eased(hand, rotation))
        most = min(pace * _turns(readings), self._turned + GROWS)
        action[3:6] = _limited(GAIN * turn / self._turn, most)
        self._turned = float(np.linalg.norm(action[3:6]))
        if bent(readings.joints[0, 0]) and np.linalg.norm(turn) > BENDING:
            action[:3] = 0.0  # it unbends first
        action[6] = self._jaw(readings)
        return action.astype(np.float32)

    def _about(self, readings: Readings, rotation: FloatArray) -> FloatArray:
        """How the hand is to turn (3,) [rad]: the shortest way that joint 6 can go."""
        hand, frame = readings.hand_position[0, 0], readings.hand_rotation[0, 0]
        roll = float(joints(hand, rotation)[5] - readings.joints[0, 0, 5])
        if abs(roll) > HALF_TURN:
            around: FloatArray = roll * frame[:, 2]
            return around
        turn: FloatArray = Rotation.from_matrix(rotation @ frame.T).as_rotvec()
        return turn

    def _jaw(self, readings: Readings) -> float:
        """The gripper's action."""
        match self._skill:
            case Skill.CLOSE | Skill.LIFT | Skill.CARRY | Skill.LAY | Skill.PULL | Skill.HOLD:
                return CLOSED
            case Skill.BESIDE | Skill.DOWN | Skill.NUDGE:
                return CLOSED
            case Skill.OVER | Skill.BEFORE | Skill.REACH:
                return AJAR
            case Skill.RAISE if self._fist:
                return CLOSED
            case Skill.RELEASE if not self._clearing and self._periods <= RELAXING:
                return CLOSED
            case _ if self._clearing:  # an open hand may be about the box: it does not shut
                return max(OPEN, 2 * float(readings.gripper[0, 0]) / OPENS - 1)
            case _:
                return OPEN

    def _arrived(self, readings: Readings, near: float, aligned: float) -> bool:
        position, rotation, _ = self._goal()
        hand, frame = readings.hand_position[0, 0], readings.hand_rotation[0, 0]
        rotation = eased(hand, rotation)
        turn = Rotation.from_matrix(rotation @ frame.T).magnitude()
        return bool(np.linalg.norm(position - hand) < near and turn < aligned)

    def _go(self, skill: Skill, readings: Readings) -> None:
        self._fist = skill is Skill.RAISE and self._skill in (Skill.DOWN, Skill.NUDGE)
        self._skill = skill
        self._periods = 0
        self._from = readings.hand_position[0, 0].copy()
        self._frame = readings.hand_rotation[0, 0].copy()
        if skill is Skill.LOOK:
            self._seen.forget()


def _turns(readings: Readings) -> float:
    """Share of its speed at which a hand turns: none where it is held fast.

    A hand yields to what it is pushed against, but a turn would press its fingers on as levers.
    """
    felt = float(np.linalg.norm(readings.wrist_force[0, 0]))
    return min(max(2.0 - felt / STUCK, 0.0), 1.0)


def _limited(vector: FloatArray, most: float) -> FloatArray:
    """A vector (3,), no longer than `most`."""
    return vector * min(1.0, most / max(float(np.linalg.norm(vector)), 1e-9))


def _palm(at: FloatArray, frame: FloatArray) -> float:
    """Height of a hand's palm over the bristles [m]."""
    return palm_height(at, frame) - float(BOX_AT[2]) - TRAY
