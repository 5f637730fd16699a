"""What acts in an examination besides the demonstrator: nothing, worse demonstrators."""

from __future__ import annotations

import numpy as np

from enpire.environment import CartesianControl, Demonstrations, Readings, Task
from enpire.twin.twin import Rows
from enpire.types import Float32Array, FloatArray

STEADIEST, SHAKIEST = 0.1, 0.6  # of an unsteady demonstrator's hand, in full actions


class Nothing:
    """Leaves hands and grippers where the reset has put them."""

    def __init__(self, control: CartesianControl) -> None:
        """Act for the stations of `control`."""
        self._control = control
        ranges = np.array([arm.gripper_range for arm in control.twin.scene.robot.arms])
        self._closed, self._opening = ranges[:, 0], np.diff(ranges)[:, 0]

    def begin(self, row: int, rng: np.random.Generator, exploration: float) -> None:
        """Nothing to do."""

    def act(self, rows: Rows, observations: Float32Array, readings: Readings) -> Float32Array:
        """No motion, and the gripper's setpoint as it is."""
        actions = np.zeros((len(rows), len(self._closed), 7), dtype=np.float32)
        actions[:, :, 6] = 2 * (self._control.gripper[rows] - self._closed) / self._opening - 1
        return actions.reshape(len(rows), -1)


class Unsteady:
    """The demonstrator with a hand that shakes, by how much is drawn for the episode."""

    def __init__(self, task: Task) -> None:
        """Demonstrate `task` badly."""
        self._demonstrations = Demonstrations(task)
        self._rng: dict[int, np.random.Generator] = {}
        self._scale: dict[int, float] = {}
        self._shake: dict[int, FloatArray] = {}

    def begin(self, row: int, rng: np.random.Generator, exploration: float) -> None:
        """Another person, with another hand."""
        (self._rng[row],) = rng.spawn(1)
        self._scale[row] = self._rng[row].uniform(STEADIEST, SHAKIEST)
        self._shake[row] = np.zeros(1)
        self._demonstrations.begin(row, rng, exploration)

    def act(self, rows: Rows, observations: Float32Array, readings: Readings) -> Float32Array:
        """The demonstrator's action, shaken; the grippers do as they are told."""
        actions = self._demonstrations.act(rows, observations, readings)
        for action, row in zip(actions, rows.tolist(), strict=True):
            drawn = self._scale[row] * self._rng[row].standard_normal(len(action))
            drawn[6::7] = 0.0
            self._shake[row] = 0.7 * self._shake[row] + 0.7 * drawn
            action += self._shake[row]
        return actions.clip(-1.0, 1.0)


class InterruptedDemonstrator:
    """The demonstrator, who for one episode stands still after a number of control periods."""

    def __init__(self, task: Task, after: int) -> None:
        """Act for `after` periods."""
        self._demonstrations = Demonstrations(task)
        self._after, self._done = after, 0
        self._last: Float32Array = np.zeros((1, task.actions.size), dtype=np.float32)
        self._last[:, 6::7] = -1.0  # shut

    def begin(self, row: int, rng: np.random.Generator, exploration: float) -> None:
        """The same person as without the stop."""
        self._demonstrations.begin(row, rng, exploration)

    def act(self, rows: Rows, observations: Float32Array, readings: Readings) -> Float32Array:
        """The demonstrator's action; then none, with the grippers as they were told last."""
        if self._done < self._after:
            self._last = self._demonstrations.act(rows, observations, readings)
            self._done += 1
            return self._last
        still = np.zeros_like(self._last)
        still[:, 6::7] = self._last[:, 6::7]
        return still
