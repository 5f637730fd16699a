"""How many pairs a comparison may take: more of them where the incumbent is good.

An incumbent that fails seldom leaves few pairs that tell anything. So the limit follows from its
success: the fewest pairs that have an even chance to show a candidate which has half its failures.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy import special

from enpire.rollout.evaluation.comparison import (
    EXTENSION,
    HORIZON,
    PROMISING,
    Stopping,
    prospect,
    stopping,
)
from enpire.rollout.evaluation.statistics import at_least, binomial
from enpire.types import Estimate, Flags, FloatArray

LEAST_PAIRS = 100  # fewest that a comparison may take
EVEN = 0.5  # chance to show that half of the failures are gone, for which there are enough pairs
FINE = 0.02  # part of the limit that it is found to
DIGITS = 3  # of the incumbent's success that count


@dataclass(frozen=True, slots=True)
class LimitedProspect:
    """What a comparison with a limit of pairs does: the chance to promote, and its mean pairs."""

    promoted: float
    pairs: float


def enough_pairs(incumbent: Estimate, target: float, alpha: float = 0.05) -> int:
    """Return the limit of pairs against an incumbent, as `decide` takes it.

    The incumbent's success is the mean of what its evaluations leave open (Laplace), and the target
    where that is less: what lies above the target is for a sealed evaluation to say.
    """
    return _enough(_success(incumbent, target), alpha)


def expected_pairs(
    incumbent: Estimate, target: float, max_pairs: int, alpha: float = 0.05
) -> float:
    """Return the mean pairs of a comparison with a candidate that has half of the failures.

    Args:
        incumbent: see `enough_pairs`; so is target.
        max_pairs: see `decide`; so is alpha.
    """
    win, loss = _halved(_success(incumbent, target))
    if win + loss <= 0.0:
        return max_pairs  # nothing tells the two apart
    return limited_prospect(win, loss, max_pairs, alpha).pairs


def _success(incumbent: Estimate, target: float) -> float:
    success = (incumbent.successes + 1) / (incumbent.trials + 2)
    return round(min(success, target), DIGITS)


def _halved(success: float) -> tuple[float, float]:
    """Return how often a candidate with half the failures succeeds alone, and the incumbent."""
    better = (1.0 + success) / 2.0
    return better * (1.0 - success), success * (1.0 - better)


@cache
def _enough(success: float, alpha: float) -> int:
    win, loss = _halved(success)
    low, high = LEAST_PAIRS - 1, LEAST_PAIRS
    if win + loss <= 0.0 or prospect(stopping(alpha), win / (win + loss)).promoted <= EVEN:
        return LEAST_PAIRS  # no number of pairs is enough
    while limited_prospect(win, loss, high, alpha).promoted < EVEN:
        low, high = high, 2 * high
    while high - low > FINE * high:
        middle = (low + high) // 2
        if limited_prospect(win, loss, middle, alpha).promoted < EVEN:
            low = middle
        else:
            high = middle
    return high


def limited_prospect(
    win: float, loss: float, max_pairs: int, alpha: float = 0.05
) -> LimitedProspect:
    """Return exactly what `decide` does with a candidate under a limit of pairs.

    Args:
        win: chance that the candidate alone succeeds on a seed.
        loss: chance that the incumbent alone does.
        max_pairs: see `decide`; `EXTENSION` times as many while the candidate is promising.
        alpha: see `decide`.
    """
    rule, differ = stopping(alpha), win + loss
    extended = _extended(rule, win / differ, (EXTENSION - 1) * max_pairs, differ)
    counts = np.arange(HORIZON + 1)
    at_limit = binomial(counts, max_pairs, differ)  # discordant pairs by the limit
    beyond = at_least(counts, max_pairs, differ)
    alive: FloatArray = np.zeros(HORIZON + 1)  # by how many were won, of those not decided yet
    alive[0] = 1.0
    promoted = discordant = 0.0
    for at, (promote, keep) in enumerate(zip(rule.promote, rule.keep, strict=True)):
        discordant += float(alive.sum() * beyond[at]) if at else 0.0
        promoted += float(alive[counts >= promote].sum() * beyond[at])
        alive = np.where((counts < promote) & (counts > keep), alive, 0.0)
        promoted += float((alive * extended.promoted[at]).sum() * at_limit[at])
        discordant += float((alive * extended.discordant[at]).sum() * at_limit[at])
        alive = alive * (1.0 - win / differ) + np.append(0.0, alive[:-1] * (win / differ))
    return LimitedProspect(promoted, discordant / differ)  # Wald's identity


@dataclass(frozen=True, slots=True)
class _Extended:
    """What comes after the limit, by discordant pairs and wins until then; (n, n) each."""

    promoted: FloatArray
    discordant: FloatArray


def _extended(rule: Stopping, win: float, pairs: int, differ: float) -> _Extended:
    """Go on for `pairs` while the candidate is promising; win: of a discordant pair."""
    at, wins = np.indices((HORIZON + 1, HORIZON + 1))
    better = special.betainc(np.maximum(at - wins, 0) + 1, wins + 1, 0.5)
    promote: Flags = wins >= np.array(rule.promote)[:, None]
    over: Flags = promote | (wins <= np.array(rule.keep)[:, None]) | (better < PROMISING)
    chance: FloatArray = np.where(promote, 1.0, 0.0)
    further: FloatArray = np.zeros(chance.shape)
    more = binomial(np.arange(HORIZON + 1), pairs, differ)
    more[-1] = at_least(HORIZON, pairs, differ)
    promoted, discordant = more[0] * chance, more[0] * further
    for weight in more[1:]:  # with one more discordant pair to come each time
        chance = np.where(over, chance, _stepped(chance, win))
        further = np.where(over, 0.0, 1.0 + _stepped(further, win))
        promoted, discordant = promoted + weight * chance, discordant + weight * further
    return _Extended(promoted, discordant)


def _stepped(after: FloatArray, win: float) -> FloatArray:
    """Return the expectation one discordant pair earlier."""
    before: FloatArray = np.zeros(after.shape)
    before[:-1, :-1] = win * after[1:, 1:] + (1.0 - win) * after[1:, :-1]
    return before
