"""Go on cloning from the incumbent's weights, at a lower rate, instead of from new ones.

Little is forgotten and little time taken, where the incumbent is nearly good enough.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from enpire.errors import RecipeError
from enpire.improvement.behaviour_cloning import Training, fit
from enpire.improvement.data import examples, instructive
from enpire.improvement.recipe import Candidate, RecipeInputs, chunk_policy, required
from enpire.policies import Policy


@dataclass(frozen=True, slots=True)
class FurtherCloning:
    """Clone all successes, beginning from the incumbent."""

    training: Training = field(default_factory=lambda: Training(steps=800, lr=3e-4))

    def require_policy(self, policy: Policy | None) -> None:
        """See `Particular.require_policy`."""
        chunk_policy("further_cloning", policy)

    def improve(self, given: RecipeInputs) -> Candidate:
        """See `Recipe.improve`; needs an incumbent that is a chunk policy."""
        incumbent = required("further_cloning", given)
        chosen = [episode for episode in given.episodes if episode.success]
        if not chosen:
            raise RecipeError("no episode succeeded: there is nothing to clone")
        data = examples(chosen, given.spec)
        data = data.only(np.concatenate([instructive(episode) for episode in chosen]))
        fitted = fit(incumbent, data, self.training, given.seed, given.checkpoint)
        numbers = {"episodes": len(chosen), "loss": fitted.loss, "seconds": fitted.seconds}
        return Candidate(fitted.policy, numbers)


RECIPE = FurtherCloning
