"""When a policy is in trouble: an estimate of success no longer rises, or its time is over."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from enpire.environment import FailureDetector
from enpire.types import Float32Array

EVERY = 5  # control periods from one look to the next
PROGRESS = 0.02  # by which the estimate has to rise, as a chance of success
LATEST = 0.95  # share of the time that the policy has, at most


@dataclass(slots=True)
class _Estimate:
    patience: int
    best: float = -1.0
    best_at: int = 0
    now: int = -1


class NoProgress:
    """Trouble is when the best estimate so far has not risen for a while.

    How long is drawn for the episode, between `patience` and twice that: so help comes at moments
    from the first sign of trouble to long after it. What is to be gone back to is where the
    estimate was best.
    """

    def __init__(
        self, value: Callable[[Float32Array], Float32Array], periods: int, patience: int
    ) -> None:
        """Judge by chances (N,) of observations (N, obs); periods: that the policy has."""
        self._value = value
        self._latest = int(LATEST * periods)
        self._patience = patience
        self._watched: dict[int, _Estimate] = {}

    def begin(self, row: int, rng: np.random.Generator) -> None:
        """Draw how long to wait."""
        patience = int(rng.integers(self._patience, 2 * self._patience + 1))
        self._watched[row] = _Estimate(patience)

    def trouble(self, row: int, observation: Float32Array) -> int | None:
        """See `FailureDetector.trouble`."""
        one = self._watched[row]
        one.now += 1
        if one.now % EVERY == 0:
            # Each station by itself: how many others are asked at a time must change nothing.
            chance = float(self._value(observation[None])[0])
            if chance > one.best + PROGRESS:
                one.best, one.best_at = chance, one.now
        late = one.now - one.best_at >= one.patience or one.now >= self._latest
        return one.best_at if late else None


class FromTheStart:
    """Has hands go back all the way: what is done from there looks like a demonstration."""

    def __init__(self, watch: FailureDetector) -> None:
        """Call for help when `watch` does."""
        self._watch = watch

    def begin(self, row: int, rng: np.random.Generator) -> None:
        """See `FailureDetector.begin`."""
        self._watch.begin(row, rng)

    def trouble(self, row: int, observation: Float32Array) -> int | None:
        """See `FailureDetector.trouble`."""
        return None if self._watch.trouble(row, observation) is None else 0
