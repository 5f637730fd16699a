"""Time to success, and successes an hour: what a line cares for beside the success rate.

The time of an episode is robot time from the beginning of its reset to its verdict, in seconds.

Sources:
    David and Nagaraja, "Order Statistics", 2003, section 7.1: exact intervals of quantiles.
    Efron and Tibshirani, "An Introduction to the Bootstrap", 1993: means, resampled.
    Jeffreys, "An invariant form for the prior probability in estimation problems", Proceedings of
        the Royal Society A 1946: the success rate, also where nobody failed or succeeded.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from enpire.types import FloatArray

RESAMPLES = 1000
HOUR = 3600.0


@dataclass(frozen=True, slots=True)
class Interval95:
    """An estimate with its 95% interval; `high` is infinite where the data do not bound it."""

    value: float
    low: float
    high: float

    def as_json(self) -> dict[str, Any]:
        """Return it as plain values; a bound that is not finite as None."""
        bounds = [x if math.isfinite(x) else None for x in (self.low, self.high)]
        return {"value": self.value, "ci95": bounds}


@dataclass(frozen=True, slots=True)
class Throughput:
    """How fast a policy succeeds."""

    successes: int  # episodes that the times to success are of
    median: Interval95  # time that half of the successes take at most [s]
    slowest: Interval95  # time that 90% of the successes take at most [s]
    per_hour: Interval95  # successes per hour of robot time, that of failures included

    def as_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {
            "successes": self.successes,
            "median_s": self.median.as_json(),
            "p90_s": self.slowest.as_json(),
            "per_robot_hour": self.per_hour.as_json(),
        }


def throughput(times: Sequence[float], succeeded: Sequence[bool]) -> Throughput:
    """Return how fast a policy succeeds, by its judged episodes.

    The intervals of the times are exact for any distribution. That of the successes an hour is a
    bootstrap: the success rate is drawn from its distribution by Jeffreys' prior, the mean times of
    successes and of failures are resampled.

    Args:
        times: of each judged episode, from reset to verdict [s].
        succeeded: whether each was a success.
    """
    every, good = np.asarray(times, float), np.asarray(succeeded, bool)
    won = np.sort(every[good])
    return Throughput(len(won), quantile(won, 0.5), quantile(won, 0.9), _per_hour(every, good))


def quantile(ordered: FloatArray, share: float) -> Interval95:
    """Return a quantile with the interval between two of the values, exact for any distribution.

    ordered: ascending, (n,). A bound that would need more values is 0 below and infinite above.
    """
    count = len(ordered)
    if not count:
        return Interval95(math.nan, 0.0, math.inf)
    tail = 0.025  # of chance, on either side
    # The number of values up to the quantile is binomial, with probability `share` each.
    counts = range(count + 1)
    # P(fewer than `below`) <= tail, P(`above` or more) <= tail
    below = bisect_left(counts, tail, key=lambda k: special.bdtr(k, count, share))
    above = bisect_left(counts, -tail, key=lambda k: -special.bdtrc(k, count, share)) + 1
    low = float(ordered[below - 1]) if below >= 1 else 0.0
    high = float(ordered[above - 1]) if above <= count else math.inf
    return Interval95(float(np.quantile(ordered, share, method="inverted_cdf")), low, high)


def _per_hour(every: FloatArray, good: np.ndarray[Any, Any]) -> Interval95:
    total, count = float(every.sum()), len(every)
    if not total:
        return Interval95(math.nan, 0.0, math.inf)
    rng, won = np.random.default_rng(0), int(good.sum())
    rate = rng.beta(won + 0.5, count - won + 0.5, RESAMPLES)
    # Where there is no success, or no failure, to say how long one takes, the others say it.
    success_s, failure_s = (
        _means(every[of] if of.any() else every, rng) for of in (good, np.logical_not(good))
    )
    drawn = HOUR * rate / (rate * success_s + (1.0 - rate) * failure_s)
    value = HOUR * won / total
    low, high = (float(x) for x in np.quantile(drawn, [0.025, 0.975]))
    return Interval95(value, min(low, value), max(high, value))


def _means(values: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return means of resamples, (RESAMPLES,)."""
    means: FloatArray = rng.choice(values, (RESAMPLES, len(values))).mean(axis=1)
    return means


def text(figures: dict[str, Any]) -> str:
    """Say a throughput to a person, as `as_json` gives it; empty where there is no success."""
    if not figures["successes"]:
        return ""
    median, slowest, hourly = (figures[name] for name in ("median_s", "p90_s", "per_robot_hour"))
    return (
        f"time to success: half within {_with(median, 1)} s, 90% within {_with(slowest, 1)} s; "
        f"successes per robot-hour {_with(hourly, 0)}"
    )


def _with(figures: dict[str, Any], digits: int) -> str:
    low, high = ("-" if x is None else f"{x:.{digits}f}" for x in figures["ci95"])
    return f"{figures['value']:.{digits}f} [{low}, {high}]"
