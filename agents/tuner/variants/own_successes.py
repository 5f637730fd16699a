"""Clone the policies' own successes and leave out the demonstrations, once there are enough.

What a policy brought about it can repeat; what a person showed it may not be able to. After
self-imitation learning (Oh et al. 2018, arXiv 1806.05635).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from enpire.improvement.recipe import Candidate, RecipeInputs
from enpire.improvement.recipes.replay_bc import ReplayCloning
from enpire.types import Purpose


@dataclass(frozen=True, slots=True)
class OwnSuccesses(ReplayCloning):
    """As `replay_bc`, without demonstrations."""

    enough: int = 40  # successes of its own; with fewer, as `replay_bc`

    def improve(self, given: RecipeInputs) -> Candidate:
        """See `Recipe.improve`."""
        own = [e for e in given.episodes if e.success and e.purpose is not Purpose.DEMONSTRATION]
        episodes = own if len(own) >= self.enough else given.episodes
        return ReplayCloning.improve(self, replace(given, episodes=episodes))


RECIPE = OwnSuccesses
