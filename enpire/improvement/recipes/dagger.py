"""A teacher that is told what a tracker says corrects a LeRobot policy (DAgger, arXiv 1011.0686).

What a weak policy did in its few successes teaches a network that knows the scene far more than it
teaches the policy. So that network teaches (Chen et al. 2019, arXiv 1912.12294): a flow of all
successes, and critics of all episodes that choose among its chunks. In a round the policy acts
alone. The teacher then says which chunk it would have begun at each moment, and the policy learns
that by LeRobot's own loss. The teacher never acts, and is no script. What comes out is a policy of
the same kind and size, which LeRobot reads, and which looks again as often as its teacher.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace

import numpy as np
import torch

from enpire.errors import RecipeError
from enpire.improvement.behaviour_cloning import Training
from enpire.improvement.data import known_well, tracked
from enpire.improvement.recipe import Candidate, RecipeInputs
from enpire.improvement.recipes.finetune import FineTuning, lerobot_base
from enpire.improvement.state_policy import (
    best_chunks,
    choose_by_critics,
    clone_state_flow,
    state_inputs,
)
from enpire.packs.finder import sets_joints
from enpire.policies import Policy


@dataclass(frozen=True, slots=True)
class Dagger:
    """Have a LeRobot policy learn what a teacher would have done where it was."""

    tuning: FineTuning = field(default_factory=lambda: FineTuning(steps=2000, lr=1e-3))
    # Of the teacher's flow. More steps take longer than the robots, and it is made anew each round.
    teacher: Training = field(default_factory=lambda: Training(steps=2000))
    critic_steps: int = 3000  # gradient steps of those who choose among the teacher's chunks
    # The policy looks again as often as its teacher, whose critics judge no more of a chunk.
    look_again: bool = True

    def require_policy(self, policy: Policy | None) -> None:
        """See `Particular.require_policy`."""
        lerobot_base("dagger", policy)

    def improve(self, given: RecipeInputs) -> Candidate:
        """See `Recipe.improve`; goes on from the incumbent's weights."""
        base = lerobot_base("dagger", given.incumbent)
        if sets_joints(given.spec.task):
            raise RecipeError(
                "dagger: its teacher moves hands, and actions here set joints: --recipe finetune"
            )
        followed = [episode for episode in given.episodes if tracked(episode)]
        known = known_well(followed)
        if not known:
            raise RecipeError(
                "dagger: no success has what a tracker says, so nobody can teach: --recipe finetune"
            )

        started = time.monotonic()
        model = base.model()
        ahead = 1 + max(model.config.action_delta_indices)  # periods that it predicts
        knows = state_inputs(given, followed)
        knows = replace(knows, spec=replace(knows.spec, chunk=max(knows.spec.chunk, ahead)))
        flow = clone_state_flow(knows, known, self.teacher, "teacher")
        teacher = choose_by_critics(replace(knows, incumbent=flow), self.critic_steps)
        rows = torch.from_numpy(np.concatenate([episode.observations for episode in followed]))

        def advice(at: torch.Tensor) -> torch.Tensor:
            return best_chunks(teacher, rows[at], given.seed)

        loss = self.tuning.teach(model, followed, given, teacher=advice)
        if self.look_again:
            judged = teacher.head.spec.chunk
            model.config.n_action_steps = min(model.config.n_action_steps, judged)
        numbers = {
            "episodes": len(followed),
            "steps": self.tuning.steps,
            "loss": loss,
            "seconds": time.monotonic() - started,
        }
        return Candidate(replace(base, files=model.save()), numbers)


RECIPE = Dagger
