"""What an online recipe is: a learner that takes episodes as they end, while stations work.

A recipe that learns online is one that has a `learner`, too. The loop has it collect: a block of
episodes under one version of the policy, the next block under a later one. It hands over whole
blocks, in one order, so what is learned does not hang on how fast anything was.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from enpire.improvement.checkpoint import TrainingState
from enpire.improvement.configured_recipe import ConfiguredRecipe
from enpire.improvement.recipe import Candidate, RecipeInputs
from enpire.policies import Policy
from enpire.types import Episode


class OnlineLearner(Protocol):
    """Learns from one run, beside its stations.

    Each call may raise RecipeError: the learner is at its end, and the incumbent stays.
    """

    def add(self, episodes: Sequence[Episode]) -> dict[str, float]:
        """Learn from a block of episodes; returns numbers that show how it goes."""
        ...

    def policy(self) -> Policy:
        """Return the policy that the stations are to collect with now; how it explores is its own
        business."""
        ...

    def candidate(self) -> Candidate:
        """Return the policy as it is now, to be compared: it does not explore."""
        ...

    def state(self) -> TrainingState:
        """Return all that learning goes on from, apart from the episodes."""
        ...

    def restore(self, episodes: Sequence[Episode], kept: TrainingState) -> None:
        """Go on from a `state`, which all of these episodes had led to: later calls return the
        same, to the last bit."""
        ...


@runtime_checkable
class OnlineRecipe(Protocol):
    """A recipe whose learner works while stations collect."""

    def learner(self, given: RecipeInputs) -> OnlineLearner:
        """Begin to learn, from the episodes of before; `given.checkpoint` keeps nothing.

        Raises:
            RecipeError: there is nothing to learn on.
        """
        ...

    def improve(self, given: RecipeInputs) -> Candidate:
        """See `Recipe.improve`: what it comes to without stations beside it."""
        ...


def is_online(recipe: ConfiguredRecipe) -> bool:
    """Return whether a recipe learns while stations collect."""
    return isinstance(recipe.recipe, OnlineRecipe)
