"""Where to collect: at the initial conditions whose outcome is in doubt.

After VADE (Hu et al. 2025, arXiv 2511.18902), MoPPS (Qu et al. 2025, arXiv 2507.04632) and XRPO.
The success of each stratum of initial conditions has a Beta posterior; a Thompson sample of each
says how mixed its outcomes are, p (1 - p), and of a few fresh seeds the one is run whose stratum is
the most mixed. So a stratum of which little is known is tried, and one that always or never
succeeds is left alone; but no initial condition becomes more than `CANDIDATES` times as likely.

Those papers have a fixed set of prompts, each a stratum. Here no initial condition comes twice, and
most of its entries mean nothing to the outcome; so the strata are the leaves of a small tree that
splits where successes and failures come apart most (CART, Breiman et al. 1984).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from enpire.types import JUDGED, Episode, Flags, FloatArray

CANDIDATES = 4  # fresh seeds that one is chosen from
LEAST = 20.0  # episodes of a stratum, by their weights
SURE = 10.8  # chi-squared of a split: of chance 0.001, as a hundred of them are weighed
DEPTH = 3  # splits from all initial conditions to a stratum, at most
QUANTILES = np.linspace(0.1, 0.9, 9)  # of an entry, where it may be split
AGED = 0.5  # weight of an episode of the policy that the present one was made from
PRIOR = 1.0  # of the Beta posteriors, both its counts: uniform


@dataclass(frozen=True, slots=True)
class ConditionStratum:
    """Initial conditions, and what is known of success at them, as weighted counts."""

    successes: float
    failures: float

    def draw(self, rng: np.random.Generator) -> float:
        """A success rate from its posterior."""
        return float(rng.beta(PRIOR + self.successes, PRIOR + self.failures))


@dataclass(frozen=True, slots=True)
class ConditionSplit:
    """Initial conditions of which some entry is up to a threshold, and the others."""

    entry: int
    threshold: float
    below: Tree
    above: Tree


Tree = ConditionSplit | ConditionStratum


def grow(initial: FloatArray, won: Flags, weight: FloatArray, depth: int = DEPTH) -> Tree:
    """Strata of initial conditions (N, entries), of whose episodes some were `won`, (N,).

    A split is where the summed variance of outcomes falls most (Gini), which is where chi-squared
    of the two sides is greatest; none where that may be chance, or a side has too few episodes.
    """
    successes, failures = float(weight[won].sum()), float(weight[~won].sum())
    here = ConditionStratum(successes, failures)
    best, split = mixed(successes, failures) * (1.0 - SURE / max(weight.sum(), SURE)), None
    if depth:
        for entry in range(initial.shape[1]):
            for threshold in np.unique(np.quantile(initial[:, entry], QUANTILES)):
                low = initial[:, entry] <= threshold
                left, right = weight[low].sum(), weight[~low].sum()
                if min(left, right) < LEAST:
                    continue
                good = float(weight[low & won].sum())
                found = mixed(good, left - good)
                found += mixed(successes - good, right - successes + good)
                if found < best:
                    best, split = found, (entry, float(threshold), low)
    if split is None:
        return here
    entry, threshold, low = split
    below, above = (grow(initial[i], won[i], weight[i], depth - 1) for i in (low, ~low))
    return ConditionSplit(entry, threshold, below, above)


def mixed(successes: float, failures: float) -> float:
    """n p (1 - p) of n episodes."""
    return successes * failures / max(successes + failures, 1e-9)


def stratum_of(tree: Tree, initial: FloatArray) -> ConditionStratum:
    """The one that an initial condition (entries,) belongs to."""
    while isinstance(tree, ConditionSplit):
        tree = tree.below if initial[tree.entry] <= tree.threshold else tree.above
    return tree


def strata(
    episodes: Sequence[Episode], initial: Callable[[int], FloatArray], base: str, parent: str
) -> Tree:
    """What the episodes of the policy `base`, and of the one it was made from, say of success."""
    weights = {parent: AGED, base: 1.0}
    known = [e for e in episodes if e.policy in weights and e.verdict.outcome in JUDGED]
    if not known:
        return ConditionStratum(0.0, 0.0)
    return grow(
        np.array([initial(e.seed) for e in known]),
        np.array([e.success for e in known]),
        np.array([weights[e.policy] for e in known]),
    )


def allocated(
    seeds: Iterator[int],
    initial: Callable[[int], FloatArray],
    tree: Tree,
    rng: np.random.Generator,
) -> Iterator[int]:
    """The seed with the most mixed Thompson sample, of every `CANDIDATES` fresh ones in turn.

    Seeds of one stratum share their sample; of equals the first is taken.
    """
    while some := list(islice(seeds, CANDIDATES)):
        places = [stratum_of(tree, initial(seed)) for seed in some]
        drawn = {id(place): place.draw(rng) for place in places}
        chances = [drawn[id(place)] for place in places]
        yield max(zip(some, chances, strict=True), key=lambda of: of[1] * (1.0 - of[1]))[0]
