"""Signs that a person's own script keeps what it should not, rounds its actions, or is slow."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from enpire.types import Float32Array

ALIKE = 1e-3  # by which two answers to one observation may differ: a GPU's rounding
AGAIN = 8  # episodes at whose beginning the first answer is asked for again
FEWEST = 50  # actions, from which on it is told that they are whole numbers
SLOW_S, TIMES = 1.0, 5  # of an answer, and how many of them in a row are told
WHOLE = "iu"  # NumPy's kinds of whole numbers
VARIES = (
    "it answers the observation that its first episode began with otherwise in a later one: does "
    "it keep something from one episode to the next, or draw without a seed? Keep that in what "
    "begin returns"
)
ROUNDED = (
    "its actions are whole numbers, where they go from lowest to highest in fractions: rounded, "
    "or cut off by their type?"
)


class ScriptWatch:
    """Looks at what a script answers, and says of each sign once what it may mean."""

    def __init__(
        self, tell: Callable[[str], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        """tell: takes a clause for a person. clock: of seconds."""
        self._tell, self._clock = tell, clock
        self._seen: Float32Array | None = None  # by its first action, and that action
        self._answer: NDArray[Any] | None = None
        self._again = self._whole = self._slow = 0
        self._all_whole, self._varies = True, False
        self._began = 0.0

    def begins(self, begun: Callable[[], Any]) -> None:
        """An episode is about to begin; begun: begins another one, for a function that acts."""
        if self._seen is None or self._answer is None or self._again == AGAIN:
            return
        self._again += 1
        acts = begun()
        if not callable(acts):
            return
        answer = np.asarray(acts(self._seen.copy()))
        if answer.shape == self._answer.shape and np.allclose(answer, self._answer, atol=ALIKE):
            return
        self._again = AGAIN
        self._tell(VARIES)

    def asked(self) -> None:
        """It is about to be asked for actions."""
        self._began = self._clock()

    def answered(self, seen: Float32Array, actions: list[NDArray[Any]], said: list[Any]) -> None:
        """It has shown these actions (act,) for observations (m, obs); said: as it gave them."""
        if self._seen is None:
            self._seen, self._answer = seen[0].copy(), actions[0].copy()
        took = (self._clock() - self._began) / len(actions)
        self._slow = self._slow + 1 if took >= SLOW_S else 0
        if self._slow == TIMES:
            self._tell(
                f"each of its actions takes {took:.2g} s: on a twin time stands still meanwhile, "
                "and an arm would not wait"
            )
        self._all_whole &= all(isinstance(a, np.ndarray) and a.dtype.kind in WHOLE for a in said)
        self._varies |= self._answer is not None and any((a != self._answer).any() for a in actions)
        if not self._all_whole or self._whole > FEWEST:
            return
        self._whole += len(actions)
        if self._whole > FEWEST and self._varies:
            self._tell(ROUNDED)
