"""How a hand comes free of whatever it is in: up, and away from what it feels."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from enpire.environment import Readings
from enpire.types import FloatArray

from .finding import leaning
from .layout import HAND, RIGHT

FAST, SLOW = 0.5, 0.12  # of full speed; the latter for a while after it has touched something
WHILE = 25  # control periods
TOUCH, PUSH = 3.0, 12.0  # felt by a hand that touches something; at which it only gives way [N]
BACKWARDS = 2.0  # of the speed upwards, of a level hand, until its fingers are out of something
WAY = 0.045  # so far it goes backwards [m]
RISEN = 0.004  # by so much it has to rise [m]
STUCK = 40  # in so many control periods
ASIDE = 25  # control periods in which a hand that is stuck goes another way
WAYS = 12  # that are tried


class Retreat:
    """Brings the right hand up.

    It goes backwards and up. What it feels is in its way, so it leaves out what would press on
    that, and gives way to it. Where it does not rise it goes to its sides, backwards, forwards and
    down in turn.
    """

    def __init__(self, height: float) -> None:
        """Up to a height [m]; nothing is known of what is in the way."""
        self._height = height
        self._begun: FloatArray | None = None
        self._highest, self._since = -np.inf, 0
        self._aside, self.ways = 0, 0  # the latter: that have been tried
        self._touched = 0  # control periods ago; it may press on something even now

    def step(self, readings: Readings) -> tuple[FloatArray, FloatArray] | None:
        """Where to go in this control period, (3,) in full actions, and how to turn, (3,) rad.

        World frame; None once it is high enough, or cannot get there. It turns as the arm needs.
        """
        hand = readings.hand_position[0, RIGHT]
        frame = readings.hand_rotation[0, RIGHT] @ HAND.T
        if self._begun is None:
            self._begun = hand.copy()
        if hand[2] > self._height or self.ways > WAYS:
            return None
        felt = -readings.wrist_force[0, RIGHT]
        self._touched = 0 if np.linalg.norm(felt) > TOUCH else self._touched + 1
        self._since += 1
        if hand[2] > self._highest + RISEN:
            self._highest, self._since = float(hand[2]), 0
        if self._aside:
            self._aside -= 1
        elif self._since > STUCK:
            self.ways += 1
            self._aside, self._since = ASIDE, 0
            self._highest = float(hand[2])
        way = self._another(frame) if self._aside else self._upwards(hand, frame)
        free = self._touched > WHILE
        turn = Rotation.from_matrix(leaning(frame, hand) @ frame.T).as_rotvec()
        return (FAST if free else SLOW) * _yielding(way, felt), turn * float(free)

    def _upwards(self, hand: FloatArray, frame: FloatArray) -> FloatArray:
        back = -frame[:, 0] * (1.0, 1.0, 0.0)
        gone = float(np.linalg.norm(hand - self._begun))
        way = np.array([0.0, 0.0, 1.0]) + (BACKWARDS * back if gone < WAY else 0.0)
        result: FloatArray = way / np.linalg.norm(way)
        return result

    def _another(self, frame: FloatArray) -> FloatArray:
        """To one side, backwards, to the other side, forwards; level, or a little down."""
        side, along = frame[:, 1] * (1.0, 1.0, 0.0), frame[:, 0] * (1.0, 1.0, 0.0)
        way = (side, -along, -side, along)[self.ways % 4]
        way = way / max(float(np.linalg.norm(way)), 0.2)
        way[2] = -0.3 if self.ways % 3 == 0 else 0.2
        return way


def _yielding(way: FloatArray, felt: FloatArray) -> FloatArray:
    """A way (3,) without what goes against a force that is felt (3,) [N], and away from it."""
    force = float(np.linalg.norm(felt))
    if force < TOUCH:
        return way
    normal = felt / force
    free = way - min(0.0, float(way @ normal)) * normal
    share = min(1.0, (force - TOUCH) / (PUSH - TOUCH))
    result: FloatArray = (1.0 - share) * free + share * normal
    return result
