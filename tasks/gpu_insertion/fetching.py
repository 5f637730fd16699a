"""The person who first fetches the card: both hands take it out of its cradle and over the slot.

From there on `Teleoperator` seats it. A wrist is tared with an empty hand: what it feels of the
card in the air is taken off before anything is felt for.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from enum import Enum

import numpy as np

from enpire.environment import ActionSpec, Readings
from enpire.types import Float32Array, FloatArray

from .demonstrator import TREMOR, Manner, Teleoperator
from .frames import (
    GRASPS,
    LEFT,
    RIGHT,
    between,
    card_pose,
    ends_in_slot,
    hand_rotation,
    hands_on,
    slot_frame,
    together,
)

WIDE, SHUT = 0.04, -1.0  # gripper actions: 14 mm off each face of the card; shut
HOLDS = GRASPS, np.array([hand_rotation(LEFT), hand_rotation(RIGHT)])
OVER = 0.025  # of hands over where they hold the card, until both are there [m]
OFF = (0.0015, 0.03)  # of a hand from where it is to be, at most [m], [rad]
GLANCE = 6  # readings that are seen as one
GAIN = 0.2  # share of what is left that hands go in a control period
GRASPING = 14  # control periods until fingers hold
HELD = 0.009  # opening that a held card leaves, at least [m]
HIGH = 0.034  # of the card out of its cradle, and over the motherboard's parts [m]
ALOFT = 0.028  # of the edge over the mouth while it is carried [m]
NEAR = 0.004  # of the edge from over the slot, at the end of the way [m]
STILL = 8  # control periods for which a person weighs the card there
RUN = 0.9  # of a full action


class Step(Enum):
    """What the person is doing before the card is over the slot."""

    REACH = "reach"
    DESCEND = "descend"
    GRASP = "grasp"
    LIFT = "lift"
    CARRY = "carry"
    WEIGH = "weigh"
    SEAT = "seat"


class Fetcher(Teleoperator):
    """One episode's person, from the cradle on."""

    def __init__(
        self,
        rng: np.random.Generator,
        actions: ActionSpec,
        manner: Manner | None = None,
        late: int | None = None,
        tremor: float = TREMOR,
    ) -> None:
        """Draw the person as `Teleoperator` does."""
        super().__init__(rng, actions, manner, late, tremor)
        self._step = Step.REACH
        self._begun = 0  # control periods since then
        self._glance: deque[Readings] = deque(maxlen=GLANCE)
        self._weight: FloatArray = np.zeros((1, 2, 3))  # what wrists feel of the card [N]
        self._lifted_at = 0.0  # height of the card in its cradle [m]

    def act(self, readings: Readings) -> Float32Array:
        """One control period's action."""
        self._glance.append(readings)
        if self._step is Step.SEAT:
            return super().act(replace(readings, wrist_force=readings.wrist_force - self._weight))
        at, frame = card_pose(self._glance)
        self._begun += 1
        self._go_on(readings, at, frame)
        twists = self._twists_of(readings, at, frame) / self._scale
        action = np.zeros((2, 7))
        action[:, :6] = twists * RUN / np.maximum(abs(twists).max(), RUN)  # as one thing
        action[:, 6] = WIDE if self._step in (Step.REACH, Step.DESCEND) else SHUT
        return self._shaken(action.ravel())

    def _go_on(self, readings: Readings, at: FloatArray, frame: FloatArray) -> None:
        """To the next step."""
        ends = ends_in_slot(readings)[0]
        match self._step:
            case Step.REACH if self._there(readings, at, frame):
                self._to(Step.DESCEND)
            case Step.DESCEND if self._there(readings, at, frame):
                self._to(Step.GRASP)
            case Step.GRASP if self._begun > GRASPING:
                self._lifted_at = float(at[2])
                self._to(Step.LIFT if readings.gripper.min() > HELD else Step.REACH)
            case Step.LIFT if at[2] > self._lifted_at + HIGH - 0.003:
                self._to(Step.CARRY)
            case Step.CARRY if np.linalg.norm(ends.mean(axis=0)[:2]) < NEAR:
                self._to(Step.WEIGH)
            case Step.WEIGH if self._begun > STILL:
                self._weight = np.mean([r.wrist_force for r in self._glance], axis=0)
                self._to(Step.SEAT)
            case _:
                pass

    def _twists_of(self, readings: Readings, at: FloatArray, frame: FloatArray) -> FloatArray:
        """Of both hands over one period, (2, 6) [m], [rad], world frame."""
        position = readings.hand_position[0]
        slot = slot_frame(readings)[0]
        match self._step:
            case Step.REACH | Step.DESCEND:
                return GAIN * self._left(readings, at, frame)
            case Step.LIFT:
                up = np.array([0.0, 0.0, self._lifted_at + HIGH - at[2]])
                return GAIN * together(position - at, up, np.zeros(3))
            case Step.CARRY:
                way = np.array([0.0, 0.0, ALOFT]) - ends_in_slot(readings)[0].mean(axis=0)
                return GAIN * together(position - at, slot @ way, between(frame, slot))
            case _:
                return np.zeros((2, 6))

    def _left(self, readings: Readings, at: FloatArray, frame: FloatArray) -> FloatArray:
        """From where the hands are to where they are to hold the card, or above it (2, 6)."""
        places, frames = hands_on(at, frame, HOLDS)
        way = places - readings.hand_position[0]
        if self._step is Step.REACH:
            way[:, 2] += OVER
        turns = [between(*two) for two in zip(readings.hand_rotation[0], frames, strict=True)]
        return np.concatenate([way, turns], axis=1)

    def _there(self, readings: Readings, at: FloatArray, frame: FloatArray) -> bool:
        left = self._left(readings, at, frame)
        off, turned = np.linalg.norm(left[:, :3], axis=1), np.linalg.norm(left[:, 3:], axis=1)
        return bool((off < OFF[0]).all() and (turned < OFF[1]).all())

    def _to(self, step: Step) -> None:
        self._step = step
        self._begun = 0
