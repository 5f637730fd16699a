"""What the statistics promise, counted: by simulation, and exactly where that is short.

The loop's own decisions are simulated in `loop_simulation`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import scipy  # and its `stats` when they are asked for: they take half a second

from benchmarks.loop_simulation import ROUNDS, LoopChance
from enpire.rollout.evaluation.comparison import HORIZON, prospect, stopping
from enpire.rollout.evaluation.pairs import (
    LEAST_PAIRS,
    LimitedProspect,
    enough_pairs,
    limited_prospect,
)
from enpire.rollout.evaluation.sealed_rule import LOWER, POINT, SealedRule
from enpire.rollout.evaluation.statistics import estimate, misses_allowed
from enpire.types import FloatArray

RATES = (0.5, 0.7, 0.9, 0.97, 0.99)  # of two policies that are alike
EFFECTS = ((0.5, 0.7), (0.7, 0.85), (0.8, 0.9), (0.9, 0.97), (0.95, 0.99))  # incumbent, candidate
TRIALS = (20, 50, 100, 300)
TARGET, SEALED = 0.99, 300  # of a loop, unless it is asked for others
SEALED_RATES = (0.97, 0.98, 0.985, 0.99, 0.995, 0.996, 0.997, 0.998, 0.999)  # true ones
LOOP_RATES = (0.98, 0.985, 0.99, 0.995)  # of all policies of a simulated loop
KNOWN = 200  # evaluations by which an incumbent's success is known
COVERED = np.concatenate([np.linspace(0.5, 0.99, 50), [0.995, 0.999]])  # true rates
BLOCK = 1000  # runs that are drawn at once
MOST = 20_000  # pairs of a test of fixed size


@dataclass(frozen=True, slots=True)
class FalsePromotions:
    """Candidates that are no better than the incumbent, both at `rate`, looked at after each pair.

    promoted: of so many `runs`; exact: the chance at any rate; pairs: on average.
    """

    rate: float
    runs: int
    promoted: int
    exact: float
    pairs: float


@dataclass(frozen=True, slots=True)
class PowerAtEffect:
    """A better candidate, against the exact test of a fixed number of pairs with the same power.

    alike, worse: pairs on average where candidates are as good as the incumbent, or exchanged.
    """

    incumbent: float
    candidate: float
    power: float
    fixed: int
    better: float
    alike: float
    worse: float

    @property
    def saved(self) -> tuple[float, float, float]:
        """Share of the fixed test's pairs, by a candidate that is better, alike, worse."""
        better, alike, worse = (1 - n / self.fixed for n in (self.better, self.alike, self.worse))
        return better, alike, worse


@dataclass(frozen=True, slots=True)
class Coverage:
    """Least chance, over true rates of 0.5 to 0.999, that the 95% interval holds the true one."""

    trials: int
    least: float
    at: float


def false_promotions(runs: int, seed: int, alpha: float = 0.05) -> Iterator[FalsePromotions]:
    """Both policies drawn pair by pair, independent, until the test decides."""
    rng = np.random.default_rng(seed)
    rule = stopping(alpha)
    promote, keep = np.array(rule.promote), np.array(rule.keep)
    exact = prospect(rule, 0.5)
    for rate in RATES:
        promoted, pairs = 0, 0.0
        differ = 2 * rate * (1 - rate)
        for first, last in pairwise([*range(0, runs, BLOCK), runs]):
            # Ties tell nothing: only discordant pairs are drawn, and how many pairs they took.
            won = rng.random((last - first, HORIZON)) < 0.5
            wins = np.cumsum(won, axis=1)
            over = (wins >= promote[1:]) | (wins <= keep[1:])
            at = over.argmax(axis=1)
            taken = np.cumsum(rng.geometric(differ, won.shape), axis=1)
            rows = np.arange(len(won))
            promoted += int((wins[rows, at] >= promote[1:][at]).sum())
            pairs += float(taken[rows, at].sum())
        yield FalsePromotions(rate, runs, promoted, exact.promoted, pairs / runs)


def savings(alpha: float = 0.05) -> Iterator[PowerAtEffect]:
    """For each of `EFFECTS`, outcomes on a seed independent, exactly."""
    rule = stopping(alpha)
    for incumbent, candidate in EFFECTS:
        win, loss = candidate * (1 - incumbent), incumbent * (1 - candidate)
        better = prospect(rule, win / (win + loss))
        yield PowerAtEffect(
            incumbent,
            candidate,
            better.promoted,
            fixed_size(win, loss, better.promoted, alpha),
            better.discordant / (win + loss),
            prospect(rule, 0.5).discordant / (2 * incumbent * (1 - incumbent)),
            prospect(rule, loss / (win + loss)).discordant / (win + loss),
        )


@dataclass(frozen=True, slots=True)
class PairLimit:
    """What a limit of pairs does to the power against one of `EFFECTS`, exactly.

    Attributes:
        incumbent: success rate.
        candidate: success rate.
        unlimited: power without a limit.
        fixed: with one of `LEAST_PAIRS`.
        pairs: the limit that follows from the incumbent's success on `KNOWN` episodes.
        derived: with that one.
        alike: with that one, of a candidate that is as good as the incumbent.
    """

    incumbent: float
    candidate: float
    unlimited: float
    fixed: LimitedProspect
    pairs: int
    derived: LimitedProspect
    alike: LimitedProspect


def limits(alpha: float = 0.05) -> Iterator[PairLimit]:
    """For each of `EFFECTS`, outcomes on a seed independent, exactly."""
    for incumbent, candidate in EFFECTS:
        win, loss = candidate * (1 - incumbent), incumbent * (1 - candidate)
        same = incumbent * (1 - incumbent)
        pairs = enough_pairs(estimate(round(KNOWN * incumbent), KNOWN), TARGET, alpha)
        yield PairLimit(
            incumbent,
            candidate,
            prospect(stopping(alpha), win / (win + loss)).promoted,
            limited_prospect(win, loss, LEAST_PAIRS, alpha),
            pairs,
            limited_prospect(win, loss, pairs, alpha),
            limited_prospect(same, same, pairs, alpha),
        )


@dataclass(frozen=True, slots=True)
class SealedChance:
    """What sealed evaluations do with policies that truly succeed at `rate`, exactly.

    Attributes:
        rate: true success.
        reached: chance that the target is reached within 1, 2, ... `ROUNDS` attempts.
        episodes: of the first attempt, on average.
        before: the same chances by the rule of runs made before, a point estimate.
    """

    rate: float
    reached: tuple[float, ...]
    episodes: float
    before: tuple[float, ...]


def sealed_chances(bound: str = POINT) -> Iterator[SealedChance]:
    """For each of `SEALED_RATES`: every policy of a loop has it, and each is examined."""
    rules = [SealedRule.of(TARGET, SEALED, attempt, bound) for attempt in range(1, ROUNDS + 1)]
    allowed = misses_allowed(TARGET, SEALED)
    for rate in SEALED_RATES:
        each = [rule.characteristic(rate) for rule in rules]
        missed = np.cumprod([1.0 - one.reached for one in each])
        at_once = float(scipy.stats.binom.cdf(allowed, SEALED, 1.0 - rate))
        before = [1.0 - (1.0 - at_once) ** k for k in range(1, ROUNDS + 1)]
        yield SealedChance(rate, tuple(1.0 - missed), each[0].episodes, tuple(before))


def coverages() -> Iterator[Coverage]:
    """Of `estimate`, exactly, for each of `TRIALS`."""
    for trials in TRIALS:
        known = [estimate(k, trials) for k in range(trials + 1)]
        low, high = (
            np.array(ends)[:, None] for ends in ([e.low for e in known], [e.high for e in known])
        )
        holds = (low <= COVERED) & (high >= COVERED)
        chance = scipy.stats.binom.pmf(np.arange(trials + 1)[:, None], trials, COVERED)
        covered: FloatArray = (chance * holds).sum(axis=0)
        yield Coverage(trials, float(covered.min()), float(COVERED[covered.argmin()]))


@dataclass(frozen=True, slots=True)
class Report:
    """All that the bench finds."""

    alike: tuple[FalsePromotions, ...]
    effects: tuple[PowerAtEffect, ...]
    limits: tuple[PairLimit, ...]
    sealed: tuple[SealedChance, ...]
    sealed_lower: tuple[SealedChance, ...]
    loops: tuple[LoopChance, ...]
    intervals: tuple[Coverage, ...]


def report(runs: int, loops: Iterable[LoopChance], seed: int) -> Report:
    """Return all tables; runs: simulated comparisons."""
    return Report(
        tuple(false_promotions(runs, seed)),
        tuple(savings()),
        tuple(limits()),
        tuple(sealed_chances()),
        tuple(sealed_chances(LOWER)),
        tuple(loops),
        tuple(coverages()),
    )


def markdown(found: Report) -> str:
    """Return the tables."""
    lines = [
        "| both policies at | promoted | | exact | pairs on average |",
        "|---|---|---|---|---|",
    ]
    for a in found.alike:
        e = estimate(a.promoted, a.runs)
        lines.append(
            f"| {a.rate} | {a.promoted} of {a.runs} | {e.rate:.4f} [{e.low:.4f}, {e.high:.4f}] "
            f"| {a.exact:.4f} | {a.pairs:.0f} |"
        )
    lines += [
        "",
        "| incumbent, candidate | power | fixed size | pairs: better, alike, worse | saved |",
        "|---|---|---|---|---|",
    ]
    for f in found.effects:
        saved = ", ".join(f"{share:.0%}" for share in f.saved)
        lines.append(
            f"| {f.incumbent}, {f.candidate} | {f.power:.3f} | {f.fixed} "
            f"| {f.better:.0f}, {f.alike:.0f}, {f.worse:.0f} | {saved} |"
        )
    mean = np.mean([f.saved for f in found.effects], axis=0)
    lines.append(f"| on average | | | | {', '.join(f'{share:.0%}' for share in mean)} |")
    lines += ["", *_limits(found.limits), "", *_sealed(found.sealed), ""]
    lines += [*_sealed(found.sealed_lower), "", *_loops(found.loops)]
    lines += ["", "| trials | least coverage | at a rate of |", "|---|---|---|"]
    lines += [f"| {c.trials} | {c.least:.4f} | {c.at:.3f} |" for c in found.intervals]
    return "\n".join(lines)


def _limits(found: Iterable[PairLimit]) -> Iterator[str]:
    yield (
        f"| incumbent, candidate | power without a limit | with {LEAST_PAIRS} pairs | limit by "
        "default | power with it | pairs: better, alike |"
    )
    yield "|---|---|---|---|---|---|"
    for f in found:
        yield (
            f"| {f.incumbent}, {f.candidate} | {f.unlimited:.3f} | {f.fixed.promoted:.3f} | "
            f"{f.pairs} | {f.derived.promoted:.3f} | {f.derived.pairs:.0f}, {f.alike.pairs:.0f} |"
        )


def _sealed(found: Iterable[SealedChance]) -> Iterator[str]:
    yield (
        f"| true success | reached at attempt 1 | within 2 | within {ROUNDS} | sealed episodes of "
        f"attempt 1 | before: attempt 1 | within {ROUNDS} |"
    )
    yield "|---|---|---|---|---|---|---|"
    for f in found:
        yield (
            f"| {f.rate} | {f.reached[0]:.3f} | {f.reached[1]:.3f} | {f.reached[-1]:.3f} | "
            f"{f.episodes:.0f} | {f.before[0]:.3f} | {f.before[-1]:.3f} |"
        )


def _loops(found: Iterable[LoopChance]) -> Iterator[str]:
    yield (
        "| all policies truly at | loops | reached | sealed evaluations | sealed episodes | other "
        "evaluation episodes |"
    )
    yield "|---|---|---|---|---|---|"
    for f in found:
        e = estimate(f.reached, f.runs)
        yield (
            f"| {f.rate} | {f.runs} | {e.rate:.3f} [{e.low:.3f}, {e.high:.3f}] | {f.attempts:.2f} "
            f"| {f.sealed:.0f} | {f.others:.0f} |"
        )


def fixed_size(win: float, loss: float, power: float, alpha: float) -> int:
    """Pairs of the exact one-sided test of McNemar with at least this power."""
    low, high = 1, MOST
    while high - low > 1:
        middle = (low + high) // 2
        if _power(middle, win, loss, alpha) >= power:
            high = middle
        else:
            low = middle
    return high


def _power(pairs: int, win: float, loss: float, alpha: float) -> float:
    discordant = np.arange(pairs + 1)
    fewest = scipy.stats.binom.isf(alpha, discordant, 0.5) + 1  # wins that are significant
    chance = scipy.stats.binom.sf(fewest - 1, discordant, win / (win + loss))
    return float((scipy.stats.binom.pmf(discordant, pairs, win + loss) * chance).sum())
