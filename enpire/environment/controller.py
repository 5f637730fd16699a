"""What acts in an episode: a policy, a demonstrator, or chance."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from enpire.environment.sensing import Readings
from enpire.environment.task import Demonstrator, Task
from enpire.twin.twin import Rows
from enpire.types import Float32Array


class Controller(Protocol):
    """Acts for the stations that run an episode under it, all of them in one call."""

    def begin(self, row: int, rng: np.random.Generator, exploration: float) -> None:
        """An episode starts on station `row`; forget the last one there."""
        ...

    def act(self, rows: Rows, observations: Float32Array, readings: Readings) -> Float32Array:
        """Actions, shape (m, act) in [-1, 1], for observations of shape (m, obs)."""
        ...


class Demonstrations:
    """The task's scripted expert, one for each episode."""

    def __init__(self, task: Task) -> None:
        """Demonstrate `task`."""
        self._task = task
        self._experts: dict[int, Demonstrator] = {}

    def begin(self, row: int, rng: np.random.Generator, exploration: float) -> None:
        """Another person takes over the station."""
        self._experts[row] = self._task.demonstrator(rng)

    def act(self, rows: Rows, observations: Float32Array, readings: Readings) -> Float32Array:
        """Each expert's own action."""
        actions = [self._experts[int(row)].act(readings.row(i)) for i, row in enumerate(rows)]
        return np.stack(actions)


class RandomActions:
    """Every action uniform in [-1, 1] and independent of the last."""

    def __init__(self, size: int) -> None:
        """Actions of `size` entries."""
        self._size = size
        self._rng: dict[int, np.random.Generator] = {}

    def begin(self, row: int, rng: np.random.Generator, exploration: float) -> None:
        """Draw from the episode's own generator."""
        self._rng[row] = rng

    def act(self, rows: Rows, observations: Float32Array, readings: Readings) -> Float32Array:
        """One draw for each."""
        draws = [self._rng[int(row)].uniform(-1.0, 1.0, self._size) for row in rows]
        return np.array(draws, dtype=np.float32)
