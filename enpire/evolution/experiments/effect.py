"""What an experiment came to: candidate against base on the same seeds.

Source:
    Tango, "Equivalence test and confidence interval for the difference in proportions for the
        paired-sample design", Statistics in Medicine 1998.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from scipy import optimize, special

from enpire.rollout.evaluation.comparison import PairedRecord

NEARLY_ONE = 1.0 - 1e-9


@dataclass(frozen=True, slots=True)
class Effect:
    """The difference of success rates, candidate less base, with its 95% interval.

    The interval is Tango's, for a number of pairs fixed in advance. Who was promoted by a test that
    looks after every pair is a little flattered by it.
    """

    record: PairedRecord

    @property
    def difference(self) -> float:
        """The difference of the success rates, in [-1, 1]; NaN when nothing was measured."""
        pairs = self.record.pairs
        return (self.record.wins - self.record.losses) / pairs if pairs else math.nan

    @property
    def interval(self) -> tuple[float, float]:
        """Low and high end, at 95%; all of [-1, 1] when nothing was measured."""
        return difference_interval(self.record)

    def __str__(self) -> str:
        if not self.record.pairs:
            return "not measured"
        low, high = self.interval
        return f"{self.difference:+.3f} [{low:+.3f}, {high:+.3f}] of {self.record.pairs} pairs"


def pooled(records: Iterable[PairedRecord]) -> PairedRecord:
    """All pairs of several records together."""
    known = list(records)
    counts = ((r.wins, r.losses, r.ties) for r in known)
    return PairedRecord(*map(sum, zip(*counts, strict=True))) if known else PairedRecord()


def difference_interval(record: PairedRecord) -> tuple[float, float]:
    """The 95% interval of a difference of two success rates, from pairs (Tango's score interval).

    All differences d that a score test does not refute: with n pairs, w won, l lost,

        z(d) = (w - l - n d) / sqrt(n (2 p + d (1 - d)))

    where p is the most likely chance of a loss, were d true. z falls as d grows.
    """
    if not record.pairs:
        return -1.0, 1.0
    quantile = -float(special.ndtri(0.025))

    def end(score: float) -> float:
        def off(d: float) -> float:
            return _score(record, d) - score

        if off(-NEARLY_ONE) <= 0.0:
            return -1.0
        if off(NEARLY_ONE) >= 0.0:
            return 1.0
        return float(optimize.brentq(off, -NEARLY_ONE, NEARLY_ONE, xtol=1e-9))

    return end(quantile), end(-quantile)


def _score(record: PairedRecord, d: float) -> float:
    wins, losses, n = record.wins, record.losses, record.pairs
    a = 2.0 * n
    b = -wins - losses + (2 * n - wins + losses) * d
    c = -losses * d * (1.0 - d)
    p = (math.sqrt(max(b * b - 4.0 * a * c, 0.0)) - b) / (2.0 * a)
    return (wins - losses - n * d) / math.sqrt(max(n * (2.0 * p + d * (1.0 - d)), 1e-300))
