"""Replay of verified successes, old and fresh (RLEP, arXiv 2507.07451; filtered behaviour cloning).

The candidate clones what the verifier called a success: demonstrations, help, and what the
incumbent did about as quickly as those. What an explored episode did differently and still
succeeded with is kept; what failed is not imitated, nor what a policy did before somebody helped
it, or before it left the way of a failure.

A success that took much longer shows for most of its time how not to get on (`tasks/push_t`). And
what a policy of another kind did shows what its kind cannot: runs whose flows cloned quick
successes of a policy that answers with one chunk came to 0.63 of 300 sealed seeds at `push_t` and
to 0.66 at `pin_box`, without them to 0.74 and 0.77. So a flow replays what a flow did.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from enpire.improvement.behaviour_cloning import Kind, Training, clone, worth_cloning
from enpire.improvement.data import has_expert
from enpire.improvement.recipe import Candidate, RecipeInputs
from enpire.policies import ChunkPolicy, FlowPolicy, PicturePolicy, PictureSpec
from enpire.types import Episode

# Of what does not flow, gradient steps: passes over all examples, within bounds.
PASSES = 16.0
LEAST_STEPS, MOST_STEPS = 2500, 9000

MADE: dict[Kind, type] = {"chunk": ChunkPolicy, "flow": FlowPolicy}


def usual_steps(examples: int, training: Training) -> int:
    """Return for how many gradient steps so many examples are learned from, unless it is said."""
    return min(int(max(LEAST_STEPS, PASSES * examples / training.batch)), MOST_STEPS)


@dataclass(frozen=True, slots=True)
class ReplayCloning:
    """Clone successes that are worth it, every example about equally often."""

    policy: Kind = "flow"  # what is made: one chunk for what is seen, or one that flows from noise
    training: Training = field(default_factory=Training)
    quick: float = 1.0  # usual demonstrations that a policy's success may last, to be cloned

    def improve(self, given: RecipeInputs) -> Candidate:
        """See `Recipe.improve`; starts from new weights, which forgets earlier mistakes."""
        chosen = self.chosen(given)
        examples = sum(int(rows.sum()) for rows in worth_cloning(given, chosen))
        usual = usual_steps(examples, self.training)
        fitted = clone(given, chosen, self.policy, self.training, usual)
        return Candidate(fitted.policy, fitted.numbers(len(chosen)))

    def chosen(self, given: RecipeInputs) -> list[Episode]:
        """Episodes to clone."""
        won = [episode for episode in given.episodes if episode.success]
        if not any(has_expert(episode) for episode in won):
            return won
        made = PicturePolicy if isinstance(given.spec, PictureSpec) else MADE[self.policy]
        like = isinstance(given.incumbent, made)
        shown = [len(episode) for episode in won if episode.shown]
        longest = self.quick * float(np.median(shown)) if shown else np.inf

        def worth(own: Episode) -> bool:
            who, _, _ = own.policy.partition("+")  # a helper who stood beside it
            return like and who == given.name and len(own) - own.forked <= longest

        return [episode for episode in won if has_expert(episode) or worth(episode)]


RECIPE = ReplayCloning
