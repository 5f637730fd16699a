"""Candidate against incumbent on the same seeds: after each pair, whether it is time to decide.

Sources:
    McNemar, "Note on the sampling error of the difference between correlated proportions",
        Psychometrika 1947: in paired yes/no data only the discordant pairs tell which is better.
    Wald and Wolfowitz, "Bayes solutions of sequential decision problems", Annals of Mathematical
        Statistics 1950: when to stop, by backward induction.
    Snyder et al., "Is your imitation learning policy better than mine? Policy comparison with
        near-optimal stopping", arXiv 2503.10966: such a test, for robot policies.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from itertools import combinations

import numpy as np
from scipy import special

from enpire.errors import UsageError
from enpire.rollout.evaluation.statistics import unlikely
from enpire.types import Flags, FloatArray

HORIZON = 100  # discordant pairs by which it is decided in any case
REGRET = 300.0  # discordant pairs that it is worth to find a candidate that wins all of them
PROMISING = 0.9  # chance of being better from which on more than `max_pairs` are run,
EXTENSION = 3  # so many times: cheaper than to train another candidate


class Decision(StrEnum):
    """What to do with the candidate after the pairs so far."""

    PROMOTE = "promote"
    KEEP = "keep"
    CONTINUE = "continue"


@dataclass(frozen=True, slots=True)
class PairedRecord:
    """Seeds on which both policies were run and judged, counted by who succeeded."""

    wins: int = 0  # the candidate alone
    losses: int = 0  # the incumbent alone
    ties: int = 0  # both or neither

    def __post_init__(self) -> None:
        if min(self.wins, self.losses, self.ties) < 0:
            raise ValueError(f"{self} counts below zero")

    @property
    def pairs(self) -> int:
        """Seeds run by both."""
        return self.wins + self.losses + self.ties

    @property
    def counts(self) -> str:
        """The counts, for a person."""
        return f"better on {self.wins}, worse on {self.losses}, alike on {self.ties}"

    @property
    def chance_better(self) -> float:
        """That the candidate is better: its share of discordant pairs over 1/2, uniform prior."""
        return float(special.betainc(self.losses + 1, self.wins + 1, 0.5))

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


def decide(record: PairedRecord, alpha: float = 0.05, max_pairs: int = 400) -> Decision:
    """Promote the candidate, keep the incumbent, or run another pair.

    Ask after every pair, and stop at the first decision. A candidate that is no better is then
    promoted with probability at most `alpha`: see `stopping`. `max_pairs` keep the incumbent, or
    `EXTENSION` times as many while the candidate is `PROMISING`; that only takes promotions away.

    `alpha` is for one candidate: of R that are no better, at most alpha R are promoted on average.
    The seeds must be drawn after the candidate is frozen; seeds it was chosen on flatter it.

    Raises:
        UsageError: `alpha` is not within (0, 1), or `max_pairs` below 1.
    """
    if not 0.0 < alpha < 1.0:
        raise UsageError(f"alpha is {alpha}: give a fraction between 0 and 1")
    if max_pairs < 1:
        raise UsageError(f"max_pairs is {max_pairs}: give at least 1")
    rule = stopping(alpha)
    discordant = record.wins + record.losses
    beyond = max(0, discordant - HORIZON)  # of a record that nobody asked about in time
    at = discordant - beyond
    if record.wins >= rule.promote[at] + beyond:
        return Decision.PROMOTE
    if beyond or record.wins <= rule.keep[at]:
        return Decision.KEEP
    if record.pairs >= max_pairs:
        promising = record.chance_better >= PROMISING
        if not promising or record.pairs >= EXTENSION * max_pairs:
            return Decision.KEEP
    return Decision.CONTINUE


@dataclass(frozen=True, slots=True)
class Stopping:
    """When to stop: for 0 to `HORIZON` discordant pairs, (HORIZON + 1,) each."""

    promote: tuple[int, ...]  # the fewest of them won that promote
    keep: tuple[int, ...]  # the most that keep the incumbent


@dataclass(frozen=True, slots=True)
class Prospect:
    """What a rule comes to, exactly: the chance to promote, and discordant pairs on average."""

    promoted: float
    discordant: float


@cache
def stopping(alpha: float) -> Stopping:
    """The rule that costs least, of those that promote what is no better with at most `alpha`.

    Let q be the chance that a discordant pair is a win: over 1/2 exactly if the candidate is
    better, however much the two outcomes on a seed depend on each other, since

        P(win) - P(loss) = p_candidate - p_incumbent.

    With q uniform in (0, 1), a price of 1 a discordant pair and of `REGRET` (2q - 1) for a better
    candidate that is not promoted, and another one times (1 - 2q) for a worse one that is, backward
    induction gives the rule of least expected cost. That other price is made as high as it takes
    for the chance to promote at q = 1/2 to be `alpha` at most. It is less for lower q, and for
    fewer discordant pairs: ties, and whatever ends a comparison early, cost power only.
    """
    price = _Price.of(HORIZON)
    low, high = 1.0, 1e12
    while high / low > 1.001:
        middle = math.sqrt(low * high)
        if prospect(price.rule(middle), 0.5).promoted > alpha:
            low = middle
        else:
            high = middle
    return price.rule(high)


def prospect(rule: Stopping, win: float) -> Prospect:
    """What comes of a candidate that wins a discordant pair with chance `win`, ties apart."""
    alive: FloatArray = np.ones(1)  # by how many were won, of those not decided yet
    promoted = discordant = 0.0
    for at, (promote, keep) in enumerate(zip(rule.promote, rule.keep, strict=True)):
        wins = np.arange(at + 1)
        promoted += float(alive[wins >= promote].sum())
        alive = np.where((wins < promote) & (wins > keep), alive, 0.0)
        discordant += float(alive.sum())
        alive = np.append(alive * (1.0 - win), 0.0) + np.append(0.0, alive * win)
    return Prospect(promoted, discordant)


@dataclass(frozen=True, slots=True)
class _Price:
    """Expectations after n discordant pairs with 0 to n wins, an array (n + 1,) for each n.

    q is Beta(wins + 1, losses + 1) then. worse: of (1 - 2q) where it is positive; better: of
    (2q - 1), likewise; win: of q.
    """

    worse: tuple[FloatArray, ...]
    better: tuple[FloatArray, ...]
    win: tuple[FloatArray, ...]

    @classmethod
    def of(cls, horizon: int) -> _Price:
        worse, better, win = [], [], []
        for n in range(horizon + 1):
            a = np.arange(1.0, n + 2)
            mean = a / (n + 2)
            below = special.betainc(a, n + 2 - a, 0.5)  # chance that q < 1/2
            part = mean * special.betainc(a + 1, n + 2 - a, 0.5)  # expectation of q where it is
            worse.append(below - 2 * part)
            better.append(2 * mean - 1 + worse[-1])
            win.append(mean)
        return cls(tuple(worse), tuple(better), tuple(win))

    def rule(self, price: float) -> Stopping:
        """The cheapest rule, at this price of promoting what is worse."""
        promote, keep = [], []
        after: FloatArray | None = None  # what it costs from one pair later on
        for worse, better, win in zip(
            *map(reversed, (self.worse, self.better, self.win)), strict=True
        ):
            promoting, keeping = price * worse, REGRET * better
            cost = np.minimum(promoting, keeping)
            on: Flags = np.zeros(len(cost), dtype=np.bool_)
            if after is not None:
                going_on = 1.0 + win * after[1:] + (1.0 - win) * after[:-1]
                on = going_on < cost
                cost = np.minimum(cost, going_on)
            up = ~on & (promoting < keeping)
            promote.append(int(up.argmax()) if up.any() else len(up))
            down = ~on & ~up
            keep.append(int(down.sum()) - 1)
            after = cost
        return Stopping(tuple(reversed(promote)), tuple(reversed(keep)))


# Many policies on the same seeds


def better_than(
    outcomes: Mapping[str, Sequence[bool | None]], alpha: float = 0.05
) -> dict[str, set[str]]:
    """The policies that each one is shown to be better than.

    outcomes: of each policy on the same seeds, in the same order; None where nothing was judged.
    Every two are compared on the seeds of both by McNemar's exact test, two-sided, and Holm's
    procedure holds the chance of any wrong claim at `alpha`. For outcomes all there are: the number
    of seeds was fixed beforehand.
    """
    records = {(a, b): _paired(outcomes[a], outcomes[b]) for a, b in combinations(outcomes, 2)}
    chances = {pair: _two_sided(record) for pair, record in records.items()}
    found: dict[str, set[str]] = {name: set() for name in outcomes}
    for pair in unlikely(chances, alpha):
        winner, loser = pair if records[pair].wins > records[pair].losses else reversed(pair)
        found[winner].add(loser)
    return found


def _paired(candidate: Sequence[bool | None], incumbent: Sequence[bool | None]) -> PairedRecord:
    record = PairedRecord()
    for a, b in zip(candidate, incumbent, strict=True):
        if a is not None and b is not None:
            record = record.add(candidate=a, incumbent=b)
    return record


def _two_sided(record: PairedRecord) -> float:
    discordant, most = record.wins + record.losses, max(record.wins, record.losses)
    return min(1.0, 2.0 * float(special.bdtrc(most - 1, discordant, 0.5))) if discordant else 1.0
