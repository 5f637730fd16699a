"""Reinforcement learning with prior data: half of every batch is old, half is fresh (RLPD).

After Ball et al. 2023 (arXiv 2302.02948): soft actor-critic from all episodes at once. *Symmetric
sampling*: half of a batch comes from the latest round, half from what was there before,
demonstrations among it. *Layer norm* in an *ensemble* of critics keeps values of actions that
nobody has tried from running away, and a target takes the least of a *random few* of them.

Three things differ, because the world corrects RLPD's actor at every step, and that of a round only
when it is over. The actor begins from the incumbent. The critics begin from the returns that
followed. And the actor is held to a chunk that was tried: the one carried out or the incumbent's
own, whichever the critics prefer.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import torch

from enpire.improvement.recipe import Candidate, RecipeInputs, chunk_policy, latest, required
from enpire.improvement.replay import Transitions, transitions
from enpire.improvement.sac import SacAgent, SacSettings
from enpire.policies import Policy


@dataclass(frozen=True, slots=True)
class PriorData:
    """Improve the incumbent by soft actor-critic on old and fresh episodes alike."""

    learning: SacSettings = field(default_factory=SacSettings)

    def require_policy(self, policy: Policy | None) -> None:
        """See `Particular.require_policy`."""
        chunk_policy("rlpd", policy)

    def improve(self, given: RecipeInputs) -> Candidate:
        """See `Recipe.improve`; needs an incumbent to begin from."""
        incumbent = required("rlpd", given)
        started, learning = time.monotonic(), self.learning
        torch.manual_seed(given.seed)
        generator = torch.Generator().manual_seed(given.seed)
        fresh, older = (
            transitions(some, given.spec, learning.discount) for some in latest(given.episodes)
        )
        agent = SacAgent(incumbent, fresh.joined(older), learning, generator)

        def halves(size: int, generator: torch.Generator) -> Transitions:
            half = size // 2
            return fresh.sample(half, generator).joined(older.sample(half, generator))

        loss = agent.learn_from("rlpd", halves, given.checkpoint)
        numbers = {
            "fresh": len(fresh),
            "older": len(older),
            "loss": loss,
            "seconds": time.monotonic() - started,
        }
        return Candidate(agent.policy, numbers)


RECIPE = PriorData
