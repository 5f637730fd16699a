"""When a sealed evaluation is over, and what it then shows: a sequential test of a success rate.

A policy's true success rate is p. The evaluation tests, episode by episode,

    p <= null    against    p >= good

by Wald's probability ratio. The target is reached once the ratio is 1 / alpha, on no fewer than
`least` episodes, with a point estimate of at least the target. It is missed once the ratio is
`OVERLOOKED`, or at `most` episodes. A policy whose p is `null` or less reaches it with probability
`alpha` at most, by Ville's inequality, however often one looks.

A loop may try again with another policy. Attempt k has alpha_k = `ERRORS` / (k (k + 1)), and these
add up to `ERRORS` over however many attempts there are. So that is the chance that a loop, all of
whose policies are truly at `null` or below, ever says "reached".

Sources:
    Wald, "Sequential tests of statistical hypotheses", Annals of Mathematical Statistics 1945.
    Ville, "Étude critique de la notion de collectif", 1939: a bound over all times.
    Foster and Stine, "Alpha-investing", Journal of the Royal Statistical Society B 2008, and
        Javanmard and Montanari, "Online rules for control of false discovery rate and false
        discovery exceedance", Annals of Statistics 2018: levels for tests that come one by one.
    Jennison and Turnbull, "Group Sequential Methods", 2000, chapter 8: intervals after a sequential
        test, by an order of its outcomes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, cached_property

import numpy as np

from enpire.errors import UsageError
from enpire.rollout.evaluation.statistics import estimate, misses_allowed
from enpire.types import Estimate, Flags, FloatArray

ERRORS = 0.1  # chance that a loop of policies at `null` ever says that the target is reached
OVERLOOKED = 0.1  # about the chance that a policy at `good` is missed before `most` episodes
MOST = 3  # times the episodes that a policy at `good` takes on average, after which it is missed
POINT, LOWER = "point", "lower"  # kinds of bound that the target is held against


class SealedVerdict(StrEnum):
    """What a sealed evaluation has come to so far."""

    REACHED = "reached"
    MISSED = "missed"
    OPEN = "open"


def attempt_level(attempt: int) -> float:
    """The share of `ERRORS` that an attempt may spend, the first one being 1: half, a sixth, ..."""
    if attempt < 1:
        raise ValueError(f"attempt {attempt}: the first one is 1")
    return ERRORS / (attempt * (attempt + 1))


@dataclass(frozen=True)
class SealedRule:
    """A sealed evaluation's rule, fixed before its first episode."""

    target: float  # success rate that the point estimate must have
    null: float  # rate that must not pass for the target
    good: float  # rate that should pass; above `null`
    alpha: float  # largest chance that a policy at `null` or below reaches the target
    least: int  # fewest episodes that reach it
    most: int  # episodes after which it is missed

    @classmethod
    def of(cls, target: float, episodes: int, attempt: int = 1, bound: str = POINT) -> SealedRule:
        """Return the rule of a loop's attempt.

        With `point`, `null` lies below the target by half the failures that the target allows (by
        half the target where that is less), and `good` lies above it by as much. With `lower`,
        `null` is the target itself: whatever reaches it has a lower bound of at least the target.
        Where the target is 1, `null` is what `episodes` without a failure can show.

        Args:
            target: success rate to be reached, in (0, 1].
            episodes: fewest episodes that may reach it; more where `alpha` asks for more.
            attempt: the how many-th of the loop, from 1.
            bound: `POINT` or `LOWER`.

        Raises:
            UsageError: a lower bound of 1 is asked for, which no number of episodes can show.
        """
        misses_allowed(target, episodes)  # refuses what is no target, or no number
        alpha = attempt_level(attempt)
        half = min(target, 1.0 - target) / 2.0
        null, good = target - half, target + half
        if bound == LOWER:
            null, good = target, target + (1.0 - target) / 2.0
            if target == 1.0:
                raise UsageError("no lower bound can be 1: give --target below 1, or no `lower`")
        elif target == 1.0:
            null = math.exp(math.log(attempt_level(1)) / episodes)
        gain, loss = _steps(null, good)
        least = max(episodes, math.ceil(math.log(1.0 / alpha) / gain - 1e-9))
        # Wald's approximation of the mean number at `good`, of either end by its probability.
        end = (1.0 - OVERLOOKED) * math.log(1.0 / alpha) + OVERLOOKED * math.log(OVERLOOKED)
        drift = good * gain - ((1.0 - good) * loss if good < 1.0 else 0.0)
        most = MOST * max(least, math.ceil(end / drift))
        return cls(target, null, good, alpha, least, most)

    def __str__(self) -> str:
        """Say the rule to a person."""
        return (
            f"The target of {self.target:g} is reached on {self.least} to {self.most} episodes; by "
            f"a policy that truly succeeds at {self.null:g} or less with a chance of at most "
            f"{self.alpha:.2g}"
        )

    def verdict(self, failures: int, trials: int) -> SealedVerdict:
        """Say whether the target is reached, missed or still open after so many episodes."""
        if trials >= self.soonest(failures):
            return SealedVerdict.REACHED
        hopeless = self.soonest(failures) > self.most
        if hopeless or trials <= self._missed_until(failures) or trials >= self.most:
            return SealedVerdict.MISSED
        return SealedVerdict.OPEN

    def soonest(self, failures: int) -> int:
        """Episodes at which so many failures reach the target; `most` + 1 if none do."""
        bounds = self._soonest
        return bounds[failures] if failures < len(bounds) else self.most + 1

    @cached_property
    def _soonest(self) -> tuple[int, ...]:
        gain, loss = _steps(self.null, self.good)
        bounds: list[int] = []
        while True:
            failures = len(bounds)
            if failures and loss == math.inf:
                break
            ratio = math.log(1.0 / self.alpha) + (failures * loss if failures else 0.0)
            trials = max(self.least, failures + math.ceil(ratio / gain - 1e-9))
            while trials <= self.most and failures > misses_allowed(self.target, trials):
                trials += 1
            if trials > self.most:
                break
            bounds.append(trials)
        return tuple(bounds)

    def _missed_until(self, failures: int) -> float:
        """Episodes up to which so many failures have missed the target."""
        gain, loss = _steps(self.null, self.good)
        return failures + (failures * loss + math.log(OVERLOOKED)) / gain if failures else -1.0

    # What it is worth, exactly

    def characteristic(self, rate: float) -> OperatingCharacteristic:
        """Return what comes of a policy that truly succeeds at `rate`."""
        ends = self._ends
        chance = ends.chance(rate)
        return OperatingCharacteristic(
            rate, float(chance[ends.reached].sum()), float((chance * ends.trials).sum())
        )

    def ends_at(self, failures: int, trials: int) -> bool:
        """Return whether an evaluation can end with these counts."""
        return self._ends.find(failures, trials) is not None

    def bound(self, failures: int, trials: int) -> float:
        """Return the rate that the true one is not below, at a confidence of 1 - `alpha`.

        It is exact for this test: the rate at which an outcome as good as this one, or better, has
        probability `alpha`. Of an evaluation that reached the target it is never below `null`.
        """
        return self._ends.where_as_good(failures, trials, self.alpha)

    def interval(self, failures: int, trials: int, confidence: float = 0.95) -> Estimate:
        """Return the estimate with its two-sided interval, exact for this test.

        An evaluation that is not over has the interval of a fixed number of episodes.
        """
        if self.verdict(failures, trials) is SealedVerdict.OPEN:
            return estimate(trials - failures, trials, confidence)
        tail = (1.0 - confidence) / 2.0
        low = self._ends.where_as_good(failures, trials, tail)
        high = self._ends.where_as_bad(failures, trials, tail)
        return Estimate(trials - failures, trials, low, high)

    @property
    def _ends(self) -> _Ends:
        return _ends(self)


def _steps(null: float, good: float) -> tuple[float, float]:
    """The steps by which the logarithm of the ratio rises at a success, and falls at a failure."""
    loss = math.inf if good >= 1.0 else math.log((1.0 - null) / (1.0 - good))
    return math.log(good / null), loss


@dataclass(frozen=True, slots=True)
class OperatingCharacteristic:
    """What a sealed evaluation does with a policy that truly succeeds at `rate`."""

    rate: float
    reached: float  # chance that the target is reached
    episodes: float  # how many it takes on average


@dataclass(frozen=True, slots=True)
class _Ends:
    """All ways in which an evaluation can end, best first; arrays (n,)."""

    trials: FloatArray
    failures: FloatArray
    reached: Flags
    paths: FloatArray  # logarithm of the number of orders of successes and failures that end there

    def chance(self, rate: float) -> FloatArray:
        """Return the chance of each end at a true rate."""
        if rate <= 0.0 or rate >= 1.0:
            sure = self.failures == (0.0 if rate >= 1.0 else self.trials)
            return np.where(sure, 1.0, 0.0)
        hits = self.trials - self.failures
        said = self.paths + hits * math.log(rate) + self.failures * math.log1p(-rate)
        chance: FloatArray = np.exp(said)
        return chance

    def where_as_good(self, failures: int, trials: int, tail: float) -> float:
        """Return the rate at which an end as good as this one, or better, has chance `tail`."""
        at = self._require(failures, trials)
        if self.failures[at] == self.trials[at]:
            return 0.0
        return _crossing(lambda rate: float(self.chance(rate)[: at + 1].sum()) - tail)

    def where_as_bad(self, failures: int, trials: int, tail: float) -> float:
        """Return the rate at which an end as bad as this one, or worse, has chance `tail`."""
        at = self._require(failures, trials)
        if self.failures[at] == 0:
            return 1.0
        return _crossing(lambda rate: tail - float(self.chance(rate)[at:].sum()))

    def find(self, failures: int, trials: int) -> int | None:
        """Return the index of the end with these counts; None if no evaluation ends so."""
        matches = np.flatnonzero((self.failures == failures) & (self.trials == trials))
        return int(matches[0]) if len(matches) else None

    def _require(self, failures: int, trials: int) -> int:
        index = self.find(failures, trials)
        if index is None:
            raise ValueError(f"no evaluation ends with {failures} failures in {trials} episodes")
        return index


def _crossing(rising: Callable[[float], float]) -> float:
    """Return where in [0, 1] a rising function crosses zero."""
    low, high = 0.0, 1.0
    while high - low > 1e-9:
        middle = (low + high) / 2.0
        if rising(middle) > 0.0:
            high = middle
        else:
            low = middle
    return low


@cache
def _ends(rule: SealedRule) -> _Ends:
    """Count the ways to each end, by going through the episodes one by one."""
    found: list[tuple[int, int, bool, float]] = []
    paths: FloatArray = np.zeros(1)  # logarithm, by failures so far, of those still open
    for trials in range(1, rule.most + 1):
        paths = np.logaddexp(np.append(paths, -np.inf), np.append(-np.inf, paths))
        for failures in np.flatnonzero(paths > -np.inf):
            verdict = rule.verdict(int(failures), trials)
            if verdict is not SealedVerdict.OPEN:
                reached = verdict is SealedVerdict.REACHED
                found.append((trials, int(failures), reached, float(paths[failures])))
                paths[failures] = -np.inf
        some = np.flatnonzero(paths > -np.inf)
        if not len(some):
            break
        paths = paths[: some[-1] + 1]
    # Reached sooner is better; then missed later is better, and among those with fewer failures.
    found.sort(key=lambda end: (not end[2], end[0] if end[2] else -end[0], end[1]))
    return _Ends(
        np.array([end[0] for end in found], float),
        np.array([end[1] for end in found], float),
        np.array([end[2] for end in found], bool),
        np.array([end[3] for end in found], float),
    )
