"""Behaviour cloning of demonstrations, in chunks (Zhao et al. 2023, arXiv 2304.13705).

The start of every run: what forty demonstrations by an imperfect person teach.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from enpire.improvement.behaviour_cloning import CALM, Kind, Training, clone
from enpire.improvement.recipe import Candidate, RecipeInputs
from enpire.policies import FlowPolicy

STEPS = 1500  # gradient steps, of what does not flow


@dataclass(frozen=True, slots=True)
class BehaviourCloning:
    """Clone the successful demonstrations."""

    policy: Kind = "chunk"  # what is made: one chunk for what is seen, or one that flows from noise
    training: Training = field(default_factory=Training)
    deviation: float = CALM  # of the noise that a flow acts with: little is exact, much comes free

    def improve(self, given: RecipeInputs) -> Candidate:
        """See `Recipe.improve`; the incumbent is not used."""
        chosen = [e for e in given.episodes if e.success and e.shown]
        fitted = clone(given, chosen, self.policy, self.training, STEPS)
        policy = fitted.policy
        if isinstance(policy, FlowPolicy):
            policy.spec = replace(policy.spec, deviation=self.deviation)
        return Candidate(policy, fitted.numbers(len(chosen)))


RECIPE = BehaviourCloning
