"""A recipe of your own: episodes in, a better policy out.

The loop imports this file for its recipe, in the process that trains. Run it, and it improves a
policy by that recipe.
"""

from dataclasses import dataclass, field

import enpire
from enpire.improvement.behaviour_cloning import Training, clone


@dataclass(frozen=True)
class CloneSuccesses:
    """Clone every episode that succeeded, the policy's own ones and the demonstrations alike."""

    training: Training = field(default_factory=lambda: Training(steps=1000))

    def improve(self, given: enpire.RecipeInputs) -> enpire.Candidate:
        """Train a flow, from new weights, on what succeeded."""
        won = [episode for episode in given.episodes if episode.success]
        fitted = clone(given, won, "flow", self.training, usual=1000)
        return enpire.Candidate(fitted.policy, fitted.numbers(len(won)))


RECIPE = CloneSuccesses

if __name__ == "__main__":
    result = enpire.improve(
        task="pick_cube",
        recipe=__file__,
        demonstrations=10,
        start_episodes=40,
        collect=60,
        max_pairs=20,
        max_rounds=1,
        first_recipe_settings={"training": {"steps": 1000}},
        progress=True,
    )
    for decision in result.run.decisions:
        print(f"round {decision.round}, {decision.kind}: {decision.text}")
