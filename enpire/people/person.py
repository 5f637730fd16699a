"""A person's hands as a controller: a twist each period, grippers as they were told last."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from enpire.environment.control import ActionSpec
from enpire.environment.controller import Word
from enpire.environment.sensing import Readings
from enpire.packs import Robot
from enpire.people.hands import Command, Hands
from enpire.twin.twin import Rows
from enpire.types import Float32Array, FloatArray

NAME = "person"  # what acted, for the store


class Person:
    """Acts on one station at a time by `Hands`; where nothing is held, the hands stand."""

    def __init__(self, hands: Hands, actions: ActionSpec, robot: Robot) -> None:
        """In the action space of a task, of so many arms."""
        self._hands, self._arms = hands, len(actions.arms)
        self._ranges: Sequence[tuple[float, float]] = [a.gripper_range for a in robot.arms]
        self._arm = 0
        self._told: dict[int, FloatArray] = {}  # grippers, (arms,)

    def begin(self, row: int, rng: np.random.Generator, exploration: float) -> None:
        """See `Controller`: what was hit before was for another episode."""
        self._told.pop(row, None)

    def relieve(self, row: int, action: Float32Array) -> None:
        """See `Relieving`: what is held stays held."""
        self._told[row] = action[6::7].astype(np.float64)

    def act(self, rows: Rows, observations: Float32Array, readings: Readings) -> Float32Array:
        """See `Controller`."""
        return np.stack([self._act(row, readings.gripper[i]) for i, row in enumerate(rows)])

    def word(self, row: int) -> Word:
        """See `Attended`."""
        if self._hands.said(Command.DISCARD):
            return Word.DISCARD
        return Word.DONE if self._hands.said(Command.DONE) else Word.GO_ON

    def ended(self, row: int) -> None:
        """See `Attended`: keys for this episode are none for the next."""
        self._hands.forget()

    def _act(self, row: int, openings: FloatArray) -> Float32Array:
        told = self._told.setdefault(row, self._measured(openings))
        if self._hands.said(Command.ARM):
            self._arm = (self._arm + 1) % self._arms
        if self._hands.said(Command.GRIPPER):
            told[self._arm] = -1.0 if told[self._arm] > 0.0 else 1.0
        action = np.zeros((self._arms, 7))
        action[self._arm, :6] = self._hands.twist()
        action[:, 6] = told
        return action.ravel().astype(np.float32)

    def _measured(self, openings: FloatArray) -> FloatArray:
        """What grippers are told to be at these openings, (arms,)."""
        closed, opened = np.array(self._ranges).T
        told: FloatArray = np.clip(2.0 * (openings - closed) / (opened - closed) - 1.0, -1.0, 1.0)
        return told
