"""The person who first takes the tie: both hands grasp it where it hangs, and bring it round.

From there on `Teleoperator` feeds the tail. Of the tie a person sees what the tracker gave a
reaction time ago; where the own hands are is felt at once.
"""

from __future__ import annotations

from collections import deque
from enum import Enum

import numpy as np

from enpire.environment import ActionSpec, Readings
from enpire.types import Float32Array, FloatArray

from .demonstrator import TREMOR, Manner, Teleoperator
from .frames import HEAD, HEAD_AT, TAIL_AT, Poses, away, both_ends, hand_rotation, within

WIDE, SHUT = 0.2, -1.0  # gripper actions: 45 mm open; shut
ABOUT = np.array([-0.68, -0.92])  # the same, about head and tail, to still them: 12 and 3 mm
GLANCE = 6  # readings that are seen as one: the tie swings a little
BESIDE = 0.0015  # that a person takes head and tail beside where they are meant to be held [m]
GAIN = 0.2  # share of what is left that a hand goes in a control period
GRASPING = 0.0025, 0.04  # of a hand from its grasp, to close [m], [rad]
CALM, CLOSE = 12, 10  # control periods until the tie is still between the pads, and until they hold
HELD = 0.0006  # opening that a held strap leaves, at least [m]
NEAR = 0.005, 0.06  # of a hand from where it feeds [m], [rad]
RUN = 0.9  # of a full action
HANDS = [hand_rotation(arm) for arm in (0, 1)]


class Step(Enum):
    """What the person is doing before the tail is before the slot."""

    REACH = "reach"
    CLOSE = "close"
    CARRY = "carry"
    FEED = "feed"


class Taker(Teleoperator):
    """One episode's person, from the hanging tie on."""

    def __init__(
        self,
        rng: np.random.Generator,
        actions: ActionSpec,
        manner: Manner | None = None,
        late: int | None = None,
        tremor: float = TREMOR,
        beside: float = BESIDE,
    ) -> None:
        """Draw the person as `Teleoperator` does, and where beside its place each end is held."""
        super().__init__(rng, actions, manner, late, tremor)
        self._step = Step.REACH
        self._begun = 0  # control periods since then
        self._glance: deque[Readings] = deque(maxlen=GLANCE + self._late - 1)
        self._beside = rng.uniform(-beside, beside, (2, 3)) * (1.0, 0.0, 1.0)

    def act(self, readings: Readings) -> Float32Array:
        """One control period's action."""
        self._begun += 1
        self._glance.append(readings)
        off, turn = away(readings, self._wanted())
        self._go_on(readings, off, turn)
        if self._step is Step.FEED:
            return super().act(readings)
        twists = GAIN * np.concatenate([off, turn], axis=1) / self._scale
        if self._step is Step.CLOSE or self._astray(readings):
            twists[:] = 0.0
        action = np.zeros((2, 7))
        action[:, :6] = twists * RUN / np.maximum(abs(twists).max(), RUN)  # as one thing
        action = self._by_hand(action.ravel(), readings)
        action[[6, 13]] = self._jaws()
        return action.astype(np.float32)

    def _go_on(self, readings: Readings, off: FloatArray, turn: FloatArray) -> None:
        """To the next step, if the hands are no farther off than that [m], [rad]."""
        match self._step:
            case Step.REACH if within(off, turn, GRASPING):
                self._to(Step.CLOSE)
            case Step.CLOSE if self._begun > CALM + CLOSE:
                self._to(Step.CARRY if readings.gripper.min() > HELD else Step.REACH)
            case Step.CARRY if within(off, turn, NEAR):
                self._to(Step.FEED)
            case _:
                pass

    def _wanted(self) -> Poses:
        """Of the hands: where they are to take the tie, or to feed it."""
        if self._step is Step.CARRY:
            return [HEAD_AT, TAIL_AT], HANDS
        then = max(1, len(self._glance) - self._late + 1)
        ends = both_ends(list(self._glance)[:then])
        hands = [at + frame @ b for (at, frame), b in zip(ends, self._beside, strict=True)]
        turned = [frame @ HEAD.T @ hand for (_, frame), hand in zip(ends, HANDS, strict=True)]
        return hands, turned

    def _jaws(self) -> FloatArray:
        """The grippers' actions, (2,)."""
        if self._step is Step.REACH:
            return np.full(2, WIDE)
        if self._step is Step.CLOSE and self._begun < CALM:
            return ABOUT
        return np.full(2, SHUT)

    def _to(self, step: Step) -> None:
        self._step = step
        self._begun = 0
