"""Which trials get the robots first: a rule that looks at the paired records, and nothing else.

Each candidate is compared with the incumbent on the same fresh seeds, and each has a sequential
test of its own (`enpire.rollout.evaluation.comparison.decide`) that promotes or drops it. The rule
only says whose pairs are run sooner, so it cannot promote what is no better more often than the
tests do. With the tests of K candidates at a level of alpha / K each, whatever is promoted is no
better than the incumbent with a chance of alpha at most (Bonferroni), in whichever order they are
run. `enpire bench selection` holds this rule against others.
"""

from __future__ import annotations

from collections.abc import Mapping

from enpire.rollout.evaluation.comparison import PairedRecord


def level(alpha: float, candidates: int) -> float:
    """The level of each one's test, at which none is promoted falsely by more than `alpha`."""
    return alpha / max(candidates, 1)


def promising(record: PairedRecord) -> float:
    """Mean of the Beta posterior of its share of discordant pairs, from a uniform prior."""
    return (record.wins + 1) / (record.wins + record.losses + 2)


def most_promising(records: Mapping[int, PairedRecord]) -> int | None:
    """The number of the experiment whose trials are to be decided first; None without any.

    records: of experiments in trials, by their numbers. Of equals it is the one with fewer pairs.
    """
    return max(records, key=lambda n: (promising(records[n]), -records[n].pairs), default=None)
