"""A teacher with a tracker says what a policy with cameras should have done (DAgger, 1011.0686).

A network that is told what a tracker says learns far more from the same demonstrations than one
that sees by cameras. So it teaches (Chen et al. 2019, arXiv 1912.12294). In a round the policy
acts alone. The teacher then says which chunk it would have begun at each moment at which the policy
was shown pictures, and the policy clones that beside the demonstrations. The teacher never acts,
and is no script. Where the policy runs later there has to be no tracker.

Demonstrators wait above an object until they are in line. A policy that sees a little less well is
never quite in line, and a teacher that only clones would have it wait until time is up. So critics
choose among the teacher's chunks, as in `best_of_n`. They have learned from all episodes, those
that waited in vain among them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

import numpy as np
import torch
from torch import Tensor

from enpire.environment import Job, StationBackend
from enpire.errors import RecipeError, UsageError
from enpire.improvement.behaviour_cloning import Training, clone_flow, clone_picture, shown_levels
from enpire.improvement.collection import Collection
from enpire.improvement.data import Examples, known_well, seen_examples, tracked
from enpire.improvement.recipe import Candidate, RecipeInputs
from enpire.improvement.recipes.best_of_n import BestOfN
from enpire.improvement.recipes.replay_bc import usual_steps
from enpire.policies import BestOfPolicy, Chooser, ChunkSpec, FlowPolicy, PictureSpec
from enpire.types import Episode

BLIND = "dagger teaches policies that see by cameras: --images 64"
ROWS = 2048  # that the teacher is asked about at once


@dataclass(frozen=True, slots=True)
class Dagger:
    """Clone what a teacher with a tracker would have done where the policy was."""

    training: Training = field(default_factory=Training)  # of the policy that sees
    teacher: Training = field(default_factory=Training)  # of the teacher: a flow of demonstrations
    critic_steps: int = 3000  # gradient steps of those who choose among the teacher's chunks

    def require(self, stations: StationBackend) -> None:
        """See `Collector.require`: raise UsageError where policies see nothing by cameras."""
        if stations.policy_cameras is None:
            raise UsageError(BLIND)

    def collect(self, asked: Collection) -> Iterator[Job | None]:
        """See `Collector.collect`: the policy alone."""
        yield from asked.plain()

    def improve(self, given: RecipeInputs) -> Candidate:
        """See `Recipe.improve`; the policy is learned anew, its encoders go on."""
        spec = given.spec
        if not isinstance(spec, PictureSpec):
            raise RecipeError(BLIND)
        followed = [episode for episode in given.episodes if tracked(episode)]
        known = known_well(followed)
        if not known:
            raise RecipeError(
                "dagger: no success has what a tracker says, so nobody can teach: --recipe recover"
            )
        teacher = self._teacher(replace(given, spec=ChunkSpec.of(spec)), followed, known)
        spec = shown_levels(given, spec, known)
        data, asked = relabelled(seen(followed), spec, teacher)
        steps = self.training.steps or usual_steps(len(data), self.training)
        training = replace(self.training, steps=steps)
        fitted = clone_picture(given, spec, data, training)
        return Candidate(fitted.policy, fitted.numbers(len(followed)) | {"asked": float(asked)})

    def _teacher(
        self, given: RecipeInputs, followed: Sequence[Episode], known: Sequence[Episode]
    ) -> Teacher:
        flow = clone_flow(given, known, self.teacher, stage="teacher").policy
        flow.spec = replace(flow.spec, deviation=1.0)  # there has to be something to choose among
        lags = tuple(range(flow.spec.reach, -1, -flow.spec.stride))
        critics = BestOfN(warm_steps=self.critic_steps, margin=0.0, back=0, lags=lags)
        best = critics.improve(replace(given, episodes=followed, incumbent=flow)).policy
        return Teacher(flow, cast(BestOfPolicy, best).head, given.seed)


@dataclass(frozen=True, slots=True)
class Teacher:
    """A flow that sees all that a tracker says, and critics that choose among its chunks."""

    flow: FlowPolicy
    chooser: Chooser
    seed: int

    @torch.no_grad()
    def chunks(self, history: Tensor) -> Tensor:
        """Return the best chunks, (batch, chunk, act), for observations (batch, history, obs)."""
        spec, generator = self.chooser.spec, torch.Generator().manual_seed(self.seed)
        parts = []
        for first in range(0, len(history), ROWS):
            some = history[first : first + ROWS]
            drawn = torch.randn(spec.samples, len(some), self.flow.noise_size, generator=generator)
            chunks = torch.stack([self.flow(some, each) for each in drawn])
            moments = self.chooser.see(some)
            values = [self.chooser.values(moments, each[:, : spec.chunk]) for each in chunks]
            best = self.chooser.advantages(torch.stack(values, dim=2)).argmax(dim=1)
            parts.append(chunks[best, torch.arange(len(some))])
        return torch.cat(parts)


def seen(episodes: Sequence[Episode]) -> list[Episode]:
    """Those with pictures, of policies that failed too; a failed demonstration shows nothing."""
    return [e for e in episodes if len(e.pictures) and (e.success or not e.shown)]


def relabelled(
    episodes: Sequence[Episode], spec: PictureSpec, teacher: Teacher
) -> tuple[Examples, int]:
    """The moments of which there are pictures, with what a teacher would have done.

    What somebody did who knows, in a demonstration or to help, stays.

    Returns:
        The examples, and how many of them the teacher was asked about.
    """
    data = seen_examples(episodes, spec, torch.ones(sum(map(len, episodes))))
    own = np.concatenate([~e.intervened & (not e.shown) for e in episodes])
    asked = torch.from_numpy(own)[data.window[:, -1]]
    actions, valid = data.actions.clone(), data.valid.clone()
    actions[asked] = teacher.chunks(data.rows[data.window[asked]])
    valid[asked] = True
    return replace(data, actions=actions, valid=valid), int(asked.sum())


RECIPE = Dagger
