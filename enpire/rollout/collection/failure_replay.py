"""Hard cases again: a share of a round's episodes begins where the incumbent has failed.

After prioritised level replay (Jiang et al. 2021, arXiv 2010.03934), with the one score that a
verdict gives: failed, and not succeeded since. Only the initial condition comes again; noise and
exploration are new, as the same policy would else do the same once more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from enpire.types import Episode, Outcome

VARIANTS = 1 << 20  # and the round's number: the variant of a hard case, beyond those of recipes


def hard_cases(episodes: Sequence[Episode], base: str, parent: str) -> list[int]:
    """Seeds that the policy `base` fails, then those that its `parent` did and it has not tried.

    What came last from a seed counts. The latest first.
    """
    last: dict[str, dict[int, Episode]] = {base: {}, parent: {}}
    for episode in sorted(episodes, key=lambda e: (e.round, e.id)):
        if episode.policy in last:
            last[episode.policy][episode.seed] = episode
    found: list[int] = []
    for policy in dict.fromkeys((base, parent)):
        tried = last[policy].values()
        failed = [e for e in tried if e.verdict.outcome is Outcome.FAILURE]
        found += [e.seed for e in reversed(failed) if policy == base or e.seed not in last[base]]
    return found


def mixed(
    fresh: Iterator[int], hard: Sequence[int], share: float, rng: np.random.Generator
) -> Iterator[int]:
    """Seeds of which a `share` are hard cases, none of them twice; once they are out, fresh ones.

    fresh: endless.
    """
    left = iter(hard)
    while True:
        again = next(left, None) if rng.random() < share else None
        yield next(fresh) if again is None else again
