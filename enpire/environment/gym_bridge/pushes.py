"""Pushes that hold a script off its course for some periods, so that it shows the way back.

A script does the same each time, so what learns from it has never seen where its own errors lead.
Noise in what the script does makes up for that (DART, Laskey et al. 2017, arXiv 1703.09327). Here
an action is off by a constant for a while, and then the script corrects what came of it. What is
done under a push is nothing to learn from.
"""

from __future__ import annotations

import numpy as np

from enpire.types import Float32Array

LASTS = 3, 12  # periods of a push, from and to


class Pushes:
    """The pushes of one episode."""

    def __init__(self, rng: np.random.Generator, share: float) -> None:
        """share: of periods that are under a push, on average, from 0 to below 1."""
        self._rng, self._left = rng, 0
        apart = sum(LASTS) / 2 * (1.0 - share) / share if share else np.inf
        self._chance = 1.0 / (1.0 + apart)  # of a push's begin; `apart` periods have none till then
        self.free: list[bool] = []  # each period so far, whether it had none

    def changed(self, action: Float32Array) -> Float32Array:
        """The action (act,) of the next period, as it is carried out, in [-1, 1]."""
        if not self._left and self._rng.random() < self._chance:
            self._left = int(self._rng.integers(LASTS[0], LASTS[1], endpoint=True))
            self._offset = self._rng.uniform(-1.0, 1.0, action.shape).astype(np.float32)
        self.free.append(not self._left)
        if not self._left:
            return action
        self._left -= 1
        return (action + self._offset).clip(-1.0, 1.0)
