"""Warm-start reinforcement learning: no prior data, only the policy's own rollouts (WSRL).

After Zhou et al. 2024 (arXiv 2412.07762). What a policy was learned from need not be kept: a few
rollouts of its own say as much, and pull towards nothing else. *Warm-up*: the actor stands still
while the critic learns what its rollouts were worth, so that the first steps of the actor do not
undo what it could. Then soft actor-critic on the latest round alone.

The critics of the paper come from offline learning; here they begin from the returns that followed,
which are the value of the policy itself. And the actor is held to what was tried, as in `rlpd`.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import torch

from enpire.improvement.recipe import Candidate, RecipeInputs, latest, required
from enpire.improvement.replay import Transitions, Uniform, transitions
from enpire.improvement.sac import SacAgent, SacSettings


@dataclass(frozen=True, slots=True)
class WarmStart:
    """Improve the incumbent by soft actor-critic on what it did itself in the latest round."""

    learning: SacSettings = field(default_factory=SacSettings)

    def improve(self, given: RecipeInputs) -> Candidate:
        """See `Recipe.improve`; needs an incumbent to begin from."""
        incumbent = required("wsrl", given)
        started, learning = time.monotonic(), self.learning
        torch.manual_seed(given.seed)
        generator = torch.Generator().manual_seed(given.seed)
        fresh, _ = latest(given.episodes)
        rollouts = Uniform(transitions(fresh, given.spec, learning.discount))
        agent = SacAgent(incumbent, rollouts.data, learning, generator)

        def batch() -> Transitions:
            return rollouts.sample(learning.batch, generator)

        loss = agent.learn_from("wsrl", batch, given.checkpoint)
        numbers = {"rollouts": len(fresh), "loss": loss, "seconds": time.monotonic() - started}
        return Candidate(agent.policy, numbers)


RECIPE = WarmStart
