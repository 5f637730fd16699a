"""How much of what a policy or a script asks for is beyond what a station carries out."""

from __future__ import annotations

import logging

import numpy as np

from enpire.types import Float32Array

LOG = logging.getLogger(__name__)
LIMIT, ROUNDED = 1.0, 1e-3  # of an action's entries, and how far beyond is still that
SHARE, FEWEST = 0.1, 50  # of actions, from which it is said, once so many have come


class ClippedActions:
    """Counts actions with an entry beyond [-1, 1], which stations clip, and says once if many."""

    def __init__(self, name: str) -> None:
        """name: of the policy, for a person."""
        self._name = name
        self._all = self._clipped = 0
        self._largest, self._said = 0.0, False

    def count(self, actions: Float32Array) -> None:
        """Actions of any shape (..., act)."""
        sizes = np.abs(actions).max(axis=-1)
        self._all += sizes.size
        self._clipped += int((sizes > LIMIT + ROUNDED).sum())
        self._largest = max(self._largest, float(sizes.max(initial=0.0)))
        if not self._said and self._all >= FEWEST and self.text:
            self._said = True
            LOG.warning("%s", self.text)

    @property
    def share(self) -> float:
        """The share of actions so far that are clipped."""
        return self._clipped / self._all if self._all else 0.0

    @property
    def text(self) -> str:
        """A sentence for a person; empty while it is no more than happens."""
        if self.share < SHARE:
            return ""
        return (
            f"{self._name}: {self.share:.0%} of its {self._all} actions are beyond [-1, 1], up to "
            f"{self._largest:.3g}, and are clipped: another unit, or another task's?"
        )
