"""A person's hands as a controller: a twist each period, grippers as they were told last.

Keys, and what a device in the hands says. Where keys move a hand, the device goes on from there.
"""

from __future__ import annotations

import numpy as np

from enpire.environment.control.cartesian_control import ActionSpec
from enpire.environment.control.joint_actions import MovesHands
from enpire.environment.control.sensing import Readings
from enpire.environment.core.controller import PeriodCommand
from enpire.errors import UsageError
from enpire.packs import Robot
from enpire.people.devices import Posture
from enpire.people.devices import gripper_setpoints as as_told
from enpire.people.hands import Hands
from enpire.people.operator_command import OperatorCommand
from enpire.twin.twin import Rows
from enpire.types import Float32Array, FloatArray

NAME = "person"  # what acted, for the store


class Person(MovesHands):
    """Acts on one station at a time by `Hands`; where nothing is held, the hands stand."""

    def __init__(self, hands: Hands, actions: ActionSpec, robot: Robot) -> None:
        """Act in the action space of a task, with so many arms.

        Raises:
            UsageError: a device has not one arm, nor as many.
        """
        device = hands.device
        if device is not None and device.arms not in (1, len(actions.arms)):
            raise UsageError(
                f"a device of {device.arms} arms, and the station has {len(actions.arms)}: it "
                "takes one, or as many"
            )
        self._hands, self._arms = hands, len(actions.arms)
        self._robot, self._scale = robot, actions.scale
        self._arm = 0
        self._told: dict[int, FloatArray] = {}  # grippers, (arms,)

    def begin(self, row: int, rng: np.random.Generator, exploration: float) -> None:
        """See `Controller`: what was hit before was for another episode."""
        self._told.pop(row, None)
        if self._hands.device is not None:
            self._hands.device.let_go()

    def relieve(self, row: int, action: Float32Array) -> None:
        """See `Relieving`: what is held stays held."""
        self._told[row] = action[6::7].astype(np.float64)

    def act(self, rows: Rows, observations: Float32Array, readings: Readings) -> Float32Array:
        """See `Controller`."""
        moved = [self._act(int(row), readings.row(i)) for i, row in enumerate(rows)]
        return self.told(rows, moved, readings)

    def word(self, row: int) -> PeriodCommand:
        """See `SupervisedController`."""
        if self._hands.was_given(OperatorCommand.DISCARD):
            return PeriodCommand.DISCARD
        return (
            PeriodCommand.DONE
            if self._hands.was_given(OperatorCommand.DONE)
            else PeriodCommand.GO_ON
        )

    def ended(self, row: int) -> None:
        """See `SupervisedController`: keys for this episode are none for the next."""
        self._hands.forget()

    def _act(self, row: int, here: Readings) -> Float32Array:
        told = self._told.setdefault(row, as_told(here.gripper[0], self._robot))
        device, twist = self._hands.device, self._hands.twist()
        switched, gripped = (
            self._hands.was_given(c) for c in (OperatorCommand.ARM, OperatorCommand.GRIPPER)
        )
        self._arm = (self._arm + switched) % self._arms
        if gripped:
            told[self._arm] = -1.0 if told[self._arm] > 0.0 else 1.0
        action = np.zeros((self._arms, 7))
        if device is not None:
            if switched or gripped or twist.any():
                device.let_go()
            mine = [self._arm] if device.arms == 1 else list(range(self._arms))
            posture = Posture(
                here.hand_position[0, mine],
                here.hand_rotation[0, mine],
                told[mine],
                self._scale[mine],
            )
            action[mine] = device.act(posture)
            told[mine] = action[mine, 6]
        action[self._arm, :6] += twist
        action[:, 6] = told
        return action.clip(-1.0, 1.0).ravel().astype(np.float32)
