"""A physical reset: the cutter back into the hand, as asked for, by way of its stand.

Look; do what brings the cutter one step further; look again. A cutter that lies on its flat side is
taken by both handles from above, and turned where there is room if it lies the wrong way round for
the wrist; one that leans on something is taken by a level hand, along its hinge; any other by one
handle from above, and laid down flat. From its stand it is taken as the start wants it. Then the
feeder brings the next tie.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from scipy.spatial.transform import Rotation

from enpire.environment import ActionSpec, Readings, Restorer
from enpire.types import Float32Array, FloatArray, Predicate

from . import layout
from .finding import ROOM, Situation, azimuth, bend, down, outward, unrolled, wrap
from .layout import FEEDER, GRIP, RIGHT, STANDING
from .moving import OPEN, SHUT, TRAVEL, Hand, Move, at_height, hand_frame
from .retreat import Retreat

HOLD = 0.15  # gripper action: 43 mm
BESIDE, ACROSS = -0.28, 0.0  # round one handle, before it is pinched: 27 mm; 37 mm
WRIST = 1.85  # of joint 6 to either side, at most [rad]
WELL, AWRY = 1.5, 1.75  # of the cutter in the hand: laid down so; otherwise turned by [rad]
LOW = 0.0125  # of a hand that grasps on the bench [m]
HOVER, CARRY = 0.075, 0.26  # heights: before a grasp; with the cutter [m]
MIDST = np.array([[0.36, -0.20, 0.0], [0.46, -0.04, 1.0]])  # where an arm holds its hand level [m]
STRETCHED = 2.7  # of joint 3: from there on it runs into its stop as the hand turns [rad]
FUNNEL = 0.050  # of the pivot over its place when the tips are over the stand's funnel [m]
DEEP = 0.002  # so far over its place the cutter is let go [m]
BACK = 0.045  # so far the hand backs off from the handles [m]
BEFORE = 0.075  # so far before handles a level hand comes down [m]
PLACED = 0.012  # of the pivot from its place, of a cutter that is in its stand [m]
STANDS = np.cos(np.radians(12.0))  # of its upward axis
SLIPS = np.array([-0.0006, 0.0005])  # of the hand on the cutter's x and z, on its way, mean [m]
TURNS = 0.033, 1.19  # of the hand on the cutter then, mean [rad]; and by how much it grows
HELD = 0.030  # of the handles from the grasp point, in the hand [m]
WIDTHS = {"cutter": (0.030, 0.055), "handle": (0.004, 0.020)}  # of a hand that holds it [m]
WIDEST, JAMMED = 0.075, 0.004  # of the gripper; so far from where it is to be [m]
RAISED, LEVEL = 0.11, 0.3  # of handles that a level hand gets at [m]; its own rise, at most
ASLANT = (0.0, 0.2, -0.2, 0.4, -0.4)  # turns of that hand on the cutter, that are tried [rad]
RAISES = 1.52  # joint 4 of a hand that takes it out of its stand, as `bend` says, at most [rad]
BENDS = 1.6  # joint 4 for it, as `bend` says, which is 0.17 more than it is, at most [rad]
CARRIES = 1.7  # joint 4 of a hand that brings it into its stand, as `bend` says, at most [rad]
ROUND = (-0.35, 1.2)  # of a level hand that the wrist can turn so, from the world's x [rad]
ENOUGH = 0.006  # room for the palm [m]
GLANCE = 8  # readings that are seen as one
ATTEMPTS = 12  # that may fail before the try is over
GOOD, ALLOWED = (0.002, 0.035), (0.005, 0.08)  # of the grasp: shift [m], turn [rad]
RETAKEN = 2.0  # of `GOOD`, once it has been taken anew
EDGE = 0.002  # that hands keep from the edge of their workspace [m]


class PutBack(Restorer):
    """The cutter in the hand as `grasp` says, the hand in its posture, a new tie below it."""

    def __init__(
        self,
        actions: ActionSpec,
        posture: tuple[FloatArray, FloatArray],
        start: tuple[FloatArray, FloatArray],
        grasp: FloatArray,
        strap: FloatArray,
        stand: FloatArray,
        stops: FloatArray,
    ) -> None:
        """Do it by `actions`.

        start: grasp point (3,) [m] and frame (3, 3) of the hand in its posture. grasp: along x
        and z [m] and about y [rad], of the cutter. strap, stand: where the feeder will have
        brought them (3,) [m]. stops: of the right arm's joints, (dof, 2) [rad].
        """
        self.posture = posture
        self._start = start
        self._grasp, self._strap, self._stand = grasp, strap, stand
        self._hand = Hand(actions.scale[RIGHT], stops, OPEN)
        box = np.array([actions.arms[RIGHT].low, actions.arms[RIGHT].high])
        self._box = box[:, :2] + np.array([[EDGE], [-EDGE]])  # where hands get to
        self._seen: deque[Readings] = deque(maxlen=GLANCE)
        self._looked = 0  # control periods, since the hand came to rest
        self._attempts = 0
        self._holds = ""  # "cutter", "handle", or nothing
        self._taken = False  # out of the stand, as the start wants it
        self._begun = self._level = self._fed = self._done = False
        self._first = True
        self._pushes = self._turns = 0  # the latter: of the ways to take one that leans
        self._retaken = False  # out of the stand once more
        self._tried: Counter[str] = Counter()  # ways to take one that lies flat, since it does

    def clear(self, readings: Readings) -> Float32Array | None:
        """Keep a cutter that is held, let go of one that is not; up, to where nothing stands."""
        if not self._begun:
            self._begun = True
            self._hand.retreat = Retreat(CARRY)
            hand, frame = readings.hand_position[0, RIGHT], hand_frame(readings)
            if self._in_hand(readings):
                self._hand.grip = HOLD
            else:
                opening = readings.gripper[0, RIGHT]
                self._hand.grip = float(np.clip(2 * opening / WIDEST - 1.0, SHUT, OPEN))
                if np.linalg.norm(layout.grip_from_hand(readings)[0]) < HELD:
                    self._hand.go(Move(hand, frame, OPEN, rest=4))
        action = self._hand.step(readings)
        if action is None and not self._level:
            self._level = True
            hand = readings.hand_position[0, RIGHT]
            stretched = readings.joints[0, RIGHT, 2] > STRETCHED  # bends by its joints alone
            if hand[2] > TRAVEL and not stretched:  # level: on its way one that hangs swings down
                at, frame = at_height(np.clip(hand, *MIDST), CARRY), hand_frame(readings)
                for turned in (frame, unrolled(frame, at)):
                    self._hand.go(Move(at, turned, self._hand.grip, careful=True))
                self._hand.go(Move(at, np.eye(3), self._hand.grip, careful=True))
                action = self._hand.step(readings)
        return action

    def act(self, readings: Readings) -> Float32Array | None:
        """Look; do what is next; look again."""
        self._seen.append(readings)
        self.fixture = ()
        if self._hand.idle:
            if self._done:
                return None
            self._looked += 1
            if self._looked <= GLANCE + 2:
                return self._hand.rest()
            self._plan(Situation.of(list(self._seen)))
            self._looked = 0
        action = self._hand.step(readings)
        return self._hand.rest() if action is None else action

    def in_place(self, readings: Sequence[Readings]) -> tuple[Predicate, ...]:
        """The cutter in the hand, the tie whole and where it belongs, the stand too."""
        seen = Situation.of(readings)
        shift, turn = self._off(seen)
        mm = 1e3
        return (
            _most("grasp_off", mm * shift, mm * ALLOWED[0], "mm"),
            _most("grasp_turned", np.degrees(turn), np.degrees(ALLOWED[1]), "deg"),
            _most("strap_off", mm * float(np.linalg.norm(seen.strap - self._strap)), 2.0, "mm"),
            _most("strap_gap", mm * seen.gap, 2.0, "mm"),
            _most("stand_off", mm * float(np.linalg.norm(seen.stand - self._stand)), 2.0, "mm"),
        )

    def _plan(self, seen: Situation) -> None:
        """The next moves, by what is seen; slowly, where handles may be between the fingers."""
        held = self._holds
        self._choose(seen)
        moves = self._hand.moves
        if moves and not held and seen.near(HELD):
            moves[0] = replace(moves[0], gentle=True)

    def _choose(self, seen: Situation) -> None:
        gave_up, self._hand.gave_up = self._hand.gave_up, False
        self._attempts += gave_up
        if self._holds and not self._has(seen):
            self._holds, self._taken = "", False
            self._attempts += not gave_up
        if gave_up and not self._holds and self._hand.grip < HOLD:
            self._holds = "handle"  # and was on its way to lay it down
            if not self._has(seen):
                self._holds = ""
        if self._first and seen.near(HELD) and not self._stood(seen):
            self._holds = "cutter" if seen.frame[2, 2] > 0.8 else "handle"
            self._hand.grip = HOLD
        self._first = False
        if self._fed or self._attempts > ATTEMPTS or self._jammed(seen):
            self._done = True
            if not self._fed:
                self._hand.retreat = Retreat(CARRY)  # for the arm goes straight to its posture
        elif self._holds == "cutter" and self._taken and self._is_good(seen):
            if seen.pivot[2] < CARRY - GRIP - 0.015:
                self._hand.go(Move(at_height(seen.hand, CARRY), seen.hand_frame, HOLD))
                return
            self.fixture, self._fed = (FEEDER,), True
            self._hand.go(Move(*self._start, HOLD, fine=True, gentle=True))
        elif self._holds == "cutter" and self._fits_stand(seen):
            self._retaken |= self._taken
            self._to_stand(seen)
        elif self._holds:
            self._lay(seen)
        elif self._stood(seen) and seen.near(HELD) and self._hand.grip < OPEN - 0.1:
            self._let_go(seen.hand, seen.hand_frame)
        elif self._stood(seen):
            self._take(seen)
        elif seen.flat:
            self._fetch(seen)
        else:
            ways: list[Callable[[Situation], None]] = [self._push, self._pinch]
            turn = self._along(seen)
            if turn is not None:
                ways.insert(0, partial(self._along_hinge, turn=turn))
            ways[self._turns % len(ways)](seen)
            self._turns += 1

    def _has(self, seen: Situation) -> bool:
        """Whether what should be in the hand is."""
        low, high = WIDTHS[self._holds]
        return seen.near(HELD) and low < seen.gripper < high

    def _jammed(self, seen: Situation) -> bool:
        """Whether fingers that are to open do not: what they hold would be torn at in vain."""
        return seen.near(HELD) and WIDEST * (1.0 + self._hand.grip) / 2 - seen.gripper > JAMMED

    def _stood(self, seen: Situation) -> bool:
        """Whether the cutter stands in its stand."""
        off = float(np.linalg.norm(seen.pivot - seen.stand - (0.0, 0.0, STANDING)))
        return off < PLACED and bool(seen.frame[2, 2] > STANDS)

    def _is_good(self, seen: Situation) -> bool:
        """Whether it is held as asked for; less exactly where it was taken more than once."""
        shift, turn = self._off(seen)
        share = RETAKEN if self._retaken else 1.0
        return shift < share * GOOD[0] and turn < share * GOOD[1]

    def _off(self, seen: Situation) -> tuple[float, float]:
        """How far the grasp is from the one asked for [m], [rad]."""
        frame = seen.facing(seen.hand_frame[:, 0])
        grasp = frame.T @ (seen.hand - seen.pivot)
        wanted = Rotation.from_euler("y", self._grasp[2]).as_matrix()
        turned = Rotation.from_matrix(wanted.T @ frame.T @ seen.hand_frame).magnitude()
        shift = np.hypot(grasp[0] - self._grasp[0], grasp[2] - GRIP - self._grasp[1])
        return float(shift), float(turned)

    def _fits_stand(self, seen: Situation) -> bool:
        """Whether the hand can hold the cutter upright over its stand, as it holds it now.

        One that is pitched in the hand may need it to point up further than the wrist bends.
        """
        frame, from_pivot, place = self._upright_in_hand(seen)
        ways = (place + from_pivot + (0.0, 0.0, z) for z in (FUNNEL, DEEP))
        can = all(bend(at, frame[:, 0]) < CARRIES for at in ways)
        return can and bool(seen.hand_frame[:, 2] @ seen.frame[:, 2] > 0.0)

    def _upright_in_hand(self, seen: Situation) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Of a hand whose cutter is upright: its frame (3, 3), and the way to it from the pivot
        (3,); and where the pivot of a cutter in its stand belongs (3,), both in metres.
        """
        frame = seen.facing(seen.hand_frame[:, 0]).T @ seen.hand_frame
        from_pivot = frame @ seen.hand_frame.T @ (seen.hand - seen.pivot)
        return frame, from_pivot, at_height(seen.stand, float(seen.stand[2]) + STANDING)

    def _to_stand(self, seen: Situation) -> None:
        """Bring the held cutter upright over its stand; lower it in, if it is there."""
        cutter = seen.facing(seen.hand_frame[:, 0])
        frame, from_pivot, place = self._upright_in_hand(seen)
        over, deep = (place + from_pivot + (0.0, 0.0, z) for z in (FUNNEL, DEEP))
        off = seen.pivot - place
        upright = np.arccos(np.clip((np.trace(cutter) - 1) / 2, -1, 1))
        if np.hypot(*off[:2]) < 0.0015 and abs(off[2] - FUNNEL) < 0.006 and upright < 0.035:
            self._hand.go(Move(deep, frame, HOLD, gentle=True, fine=True))
            self._let_go(deep, frame)
            self._holds, self._taken = "", False
            return
        turned = seen.hand_frame
        if turned[2, 0] < -0.5:
            turned = outward(seen.hand)
            self._hand.go(Move(at_height(seen.hand, 0.13), turned, HOLD))
        if np.hypot(*off[:2]) > 0.03:
            self._hand.go(Move(at_height(seen.hand, max(0.16, float(seen.hand[2]))), turned, HOLD))
            self._hand.go(Move(at_height(over - (0.05, 0.0, 0.0), CARRY + 0.01), frame, HOLD))
            self._hand.go(Move(at_height(over, CARRY + 0.01), frame, HOLD))
        self._hand.go(Move(over, frame, HOLD, fine=True))

    def _let_go(self, at: FloatArray, frame: FloatArray) -> None:
        """Let go of a cutter in its stand, and back off."""
        self._hand.go(Move(at, frame, OPEN, rest=10))
        self._hand.go(Move(at - (BACK, 0.0, 0.0), np.eye(3), OPEN, gentle=True))

    def _take(self, seen: Situation) -> None:
        """Take the cutter out of its stand, as the start wants it."""
        cutter = seen.facing(np.array([1.0, 0.0, 0.0]))
        along, up = self._grasp[:2] - SLIPS
        at = seen.pivot + cutter @ (along, 0.0, GRIP + up)
        first = (self._grasp[2] - TURNS[0]) / TURNS[1]
        for turn in first + 0.01 * np.arange(20):
            frame = cutter @ Rotation.from_euler("y", turn).as_matrix()
            if bend(at, frame[:, 0]) < RAISES:
                break
        level, before = np.eye(3), at - BACK * cutter[:, 0]
        if np.linalg.norm(seen.hand - before) > 0.03 or self._attempts:
            self._hand.go(Move(at_height(seen.hand, CARRY), seen.hand_frame, OPEN))
            self._hand.go(Move(at_height(before, CARRY), level, OPEN))
        self._hand.go(Move(before, level, OPEN), Move(at, level, OPEN, careful=True))
        self._hand.go(Move(at, frame, OPEN, fine=True, rest=8, careful=True))
        self._hand.go(Move(at, frame, HOLD, rest=10, careful=True))
        self._hand.go(Move(at_height(at, float(at[2]) + 0.09), frame, HOLD, rest=4))
        self._holds, self._taken = "cutter", True

    def _along(self, seen: Situation) -> float | None:
        """How a level hand that comes to the handles is turned about the cutter's y [rad].

        From the hinge, as little as the arm needs; None if it does not get at them.
        """
        if seen.frame[2, 2] < 0.0 or seen.handles[2] < RAISED:
            return None
        cutter = seen.facing(np.array([1.0, 0.0, 0.0]))
        for turn in ASLANT:
            way = cutter @ (np.cos(turn), 0.0, -np.sin(turn))
            bent = (bend(at, way) for at in (seen.handles, seen.handles - BEFORE * way))
            round_ = ROUND[0] < np.arctan2(way[1], way[0]) < ROUND[1]
            if abs(way[2]) < LEVEL and round_ and all(abs(joint) < BENDS for joint in bent):
                return float(turn)
        return None

    def _along_hinge(self, seen: Situation, turn: float) -> None:
        """Take one that leans on something by both handles, set it upright, and lift it.

        Upright, for its blades may be round the strap. turn: as `_along` says.
        """
        cutter = seen.facing(np.array([1.0, 0.0, 0.0]))
        turned = Rotation.from_euler("y", turn).as_matrix()
        frame = cutter @ turned
        at, before = seen.handles, seen.handles - BEFORE * frame[:, 0]
        self._hand.go(Move(at_height(seen.hand, CARRY), seen.hand_frame, OPEN))
        self._hand.go(Move(at_height(before, CARRY), np.eye(3), OPEN))
        self._hand.go(
            Move(at_height(before, CARRY), frame, OPEN), Move(before, frame, OPEN, fine=True)
        )
        self._hand.go(Move(at, frame, OPEN, fine=True, gentle=True, rest=4))
        self._hand.go(Move(at, frame, HOLD, rest=10))
        upright = _upright(cutter)
        over = seen.pivot + GRIP * upright[:, 2]
        upright = upright @ turned
        self._hand.go(
            Move(over, upright, HOLD), Move(at_height(over, CARRY), upright, HOLD, rest=4)
        )
        self._holds = "cutter"

    def _lies_well(self, seen: Situation) -> bool:
        """Whether a hand that takes both handles from above can bring the cutter upright."""
        up = seen.frame[:, 2]
        return abs(wrap(azimuth(seen.handles) - np.arctan2(up[1], up[0]))) < WRIST

    def _grasps(self, seen: Situation) -> list[tuple[FloatArray, float]]:
        """Points (3,) and yaws from which both handles can be taken, with most room first."""
        up = seen.frame[:, 2]
        yaw = float(np.arctan2(up[1], up[0]))
        ways = [(_over(seen.handles + along * up), yaw) for along in (0.0, 0.008, -0.008)]
        return sorted(ways, key=lambda way: -min(self._room_at(seen, *way, 0.05), ENOUGH))

    def _pinches(self, seen: Situation) -> list[tuple[FloatArray, float]]:
        """The same for one handle: with most room first, or the upper one that has some."""
        ways: list[tuple[FloatArray, float]] = []
        for bar in seen.bars():
            across = np.cross(bar.along, (0.0, 0.0, 1.0)) if seen.flat else seen.frame[:, 0]
            side = float(np.arctan2(across[1], across[0])) + np.pi / 2
            out = azimuth(bar.at)
            yaw = min(side, side + np.pi, key=lambda y: abs(wrap(out - y)))
            ways += [(_over(bar.at + along * bar.along), yaw) for along in (0.0, 0.006, -0.008)]
        if seen.flat:
            return sorted(ways, key=lambda way: -min(self._room_at(seen, *way, 0.028), ENOUGH))
        return sorted(ways, key=lambda way: (self._room_at(seen, *way, 0.028) < 0.0, -way[0][2]))

    def _fetch(self, seen: Situation) -> None:
        """Take a cutter that lies flat, by both handles or one; or push it; another way each time.

        Where there is no room for a way, it is left out.
        """
        whole, parts = self._grasps(seen)[0], self._pinches(seen)
        ways: dict[str, Callable[[], None]] = {}
        if self._room_at(seen, *whole, 0.05) > 0.0:
            if self._lies_well(seen):
                ways["hold"] = lambda: self._hold(seen, *whole)
            else:
                ways["turn"] = lambda: self._hold(seen, whole[0], whole[1] + np.pi)
        for name, part in (("pinch", parts[0]), ("push", None), ("pinch otherwise", parts[3])):
            if part is None:
                ways[name] = lambda: self._push(seen)
            elif self._room_at(seen, *part, 0.028) > 0.0:
                ways[name] = partial(self._pinch_at, seen, *part, BESIDE)
        way = min(ways, key=lambda name: self._tried[name])
        self._tried[way] += 1
        ways[way]()

    def _room_at(self, seen: Situation, at: FloatArray, yaw: float, wide: float) -> float:
        """As `Situation.room`; none where hands do not get to."""
        within = bool((np.clip(at[:2], *self._box) == at[:2]).all())
        return seen.room(at, yaw, wide) if within else -1.0

    def _hold(self, seen: Situation, at: FloatArray, yaw: float) -> None:
        """Take one that lies flat by both handles."""
        self._from_above(seen, at, yaw, OPEN, HOLD)
        self._holds = "cutter"

    def _pinch(self, seen: Situation) -> None:
        """Take one that leans or stands on its edge by its upper handle."""
        self._pinch_at(seen, *self._pinches(seen)[3 if self._attempts % 4 == 3 else 0], ACROSS)

    def _pinch_at(self, seen: Situation, at: FloatArray, yaw: float, wide: float) -> None:
        self._from_above(seen, at, yaw, wide, SHUT)
        self._holds = "handle"

    def _push(self, seen: Situation) -> None:
        """Push it with the shut fingers to where there is room for the palm.

        One that lies flat aside, at its ends; one that leans or stands on its edge over, along its
        hinge.
        """
        up, side = seen.frame[:, 2], np.cross(seen.frame[:, 2], (0.0, 0.0, 1.0))
        if seen.flat:
            hit = [
                *((seen.pivot + s * up, w * side, 0.05) for s in (0.0, 0.07) for w in (-1, 1)),
                (seen.pivot - 0.02 * up, up, 0.03),
                (seen.pivot + 0.075 * up, -up, 0.035),
            ]
        else:
            top = max(seen.bars(), key=lambda bar: bar.at[2]).at - (0.0, 0.0, 0.010)
            hinge = np.array([*seen.frame[:2, 0], 0.0]) / np.linalg.norm(seen.frame[:2, 0])
            hit = [(top, w * hinge, 0.035) for w in (-1, 1)]
        ways: list[tuple[float, FloatArray, FloatArray, float]] = []
        for part, way, before in hit:
            level = way * (1.0, 1.0, 0.0)
            start, end = (
                at_height(np.clip(point[:2], *self._box), float(_over(part)[2]))
                for point in (part - before * level, part + (0.12 - before) * level)
            )
            heading = float(np.arctan2(way[1], way[0]))
            room, yaw = max(
                (min(seen.room(at, yaw, 0.014) for at in (start, 0.5 * (start + end), end)), yaw)
                for yaw in heading + np.pi / 2 * np.arange(4)
                if abs(wrap(azimuth(start) - yaw)) < WRIST
            )
            freed = min(0.04, seen.clear(seen.pivot + 0.03 * up + 0.08 * way)) / 4
            ways.append((room + freed, start, end, float(yaw)))
        ways.sort(key=lambda way: -way[0])
        _, start, end, yaw = ways[self._pushes % min(len(ways), 4)]
        self._pushes += 1
        frame, high = down(yaw), max(TRAVEL, float(start[2]) + 0.06)
        self._hand.go(
            Move(at_height(seen.hand, max(high, float(seen.hand[2]))), seen.hand_frame, SHUT)
        )
        self._hand.go(Move(at_height(start, high), outward(start), SHUT))
        self._hand.go(Move(at_height(start, high), frame, SHUT))
        self._hand.go(Move(start, frame, SHUT, gentle=True), Move(end, frame, SHUT, gentle=True))
        self._hand.go(Move(at_height(end, high), frame, SHUT))
        self._attempts += 1

    def _from_above(
        self, seen: Situation, at: FloatArray, yaw: float, wide: float, closed: float
    ) -> None:
        """Come down on `at` [m], close, and lift."""
        up = max(TRAVEL, float(at[2]) + 0.08)
        self._hand.go(
            Move(at_height(seen.hand, max(up, float(seen.hand[2]))), seen.hand_frame, wide)
        )
        self._hand.go(Move(at_height(at, up), outward(at), wide))
        hover = at_height(at, max(HOVER, float(at[2]) + 0.05))
        frame, lifted = down(yaw), at_height(at, float(at[2]) + 0.10)
        self._hand.go(Move(hover, frame, wide, fine=True))
        self._hand.go(Move(at, frame, wide, fine=True, gentle=True))
        self._hand.go(Move(at, frame, closed, rest=10))
        self._hand.go(Move(lifted, frame, closed, rest=4))

    def _lay(self, seen: Situation) -> None:
        """Lay the cutter down where there is room."""
        inside = seen.hand_frame.T
        cutter = inside @ seen.frame
        behind = float(np.arctan2(*(cutter[[1, 2], 2] * (-1.0, 1.0))))  # of its upward axis
        aside = 0.0 if abs(behind) < WELL else float(np.clip(behind, -AWRY, AWRY))
        closed, wide = (HOLD, OPEN) if self._holds == "cutter" else (SHUT, ACROSS)
        yaw = azimuth(ROOM) + aside
        frame = down(yaw)
        points = frame @ (inside @ (seen.pivot - seen.hand)[:, None] + cutter @ seen.corners.T)
        at = at_height(ROOM, max(LOW, 0.002 - float(points[2].min())))
        self._hand.go(
            Move(at_height(seen.hand, max(TRAVEL, float(seen.hand[2]))), outward(seen.hand), closed)
        )
        self._hand.go(Move(at_height(ROOM, 0.16), outward(ROOM), closed))
        self._hand.go(Move(at_height(at, float(at[2]) + 0.03), frame, closed, fine=True))
        self._hand.go(Move(at, frame, closed, gentle=True), Move(at, frame, wide, rest=6))
        on_edge = abs(cutter[1, 0]) > 0.7
        if on_edge:
            self._hand.go(Move(at + 0.06 * frame[:, 1], frame, wide))
        self._hand.go(Move(at_height(ROOM, 0.13), frame, wide))
        self._holds = ""
        self._attempts += 1
        self._tried.clear()

    def _in_hand(self, readings: Readings) -> bool:
        near = np.linalg.norm(layout.grip_from_hand(readings)[0]) < HELD
        lifted = layout.from_stand(readings)[0, 2] > 0.02
        return bool(near and lifted)


def _upright(frame: FloatArray) -> FloatArray:
    """A frame (3, 3) whose first axis is level, the way of this one's, and its third upwards."""
    way = frame[:, 0] * (1.0, 1.0, 0.0) / np.linalg.norm(frame[:2, 0])
    return np.stack([way, np.cross((0.0, 0.0, 1.0), way), (0.0, 0.0, 1.0)], axis=1)


def _over(point: FloatArray) -> FloatArray:
    """Where a hand grasps or pushes at a point of the cutter (3,): its fingers off the bench."""
    return at_height(point, max(LOW, float(point[2]) + 0.004))


def _most(name: str, value: float, threshold: float, unit: str) -> Predicate:
    return Predicate(name, float(value), float(threshold), unit, at_least=False)
