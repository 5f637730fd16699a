"""Actions in an environment's own units, which LeRobot trains on as they are.

At PushT they are pixels, from 0 to 512. Ours are shares of an environment's bounds, in [-1, 1].
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from enpire.types import Float32Array, FloatArray

LEAST = 1e-12  # between bounds; an entry that is fixed has nothing there
SLACK = 0.05  # of the way between bounds, that statistics may lie beyond them


@dataclass(frozen=True, slots=True)
class OwnUnits:
    """The bounds of an environment's actions (act,), in its own units."""

    low: tuple[float, ...]
    high: tuple[float, ...]

    def theirs(self, observations: Float32Array) -> Float32Array:
        """Return what is shown, which is in its own units already."""
        return observations

    def actions(self, theirs: Float32Array) -> Float32Array:
        """Return actions (..., act), in [-1, 1], of its own."""
        ours: FloatArray = (theirs.astype(np.float64) - np.array(self.low)) * self.step - 1.0
        return ours.astype(np.float32)

    def told(self, actions: Float32Array) -> Float32Array:
        """Return its own of actions (..., act) in [-1, 1]: the inverse of `actions`."""
        theirs: FloatArray = np.array(self.low) + (actions.astype(np.float64) + 1.0) / self.step
        return theirs.astype(np.float32)

    @property
    def step(self) -> FloatArray:
        """What one of its own units is of an action, (act,)."""
        whole: FloatArray = 2.0 / np.maximum(np.subtract(self.high, self.low), LEAST)
        return whole

    def has(self, lowest: FloatArray, highest: FloatArray) -> bool:
        """Whether actions from `lowest` to `highest` (act,) are in its units, and not shares."""
        slack = SLACK * np.subtract(self.high, self.low)
        within = (lowest >= self.low - slack).all() and (highest <= self.high + slack).all()
        return bool(within and max(-lowest.min(), highest.max()) > 1.0 + SLACK)
