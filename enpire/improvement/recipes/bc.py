"""Behaviour cloning of demonstrations, in chunks (Zhao et al. 2023, arXiv 2304.13705).

The start of every run: what forty demonstrations by an imperfect person teach.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from enpire.improvement.data import examples
from enpire.improvement.recipe import Candidate
from enpire.improvement.trainer import Training, fit, fresh
from enpire.policies import ChunkPolicy, ChunkSpec
from enpire.types import Episode, Purpose


@dataclass(frozen=True, slots=True)
class BehaviourCloning:
    """Clone the successful demonstrations."""

    training: Training = field(default_factory=lambda: Training(steps=1500))

    def improve(
        self,
        spec: ChunkSpec,
        episodes: Sequence[Episode],
        incumbent: ChunkPolicy | None,
        seed: int,
    ) -> Candidate:
        """See `Recipe.improve`; the incumbent is not used."""
        chosen = [e for e in episodes if e.success and e.purpose is Purpose.DEMONSTRATION]
        data = examples(chosen, spec)
        fitted = fit(fresh(spec, data, seed), data, self.training, seed)
        numbers = {"episodes": len(chosen), "loss": fitted.loss, "seconds": fitted.seconds}
        return Candidate(fitted.policy, numbers)


RECIPE = BehaviourCloning
