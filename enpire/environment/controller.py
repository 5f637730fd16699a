"""What acts in an episode: a policy, or a demonstrator."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from enpire.environment.sensing import Readings
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
