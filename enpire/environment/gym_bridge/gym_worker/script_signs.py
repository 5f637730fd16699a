"""Signs that a person's own script keeps what it should not, or rounds its actions."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

VARIES, WHOLE = "varies", "whole"  # what is told of it
AGAIN = 8  # episodes at whose beginning the first answer is asked for again
FEWEST = 50  # actions
ALIKE = 1e-3  # by which two answers to one observation may differ: a GPU's rounding


class ScriptSigns:
    """Looks at what a script answers; `found` has the signs so far."""

    def __init__(self, fractions: bool) -> None:
        """fractions: whether an action has any, from lowest to highest."""
        self.found: list[str] = []
        self._fractions = fractions
        self._first: tuple[Any, Any] | None = None  # an observation, and what it did then
        self._again = self._count = 0
        self._varied = False  # whether another action was another than the first

    def begins(self, begun: Callable[[], Any]) -> None:
        """An episode is about to begin; begun: begins another one, for a function that acts."""
        if self._first is None or self._again == AGAIN or VARIES in self.found:
            return
        self._again += 1
        seen, before = self._first
        if not callable(acts := begun()):
            return
        now = np.asarray(acts(copy.deepcopy(seen)))
        numbers = before.dtype.kind in "iuf" and now.dtype.kind in "iuf"
        if numbers and not (before.shape == now.shape and np.allclose(now, before, atol=ALIKE)):
            self.found.append(VARIES)

    def answered(self, seen: Any, action: Any) -> None:
        """It has done this where it was shown that."""
        if self._first is None:
            self._first = copy.deepcopy(seen), np.array(action)
        if WHOLE in self.found or not self._fractions:
            return
        if not (isinstance(action, np.ndarray) and action.dtype.kind in "iu"):
            self._fractions = False  # it knows of fractions
            return
        self._varied = self._varied or not np.array_equal(self._first[1], action)
        self._count += 1
        if self._count >= FEWEST and self._varied:
            self.found.append(WHOLE)
