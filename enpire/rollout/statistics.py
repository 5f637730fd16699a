"""What may be claimed from a count of episodes: intervals, paired test, sealed evaluations, audits.

Counts are of judged episodes, success or failure. Settings a person can mistype (a confidence, a
target, an alpha) raise UsageError; counts that cannot be are a fault of the caller: ValueError.

Sources:
    Clopper and Pearson, "The use of confidence or fiducial limits", Biometrika 1934.
    McNemar, "Note on the sampling error of the difference ...", Psychometrika 1947: in paired
        yes/no data only the discordant pairs tell which side is better.
    Ville, "Étude critique de la notion de collectif", 1939: a non-negative martingale that starts
        at 1 ever reaches 1/alpha with probability at most alpha.
    Robbins, "Statistical methods related to the law of the iterated logarithm", Annals of
        Mathematical Statistics 1970: mix over the unknown parameter and the martingale stays one.
    Rogan and Gladen, "Estimating prevalence from the results of a screening test", American Journal
        of Epidemiology 1978: a rate seen through a judge whose errors are known.
    Lang and Reiczigel, "Confidence limits for prevalence of disease adjusted for estimated
        sensitivity and specificity", Preventive Veterinary Medicine 2014.
    Waudby-Smith and Ramdas, "Estimating means of bounded random variables by betting", JRSS B
        2024: the martingale as the wealth of one who bets against the hypothesis.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import astuple, dataclass, replace
from enum import StrEnum

import numpy as np
from scipy import special

from enpire.errors import UsageError
from enpire.types import Estimate

# Bets as shares of the wealth that the bettor may lose, in (0, 1), weighed as the uniform mixture.
# Any finite mixture is a test in its own right, so alpha holds whatever the quadrature's error;
# with 128 nodes there is none (a polynomial of degree <= 255) up to 255 discordant pairs.
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(128)
_BETS = (_NODES + 1.0) / 2.0
_LOG_PRIOR = np.log(_WEIGHTS / _WEIGHTS.sum())


# Intervals


def estimate(successes: int, trials: int, confidence: float = 0.95) -> Estimate:
    """Success rate with its exact two-sided interval (Clopper and Pearson).

    Covers the true rate with probability at least `confidence` for a number of trials fixed in
    advance, and for an evaluation cut short by `sealed_hopeless` too. It does not for one cut short
    because it went well. Nothing measured gives [0, 1].
    """
    tail = (1.0 - _fraction("confidence", confidence)) / 2.0
    low = _lower(successes, trials, tail)
    high = 1.0 - _lower(trials - successes, trials, tail)
    return Estimate(successes, trials, low, high)


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


# Candidate against incumbent, on the same seeds

PROMISING = 3.0  # evidence at which a comparison that is undecided goes on,
EXTENSION = 3  # for so many times the pairs: cheaper than to train another candidate


class Decision(StrEnum):
    """What to do with the candidate after the pairs so far."""

    PROMOTE = "promote"
    KEEP = "keep"
    CONTINUE = "continue"


@dataclass(frozen=True, slots=True)
class PairedRecord:
    """Seeds on which both policies were run and judged, counted by who succeeded.

    wins: the candidate alone. losses: the incumbent alone. ties: both or neither.
    """

    wins: int = 0
    losses: int = 0
    ties: int = 0

    def __post_init__(self) -> None:
        if min(self.wins, self.losses, self.ties) < 0:
            raise ValueError(f"{self} counts below zero")

    @property
    def pairs(self) -> int:
        """Seeds run by both."""
        return self.wins + self.losses + self.ties

    def add(self, *, candidate: bool, incumbent: bool) -> PairedRecord:
        """The record with one more pair: whether each policy succeeded on the same seed.

        Add pairs in the order in which their seeds were drawn, not in which they finished: where
        failures run into the time limit the early finishers are not a fair sample.
        """
        if candidate == incumbent:
            return replace(self, ties=self.ties + 1)
        if candidate:
            return replace(self, wins=self.wins + 1)
        return replace(self, losses=self.losses + 1)


def evidence(record: PairedRecord) -> float:
    """Wealth won by betting that the candidate is better; 1.0 before the first pair.

    Hypothesis bet against: p_candidate <= p_incumbent, pairs independent and alike. Then

        P(win) - P(loss) = p_candidate - p_incumbent <= 0,

    however strongly the two outcomes on a seed depend on each other, so a discordant pair is a win
    with probability q <= 1/2. Betting theta in (1/2, 1) on a win multiplies the wealth by 2 theta
    on a win, 2 (1 - theta) on a loss, and by 1 on a tie: in expectation, on a discordant pair,

        2 theta q + 2 (1 - theta) (1 - q) = 1 - (2 theta - 1) (1 - 2 q) <= 1.

    So the wealth is a supermartingale, its mixture over theta uniform in (1/2, 1) is one too, and
    it ever reaches 1/alpha with probability at most alpha (Ville): look after every pair, stop when
    you like. With w wins, l losses, n = w + l and I the regularised incomplete beta function,

        wealth = 2^(n+1) B(w+1, l+1) I_1/2(l+1, w+1).

    Wins alone give (2^(w+1) - 1) / (w + 1): 18.1 after 6, 31.9 after 7. At alpha 0.05 nothing is
    promoted on fewer than 7 discordant pairs.
    """
    return _exp(_log_evidence(record))


def evidence_against(record: PairedRecord, min_effect: float = 0.0) -> float:
    """Wealth won by betting that the candidate is not better by `min_effect`, a rate difference.

    Hypothesis bet against: p_candidate - p_incumbent >= min_effect. A stake pays min_effect - D,
    where D is +1 on a win, -1 on a loss, 0 on a tie; that is nothing or less in expectation. With
    `min_effect` 0 this is `evidence` with wins and losses exchanged; above it ties pay too: some
    4.5 / min_effect of them in a row reach 1/alpha = 20.
    """
    return _exp(_log_evidence_against(record, min_effect))


def decide(
    record: PairedRecord, alpha: float = 0.05, max_pairs: int = 400, min_effect: float = 0.0
) -> Decision:
    """Promote the candidate, keep the incumbent, or run another pair.

    A candidate that is no better is promoted with probability at most `alpha`, however often this
    is asked. The ways to KEEP only take promotions away. By `evidence_against` at 1/alpha a
    candidate better by `min_effect` or more is lost with probability at most `alpha`; `max_pairs`
    end it too, or `EXTENSION` times as many while the evidence stays `PROMISING`.

    `alpha` is for one candidate: of R that are no better, at most alpha R are promoted on average.
    The seeds must be drawn after the candidate is frozen; seeds it was chosen on flatter it.
    """
    _fraction("alpha", alpha)
    if max_pairs < 1:
        raise UsageError(f"max_pairs is {max_pairs}: give at least 1")
    threshold = -math.log(alpha)
    against = _log_evidence_against(record, min_effect)
    if _log_evidence(record) >= threshold:
        return Decision.PROMOTE
    promising = _log_evidence(record) >= math.log(PROMISING)
    if against >= threshold or record.pairs >= max_pairs * (EXTENSION if promising else 1):
        return Decision.KEEP
    return Decision.CONTINUE


def _log_evidence(record: PairedRecord) -> float:
    return _log_wealth(record, win=1.0, tie=0.0, loss=-1.0)


def _log_evidence_against(record: PairedRecord, min_effect: float) -> float:
    if not 0.0 <= min_effect < 1.0:
        raise UsageError(f"min_effect is {min_effect}: give a rate difference in [0, 1)")
    # Scaled so that the worst pay-off is -1: a bet is then the share of the wealth it can lose.
    worst = 1.0 - min_effect
    return _log_wealth(record, win=-1.0, tie=min_effect / worst, loss=(1.0 + min_effect) / worst)


def _log_wealth(record: PairedRecord, *, win: float, tie: float, loss: float) -> float:
    """Logarithm of the wealth, mixed over bets, given what one unit at stake pays on each pair.

    The bet b in (0, 1) of the uniform mixture is 2 theta - 1 where the pay-offs are 1, 0 and -1.
    """
    growth = (
        record.wins * np.log1p(_BETS * win)
        + record.ties * np.log1p(_BETS * tie)
        + record.losses * np.log1p(_BETS * loss)
    )
    return float(np.logaddexp.reduce(_LOG_PRIOR + growth))


def _exp(logarithm: float) -> float:
    """Exponential that saturates at infinity."""
    return math.exp(logarithm) if logarithm < 709.0 else math.inf


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
class Corrected:
    """A success rate corrected for the verifier's errors, with its interval; all in [0, 1]."""

    rate: float
    low: float
    high: float


def rogan_gladen(
    successes: int, trials: int, audit: Confusion, confidence: float = 0.95
) -> Corrected | None:
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
    return Corrected(*(min(max(x, 0.0), 1.0) for x in (rate, low, high)))


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
