"""Signs that a script beside an environment keeps what it should not, or rounds its actions."""

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

    def __init__(self, space: Any) -> None:
        """space: of actions."""
        self.found: list[str] = []
        self._fractions = np.issubdtype(getattr(space, "dtype", None) or np.int64, np.floating)
        self._first: tuple[Any, Any] | None = None  # an observation, and what it did then
        self._again = self._count = 0
        self._one: Any = None  # an action
        self._varied = False  # whether another one was another

    def begins(self, acts: Callable[[Any], Any], seen: Any) -> None:
        """An episode begins with this; acts: a function that has no episode of its own."""
        if self._first is None:
            self._first = copy.deepcopy(seen), np.array(acts(copy.deepcopy(seen)))
        elif self._again < AGAIN and VARIES not in self.found:
            self._again += 1
            before = self._first[1]
            now = np.asarray(acts(copy.deepcopy(self._first[0])))
            numbers = before.dtype.kind in "iuf" and now.dtype.kind in "iuf"
            if numbers and not (before.shape == now.shape and np.allclose(now, before, atol=ALIKE)):
                self.found.append(VARIES)

    def answered(self, action: Any) -> None:
        """It has done this."""
        if WHOLE in self.found or not self._fractions:
            return
        if not (isinstance(action, np.ndarray) and action.dtype.kind in "iu"):
            self._fractions = False  # it knows of fractions
            return
        self._one = action.copy() if self._one is None else self._one
        self._varied = self._varied or not np.array_equal(self._one, action)
        self._count += 1
        if self._count >= FEWEST and self._varied:
            self.found.append(WHOLE)
