"""What the statistics promise, counted: by simulation, and exactly where that is short."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy import stats

from enpire.rollout.comparison import HORIZON, prospect, stopping
from enpire.rollout.statistics import estimate
from enpire.types import FloatArray

RATES = (0.5, 0.7, 0.9, 0.97, 0.99)  # of two policies that are alike
EFFECTS = ((0.5, 0.7), (0.7, 0.85), (0.8, 0.9), (0.9, 0.97), (0.95, 0.99))  # incumbent, candidate
TRIALS = (20, 50, 100, 300)
COVERED = np.concatenate([np.linspace(0.5, 0.99, 50), [0.995, 0.999]])  # true rates
BLOCK = 1000  # runs that are drawn at once
MOST = 20_000  # pairs of a test of fixed size


@dataclass(frozen=True, slots=True)
class Alike:
    """Candidates that are no better than the incumbent, both at `rate`, looked at after each pair.

    promoted: of so many `runs`; exact: the chance at any rate; pairs: on average.
    """

    rate: float
    runs: int
    promoted: int
    exact: float
    pairs: float


@dataclass(frozen=True, slots=True)
class Effect:
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


def false_promotions(runs: int, seed: int, alpha: float = 0.05) -> Iterator[Alike]:
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
        yield Alike(rate, runs, promoted, exact.promoted, pairs / runs)


def savings(alpha: float = 0.05) -> Iterator[Effect]:
    """For each of `EFFECTS`, outcomes on a seed independent, exactly."""
    rule = stopping(alpha)
    for incumbent, candidate in EFFECTS:
        win, loss = candidate * (1 - incumbent), incumbent * (1 - candidate)
        better = prospect(rule, win / (win + loss))
        yield Effect(
            incumbent,
            candidate,
            better.promoted,
            fixed_size(win, loss, better.promoted, alpha),
            better.discordant / (win + loss),
            prospect(rule, 0.5).discordant / (2 * incumbent * (1 - incumbent)),
            prospect(rule, loss / (win + loss)).discordant / (win + loss),
        )


def coverages() -> Iterator[Coverage]:
    """Of `estimate`, exactly, for each of `TRIALS`."""
    for trials in TRIALS:
        known = [estimate(k, trials) for k in range(trials + 1)]
        low, high = (
            np.array(ends)[:, None] for ends in ([e.low for e in known], [e.high for e in known])
        )
        holds = (low <= COVERED) & (high >= COVERED)
        chance = stats.binom.pmf(np.arange(trials + 1)[:, None], trials, COVERED)
        covered: FloatArray = (chance * holds).sum(axis=0)
        yield Coverage(trials, float(covered.min()), float(COVERED[covered.argmin()]))


def markdown(
    alike: Iterable[Alike], effects: Iterable[Effect], intervals: Iterable[Coverage]
) -> str:
    """The three tables."""
    lines = [
        "| both policies at | promoted | | exact | pairs on average |",
        "|---|---|---|---|---|",
    ]
    for a in alike:
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
    effects = list(effects)
    for f in effects:
        saved = ", ".join(f"{share:.0%}" for share in f.saved)
        lines.append(
            f"| {f.incumbent}, {f.candidate} | {f.power:.3f} | {f.fixed} "
            f"| {f.better:.0f}, {f.alike:.0f}, {f.worse:.0f} | {saved} |"
        )
    mean = np.mean([f.saved for f in effects], axis=0)
    lines.append(f"| on average | | | | {', '.join(f'{share:.0%}' for share in mean)} |")
    lines += ["", "| trials | least coverage | at a rate of |", "|---|---|---|"]
    lines += [f"| {c.trials} | {c.least:.4f} | {c.at:.3f} |" for c in intervals]
    return "\n".join(lines)


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
    fewest = stats.binom.isf(alpha, discordant, 0.5) + 1  # wins that are significant
    chance = stats.binom.sf(fewest - 1, discordant, win / (win + loss))
    return float((stats.binom.pmf(discordant, pairs, win + loss) * chance).sum())
