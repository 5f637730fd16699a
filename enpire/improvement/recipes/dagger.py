"""A teacher with a tracker says what a policy with cameras should have done (DAgger, 1011.0686).

A network that is told what a tracker says learns far more from the same demonstrations than one
that sees by cameras. So it teaches (Chen et al. 2019, arXiv 1912.12294). In a round the policy
acts alone. The teacher then says which chunk it would have begun at each moment at which the policy
was shown pictures, and the policy clones that beside the demonstrations. The teacher never acts,
and is no script. Where the policy runs later there has to be no tracker.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import torch

from enpire.errors import RecipeError
from enpire.improvement.behaviour_cloning import Training, clone_flow, clone_picture, shown_levels
from enpire.improvement.data import Examples, known_well, seen_examples, tracked
from enpire.improvement.recipe import Candidate, RecipeInputs
from enpire.policies import FlowPolicy, PictureSpec
from enpire.types import Episode

PASSES = 16.0  # over all examples, within bounds
LEAST_STEPS, MOST_STEPS = 2500, 9000


@dataclass(frozen=True, slots=True)
class Dagger:
    """Clone what a teacher with a tracker would have done where the policy was."""

    training: Training = field(default_factory=Training)  # of the policy that sees
    teacher: Training = field(default_factory=Training)  # of the teacher: a flow of demonstrations

    def improve(self, given: RecipeInputs) -> Candidate:
        """See `Recipe.improve`; the policy is learned anew, its encoders go on."""
        spec = given.spec
        if not isinstance(spec, PictureSpec):
            raise RecipeError("dagger teaches policies that see by cameras: --images 64")
        followed = [episode for episode in given.episodes if tracked(episode)]
        known = known_well(followed)
        if not known:
            raise RecipeError(
                "dagger: no success has what a tracker says, so nobody can teach: --recipe recover"
            )
        teacher = clone_flow(given, known, self.teacher, stage="teacher")
        spec = shown_levels(given, spec, known)
        data, asked = relabelled(seen(followed), spec, teacher.policy)
        usual = int(np.clip(PASSES * len(data) / self.training.batch, LEAST_STEPS, MOST_STEPS))
        training = replace(self.training, steps=self.training.steps or usual)
        fitted = clone_picture(given, spec, data, training)
        told = {"asked": float(asked), "teacher_loss": teacher.loss}
        return Candidate(fitted.policy, fitted.numbers(len(followed)) | told)


def seen(episodes: Sequence[Episode]) -> list[Episode]:
    """Those with pictures, of policies that failed too; a failed demonstration shows nothing."""
    return [e for e in episodes if len(e.pictures) and (e.success or not e.shown)]


def relabelled(
    episodes: Sequence[Episode], spec: PictureSpec, teacher: FlowPolicy
) -> tuple[Examples, int]:
    """The moments of which there are pictures, with what a teacher would have done.

    What somebody did who knows, in a demonstration or to help, stays. The teacher answers with no
    noise, so that it says the same each time: its usual way to go on.

    Returns:
        The examples, and how many of them the teacher was asked about.
    """
    data = seen_examples(episodes, spec, torch.ones(sum(map(len, episodes))))
    own = np.concatenate([~e.intervened & (not e.shown) for e in episodes])
    asked = torch.from_numpy(own)[data.window[:, -1]]
    history = data.rows[data.window[asked]]
    with torch.no_grad():
        told = teacher(history, torch.zeros(len(history), teacher.noise_size))
    actions, valid = data.actions.clone(), data.valid.clone()
    actions[asked], valid[asked] = told, True
    return replace(data, actions=actions, valid=valid), int(asked.sum())


RECIPE = Dagger
