"""Learn to tell from pictures what a tracker says, and act on that as a policy with a tracker does.

A policy that is told what a tracker says learns far more from the same demonstrations than one
that sees by cameras. What is missing is the tracker. All episodes show what it said beside
pictures, those that failed too, and that is quick to learn from: every picture counts, and there
is one right answer (asymmetric learning, Pinto et al. 2017, arXiv 1710.06542; a state predicted
from pictures as the input of a policy, Levine et al. 2016, arXiv 1504.00702).

The policy that acts is a flow of the demonstrations. Once it has acted by itself, critics choose
among its chunks, as in `best_of_n`, of the same entries. No script has a part in it, and where the
policy runs later there has to be no tracker.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

import torch

from enpire.environment import Job, StationBackend
from enpire.errors import RecipeError, UsageError
from enpire.improvement.behaviour_cloning import Fit, Training, fit
from enpire.improvement.collection import Collection
from enpire.improvement.data import MIN_STD, known_well, seen_examples, tracked
from enpire.improvement.recipe import Candidate, RecipeInputs
from enpire.improvement.scene_symmetry import scales
from enpire.improvement.state_policy import choose_by_critics, clone_state_flow, state_inputs
from enpire.policies import EstimatedPolicy, PictureSpec, StateEstimator
from enpire.types import Episode

BLIND = "state_estimation teaches policies that see by cameras: --images 64"
ALL_FELT = (
    "state_estimation: nothing of what is observed comes from a tracker, so there is nothing to "
    "estimate: --recipe replay_bc"
)


@dataclass(frozen=True, slots=True)
class StateEstimation:
    """Clone a flow of what a tracker says, and learn to tell that from pictures."""

    estimator: Training = field(
        default_factory=lambda: Training(steps=4500, batch=32, lr=3e-3, noise=0.0)
    )  # of what estimates
    training: Training = field(default_factory=Training)  # of the flow
    critic_steps: int = 3000  # gradient steps of the critics in each round

    def require(self, stations: StationBackend) -> None:
        """See `Collector.require`: raise UsageError where policies see nothing by cameras."""
        if stations.policy_cameras is None:
            raise UsageError(BLIND)
        if len(stations.policy_cameras.felt) == stations.observation_size:
            raise UsageError(ALL_FELT)

    def collect(self, asked: Collection) -> Iterator[Job | None]:
        """See `Collector.collect`: the policy alone."""
        yield from asked.plain()

    def improve(self, given: RecipeInputs) -> Candidate:
        """See `Recipe.improve`; an incumbent of the same recipe's goes on."""
        spec = given.spec
        if not isinstance(spec, PictureSpec):
            raise RecipeError(BLIND)
        if len(spec.felt) == spec.observation:
            raise RecipeError(ALL_FELT)
        followed = [episode for episode in given.episodes if tracked(episode)]
        known = known_well(followed)
        if not known:
            raise RecipeError(
                "state_estimation: no success has what a tracker says, so there is nothing to learn"
                " it from: --recipe recover"
            )
        before = given.incumbent if isinstance(given.incumbent, EstimatedPolicy) else None
        seeing = replace(given, spec=replace(spec, history=1))
        fitted = self._fit_estimator(seeing, followed, before)
        acts = state_inputs(given, followed)
        acting = clone_state_flow(acts, known, self.training) if before is None else before.acting
        if not all(episode.shown for episode in followed):
            acting = choose_by_critics(replace(acts, incumbent=acting), self.critic_steps)
        policy = EstimatedPolicy(acting, fitted.policy)
        return Candidate(policy, fitted.numbers(len(followed)))

    def _fit_estimator(
        self, given: RecipeInputs, followed: Sequence[Episode], before: EstimatedPolicy | None
    ) -> Fit[StateEstimator]:
        """Return an estimator of all pictures that there are."""
        spec = cast(PictureSpec, given.spec)
        data = seen_examples(followed, spec, torch.ones(sum(map(len, followed))))
        torch.manual_seed(given.seed)
        estimator = StateEstimator(spec)
        of = scales(data)
        estimator.mean.copy_(of.mean)
        estimator.std.copy_(of.std.clamp_min(MIN_STD))
        if before is not None and before.estimator.spec == spec:
            estimator.load_state_dict(before.estimator.state_dict())
        said = data.rows[data.window[:, -1:]][..., estimator.told]
        data = replace(data, actions=said, valid=torch.ones(len(data), 1, dtype=torch.bool))
        return fit(estimator, data, self.estimator, given.seed, given.checkpoint, "estimator")


RECIPE = StateEstimation
