"""How the hand goes where a skill wants it: one move after another, by what it feels and sees."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial.transform import Rotation

from enpire.environment import Readings
from enpire.types import Float32Array, FloatArray

from .finding import leaning
from .layout import HAND, RIGHT
from .retreat import Retreat

TRAVEL = 0.19  # height at which it meets nothing that lies on the bench [m]
OPEN, SHUT = 0.95, -1.0  # gripper actions: 73 mm; shut
SLOW = 0.4  # of full speed, near what stands on the bench
GENTLE = 0.3  # of full speed, on the way to what the hand is going to touch
STOPS = 0.10  # from a joint's stop: the arm goes slowly from here on, for its hand sinks [rad]
CREEP, BRISK = 0.4, 0.7  # of the speed it has otherwise, at the stop; of one that points down
RUNS = 0.03, 0.001  # from a stop, and nearer in a control period: of a level hand, in vain [rad]
ASKEW = 0.5  # turn that is left, with which the hand goes slowly, for its arm has to follow [rad]
GAIN = 0.3  # share of what is left that the hand goes in a control period
# So much of full speed is added to a hand's turn in a control period, at most. The wrist turns at
# once, and the arm, which is to keep the fingers in their place meanwhile, lags behind.
GROWS = 0.15
NEAR, FINE = (0.012, 0.12), (0.0015, 0.02)  # when it is there: [m], [rad]
FELT = 4.0  # push from below at which a hand that goes down has touched something [N]
HELD_UP = 2.0  # the same of one that comes no nearer: the arm may push no harder [N]
CLOSING = 0.2  # of the gripper action in a control period, at most
PATIENCE = 25  # control periods in which the hand comes no nearer
STRAYS = 5.0  # further from where it goes than it was, in full actions
STUCK = 2  # ways that a retreat has tried, when the hand lets go of what it holds


@dataclass(frozen=True, slots=True)
class Move:
    """A way of the hand: to a grasp point (3,) [m], in a frame (3, 3), with a gripper action.

    gentle: slowly, and done once something is touched. rest: control periods there. careful:
    slowly, and pointing just so, for the arm may be at its stops, and the hand sink.
    """

    to: FloatArray
    frame: FloatArray
    grip: float
    fine: bool = False
    gentle: bool = False
    rest: int = 0
    careful: bool = False


class Hand:
    """The right hand: its moves in their order, and a retreat where one of them leads nowhere.

    moves: still to be done. grip: the gripper action. gave_up: on moves, since it was last asked.
    """

    def __init__(self, scale: FloatArray, stops: FloatArray, grip: float) -> None:
        """A hand with nothing to do.

        scale: of a full action, (6,) [m, rad]. stops: of the arm's joints, (dof, 2) [rad].
        """
        self.moves: deque[Move] = deque()
        self.retreat: Retreat | None = None
        self.grip = grip
        self.gave_up = False
        self._scale, self._stops = scale, stops
        self._room = 0.0  # of the joint that was nearest to its stop, in the period before [rad]
        self._periods = 0  # since the move began
        self._arrived = 0  # since it is there
        self._pushed = 0.0
        self._turned = 0.0  # how fast it turned in the period before, of full speed
        self._left, self._nearer = np.inf, 0  # least that was left of the move, in full actions

    @property
    def idle(self) -> bool:
        """Whether it has nothing to do."""
        return not self.moves and self.retreat is None

    def go(self, *moves: Move) -> None:
        """Do these after what is still to be done."""
        self.moves.extend(moves)

    def rest(self) -> Float32Array:
        """The action of hands that stay where they are, (14,)."""
        self._turned = 0.0
        return self._still()

    def _still(self) -> Float32Array:
        action = np.zeros(14, dtype=np.float32)
        action[[6, 13]] = SHUT, self.grip
        return action

    def step(self, readings: Readings) -> Float32Array | None:
        """The next action (14,) of moves, and of a retreat; None once there is nothing left."""
        joints = readings.joints[0, RIGHT]
        room = float((np.abs(self._stops - joints[:, None])).min())
        runs = hand_frame(readings)[2, 0] > -0.5 and room < RUNS[0] and room < self._room - RUNS[1]
        self._room = room
        while self.moves:
            action, through = self._follow(self.moves[0], readings, runs)
            if not through:
                return action
        return self._free(readings)

    def _follow(
        self, move: Move, readings: Readings, runs: bool
    ) -> tuple[Float32Array | None, bool]:
        """One control period of a move, None where it is given up; and whether it is through."""
        hand, now = readings.hand_position[0, RIGHT], hand_frame(readings)
        push = -float(readings.wrist_force[0, RIGHT, 2])
        if self._periods == 0:
            self._pushed = push
        self._periods += 1
        shift = move.to - hand
        frame = move.frame if move.careful else leaning(move.frame, hand)
        turn = Rotation.from_matrix(frame @ now.T).as_rotvec()
        near = FINE if move.fine else NEAR
        there = np.linalg.norm(shift) < near[0] and np.linalg.norm(turn) < near[1]
        left = float(np.linalg.norm(shift) / self._scale[0] + np.linalg.norm(turn) / self._scale[3])
        if self._periods == 1 or left < self._left - 0.2:
            self._left, self._nearer = left, self._periods
        stalls = not self._arrived and self._periods - self._nearer > PATIENCE
        touched = move.gentle and push - self._pushed > (HELD_UP if stalls else FELT)
        if there or touched or self._arrived:
            self._arrived += 1
        if self._arrived > move.rest and abs(self.grip - move.grip) < 0.01:
            self._next()
            if move.gentle and not there and move.frame[2, 0] > -0.5:
                self._stay(move, hand)
            return None, True
        strays = left > self._left + STRAYS
        if strays or (stalls and not touched) or (runs and not (move.careful or self._arrived)):
            self._give_up()
            return None, False
        self.grip += float(np.clip(move.grip - self.grip, -CLOSING, CLOSING))
        descends = shift[2] < -NEAR[0] and hand[2] < TRAVEL
        slow = GENTLE if move.gentle else SLOW if move.careful else 1.0
        askew = descends or np.linalg.norm(turn) > ASKEW
        share = float(np.clip(self._room / STOPS, CREEP if now[2, 0] > -0.5 else BRISK, 1.0))
        step = _within(GAIN * shift / self._scale[:3], share * min(slow, SLOW if askew else 1))
        if self._arrived and move.gentle:
            step[:] = 0.0
        action = self._still()
        action[7:10] = step
        action[10:13] = self._turning(turn, share * slow)
        return action, False

    def _free(self, readings: Readings) -> Float32Array | None:
        """One control period of a retreat; None if there is none, or it is over."""
        freeing = None if self.retreat is None else self.retreat.step(readings)
        if self.retreat is None or freeing is None:
            self.retreat = None
            return None
        if self.retreat.ways >= STUCK:
            self.grip += float(np.clip(OPEN - self.grip, 0.0, CLOSING))
        action = self._still()
        action[7:10] = freeing[0]
        action[10:13] = self._turning(freeing[1], SLOW)
        return action

    def _turning(self, turn: FloatArray, most: float) -> FloatArray:
        """Of an action (3,), to turn by what is left (3,) [rad]; it grows slowly up to `most`."""
        result = _within(GAIN * turn / self._scale[3:], min(most, self._turned + GROWS))
        self._turned = float(np.linalg.norm(result))
        return result

    def _next(self) -> None:
        self.moves.popleft()
        self._periods = self._arrived = 0

    def _stay(self, move: Move, hand: FloatArray) -> None:
        """Do what was to be done where a way ends where it has, for something is in between."""
        for i, later in enumerate(self.moves):
            if np.array_equal(later.to, move.to):
                self.moves[i] = replace(later, to=hand.copy())

    def _give_up(self) -> None:
        """Drop what was planned: the hand comes free."""
        self.moves.clear()
        self._periods = self._arrived = 0
        self.retreat = Retreat(TRAVEL)
        self.gave_up = True


def hand_frame(readings: Readings) -> FloatArray:
    """Of the hand: its approach, its opening, and up as it holds the cutter, (3, 3)."""
    result: FloatArray = readings.hand_rotation[0, RIGHT] @ HAND.T
    return result


def at_height(point: FloatArray, height: float) -> FloatArray:
    """Over or under a point (3,), at a height [m]."""
    return np.array([point[0], point[1], height])


def _within(way: FloatArray, most: float) -> FloatArray:
    """A way (3,) that is no longer than `most`."""
    return way / max(1.0, float(np.linalg.norm(way)) / most)
