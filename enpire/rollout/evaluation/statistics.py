"""What may be claimed from a count of episodes: intervals, sealed evaluations, audits.

Counts are of judged episodes, success or failure. Settings a person can mistype (a confidence, a
target, an alpha) raise UsageError; counts that cannot be are a fault of the caller: ValueError.

Sources:
    Clopper and Pearson, "The use of confidence or fiducial limits", Biometrika 1934.
    Rogan and Gladen, "Estimating prevalence from the results of a screening test", American Journal
        of Epidemiology 1978: a rate seen through a judge whose errors are known.
    Lang and Reiczigel, "Confidence limits for prevalence of disease adjusted for estimated
        sensitivity and specificity", Preventive Veterinary Medicine 2014.
    Zou and Donner, "Construction of confidence intervals about effect measures: a general
        approach", Statistics in Medicine 2008 (MOVER): the interval of a sum of independent
        estimates, by how far the interval of each reaches.
    Mantel and Haenszel, "Statistical aspects of the analysis of data from retrospective studies of
        disease", Journal of the National Cancer Institute 1959: like is compared with like, in
        strata, and what is found there added up.
    Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of
        Statistics 1979: of many tests, none wrongly positive with a chance for all together.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from enpire.errors import UsageError
from enpire.types import Estimate, FloatArray, with_interval

# Intervals

PARTS = 1000  # equally likely parts of a rate's distribution, in whose middles it is looked at


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean of success rates with the episodes of all and its 95% interval."""

    rate: float
    trials: int
    low: float
    high: float

    def __str__(self) -> str:
        if not self.trials:
            return "not measured"
        return with_interval(self.rate, self.low, self.high, self.trials)


def estimate(successes: int, trials: int, confidence: float = 0.95) -> Estimate:
    """Success rate with its exact two-sided interval (Clopper and Pearson).

    Covers the true rate with probability at least `confidence` for a number of trials fixed in
    advance, and for an evaluation cut short by `sealed_hopeless` too. It does not for one cut short
    because it went well: `SealedRule.interval` is for those. Nothing measured gives [0, 1].
    """
    tail = (1.0 - _fraction("confidence", confidence)) / 2.0
    low = _lower(successes, trials, tail)
    high = 1.0 - _lower(trials - successes, trials, tail)
    return Estimate(successes, trials, low, high)


def together(one: Estimate, other: Estimate) -> Estimate:
    """Return the rate of two sets of trials, which have none in common, as of one."""
    return estimate(one.successes + other.successes, one.trials + other.trials)


def chance_above(one: Estimate, other: Estimate) -> float:
    """Return the chance that the first true rate is above the second, from counts alone.

    Before the counts every rate was as likely. Independent episodes are assumed.
    """
    shares = (np.arange(PARTS) + 0.5) / PARTS
    rates = special.betaincinv(one.successes + 1, one.trials - one.successes + 1, shares)
    below = special.betainc(other.successes + 1, other.trials - other.successes + 1, rates)
    return float(below.mean())


def averaged(each: Sequence[Estimate]) -> Mean:
    """The mean of independent rates, each as heavy as the others, with its interval (MOVER).

    That of one is its own. Those that nothing was measured of are left out.
    """
    some = [one for one in each if one.trials]
    if not some:
        return Mean(math.nan, 0, 0.0, 1.0)
    rate = sum(one.rate for one in some) / len(some)
    below = math.hypot(*(one.rate - one.low for one in some)) / len(some)
    above = math.hypot(*(one.high - one.rate for one in some)) / len(some)
    return Mean(rate, sum(one.trials for one in some), rate - below, rate + above)


def lower_bound(successes: int, trials: int, confidence: float = 0.95) -> float:
    """Rate that the true one is not below, one-sided (Clopper and Pearson).

    To claim a rate p at 95% without a single failure takes log(0.05) / log(p) trials: 299 for 0.99.
    """
    return _lower(successes, trials, 1.0 - _fraction("confidence", confidence))


def _lower(successes: int, trials: int, tail: float) -> float:
    """Rate at which `successes` or more of `trials` have probability `tail`."""
    if not 0 <= successes <= trials:
        raise ValueError(f"{successes} of {trials} is no count: give 0 <= part <= trials")
    if successes == 0:
        return 0.0
    return float(special.betaincinv(successes, trials - successes + 1, tail))


# Sealed evaluation


def misses_allowed(target: float, trials: int) -> int:
    """Largest number of failures in `trials` with which the point estimate still is >= `target`.

    Agrees with `Estimate.rate >= target` to the last bit: 1 for 0.9 of 10.
    """
    if not 0.0 <= target <= 1.0:
        raise UsageError(f"target is {target}: give a success rate in [0, 1]")
    if trials < 1:
        raise UsageError(f"trials is {trials}: a sealed evaluation needs at least 1")
    return trials - bisect_left(range(trials + 1), target, key=lambda hits: hits / trials)


def sealed_hopeless(failures: int, trials: int, target: float) -> bool:
    """Whether `target` is out of reach: more failures already than all `trials` planned may hold.

    Ending a sealed evaluation here is fair, since whatever the remaining trials brought it would
    have failed; no evaluation that could pass is ended. `trials` is fixed before the first one.
    """
    return failures > misses_allowed(target, trials)


# Rates seen through a verifier that errs


@dataclass(frozen=True, slots=True)
class Confusion:
    """Verdicts against the truth: `said` success or failure where it `was` the one or the other."""

    said_success_was_success: int = 0
    said_success_was_failure: int = 0
    said_failure_was_success: int = 0
    said_failure_was_failure: int = 0

    def __post_init__(self) -> None:
        if min(astuple(self)) < 0:
            raise ValueError(f"{self} counts below zero")

    def __add__(self, other: Confusion) -> Confusion:
        return Confusion(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))

    @classmethod
    def of(cls, *, said: bool, was: bool) -> Confusion:
        """One episode."""
        return cls(said and was, said and not was, not said and was, not said and not was)

    @property
    def trials(self) -> int:
        """Episodes in all."""
        return sum(astuple(self))

    @property
    def agreed(self) -> int:
        """Episodes that were judged as they were."""
        return self.said_success_was_success + self.said_failure_was_failure

    @property
    def successes(self) -> int:
        """True ones."""
        return self.said_success_was_success + self.said_failure_was_success

    @property
    def failures(self) -> int:
        """True ones."""
        return self.said_success_was_failure + self.said_failure_was_failure


@dataclass(frozen=True, slots=True)
class CorrectedRate:
    """A success rate corrected for the verifier's errors, with its interval; all in [0, 1]."""

    rate: float
    low: float
    high: float


def rogan_gladen(
    successes: int, trials: int, audit: Confusion, confidence: float = 0.95
) -> CorrectedRate | None:
    """The true rate behind `successes` of `trials` verdicts (Rogan and Gladen).

    With sensitivity Se and specificity Sp as the audit found them and p the rate of the verdicts,
    (p + Sp - 1) / (Se + Sp - 1), clipped to [0, 1]. The interval is Lang and Reiczigel's, which
    carries the uncertainty of all three. None if nothing was measured, if the audit lacks true
    successes or true failures, or if its verdicts tell nothing (Se + Sp <= 1).
    """
    tail = (1.0 - _fraction("confidence", confidence)) / 2.0
    if not 0 <= successes <= trials:
        raise ValueError(f"{successes} of {trials} is no count: give 0 <= part <= trials")
    if not trials or not audit.successes or not audit.failures:
        return None
    sensitivity = audit.said_success_was_success / audit.successes
    specificity = audit.said_failure_was_failure / audit.failures
    if sensitivity + specificity <= 1.0:
        return None
    rate = (successes / trials + specificity - 1.0) / (sensitivity + specificity - 1.0)
    z = -float(special.ndtri(tail))
    n, of_success, of_failure = trials + z**2, audit.successes + 2, audit.failures + 2
    p = (successes + z**2 / 2) / n
    se = (audit.said_success_was_success + 1) / of_success
    sp = (audit.said_failure_was_failure + 1) / of_failure
    if se + sp <= 1.0:
        return None
    centre = (p + sp - 1.0) / (se + sp - 1.0)
    from_success, from_failure = se * (1 - se) / of_success, sp * (1 - sp) / of_failure
    shift = 2 * z**2 * (centre * from_success - (1 - centre) * from_failure)
    spread = math.sqrt(
        p * (1 - p) / n + centre**2 * from_success + (1 - centre) ** 2 * from_failure
    ) / (se + sp - 1.0)
    low, high = centre + shift - z * spread, centre + shift + z * spread
    return CorrectedRate(*(min(max(x, 0.0), 1.0) for x in (rate, low, high)))


# Stations that are not like the others


@dataclass(frozen=True, slots=True)
class Stratum:
    """Judged episodes of one kind, a policy's say: of one station, and of all, its own included."""

    successes: int
    trials: int
    all_successes: int
    all_trials: int

    @property
    def expected(self) -> float:
        """Successes that the station would have with the rate of all."""
        return self.trials * self.all_successes / self.all_trials


def chance_alike(strata: Iterable[Stratum]) -> float:
    """How often a station that is like the others is as far from them, either way, as this one.

    Exactly (twice the smaller tail), given how many episodes of each stratum it ran and how many
    succeeded in all: then its successes there are hypergeometric (Fisher), and those of all strata
    the sum. 1.0 without an episode.
    """
    chances: FloatArray = np.ones(1)  # of 0, 1, ... successes in the strata so far
    successes = 0
    for stratum in strata:
        chances = np.convolve(chances, _hypergeometric(stratum)).astype(np.float64, copy=False)
        successes += stratum.successes
    below, above = chances[: successes + 1].sum(), chances[successes:].sum()
    return min(1.0, 2.0 * float(min(below, above)))


def _hypergeometric(stratum: Stratum) -> FloatArray:
    """Return the chances of 0, 1, ... successes of the station in a stratum, (trials + 1,)."""
    won, lost = stratum.all_successes, stratum.all_trials - stratum.all_successes
    successes = np.arange(stratum.trials + 1)
    logarithms = (
        _log_choose(won, successes)
        + _log_choose(lost, stratum.trials - successes)
        - _log_choose(stratum.all_trials, np.array(stratum.trials))
    )
    chances: FloatArray = np.exp(logarithms)
    return chances


def _log_choose(of: int, some: NDArray[np.int_]) -> FloatArray:
    """Return the logarithm of how many ways there are to choose; minus infinity for none."""
    chosen: FloatArray = (
        special.gammaln(of + 1) - special.gammaln(some + 1) - special.gammaln(of - some + 1)
    )
    return chosen


# Binomial chances. `scipy.stats` has them too, but takes half a second to load.


def binomial(hits: NDArray[np.int_], trials: int, rate: float) -> FloatArray:
    """Return the chances of exactly so many hits in independent trials, each one at `rate`."""
    logarithms = (
        _log_choose(trials, hits)
        + special.xlogy(hits, rate)
        + special.xlog1py(np.maximum(trials - hits, 0), -rate)
    )
    chances: FloatArray = np.exp(logarithms)
    return chances


def at_least(hits: NDArray[np.int_] | int, trials: int, rate: float) -> FloatArray:
    """Return the chances of so many hits or more in independent trials, each one at `rate`."""
    chances: FloatArray = special.bdtrc(np.minimum(hits, trials + 1) - 1, trials, rate)
    return chances


# Many tests at once


def unlikely[K](chances: Mapping[K, float], alpha: float) -> set[K]:
    """The hypotheses of many tests, by their p-values, that do not hold (Holm).

    Where all hold, any is named with probability `alpha` at most.
    """
    found: set[K] = set()
    for left, test in zip(
        range(len(chances), 0, -1), sorted(chances, key=lambda k: chances[k]), strict=True
    ):
        if chances[test] > alpha / left:
            break
        found.add(test)
    return found


# Use of the robots


def mru(execute_s: float, total_s: float) -> float:
    """Share of robot time spent executing, in [0, 1]; not a number before any time has passed.

    execute_s: seconds executing a policy. total_s: seconds in all, of the same stations and clock.
    """
    if not total_s > 0.0:
        return math.nan
    return min(max(execute_s / total_s, 0.0), 1.0)


def _fraction(name: str, value: float) -> float:
    """`value` if it lies strictly between 0 and 1."""
    if not 0.0 < value < 1.0:
        raise UsageError(f"{name} is {value}: give a number between 0 and 1, both excluded")
    return value
