"""How good a policy is on seeds that it was not chosen by: trials flatter whoever won them."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from enpire.rollout.evaluation.seeds import stream
from enpire.rollout.evaluation.statistics import estimate
from enpire.types import Estimate

ENOUGH = 60  # fresh evaluations of a new incumbent


def check_seeds(seed: int, number: int) -> list[int]:
    """The seeds on which experiment `number`'s policy is measured again; seed: the campaign's."""
    return list(islice(stream(seed, "check", number), ENOUGH))


def fresh(judged: Iterable[tuple[int, int, bool]], seed: int, number: int) -> Estimate:
    """The success of a policy, by its evaluations: round, seed and success of each.

    number: of the experiment that made it, 0 for the first policy. seed: of the campaign.
    """
    checks = set(check_seeds(seed, number))
    told = [
        success
        for round, drawn, success in judged
        if not number or round != number or drawn in checks
    ]
    return estimate(sum(told), len(told))
