"""Clone the faster half of all successes: of two ways that work, the shorter one fails less.

After the filtered cloning that offline reinforcement learning is held against (Chen et al. 2021,
arXiv 2106.01345: the best tenth of all episodes).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from enpire.improvement.recipe import Candidate, RecipeInputs
from enpire.improvement.recipes.replay_bc import ReplayCloning


@dataclass(frozen=True, slots=True)
class FastSuccesses(ReplayCloning):
    """As `replay_bc`, of successes that took no longer than a share of them did."""

    share: float = 0.5  # of the successes, the fastest

    def improve(self, given: RecipeInputs) -> Candidate:
        """See `Recipe.improve`."""
        won = sorted((e for e in given.episodes if e.success), key=len)
        kept = {e.id for e in won[: max(1, round(self.share * len(won)))]}
        episodes = [e for e in given.episodes if e.id in kept]
        return ReplayCloning.improve(self, replace(given, episodes=episodes))


RECIPE = FastSuccesses
