"""Learn what to add to a frozen policy, then teach the sum to a plain one (PLD).

After *probe, learn, distil* (arXiv 2511.00091). *Probe*: stations run the incumbent and vary some
of its chunks, which is what a round collects. *Learn*: the incumbent is frozen, and soft
actor-critic finds a bounded residual on top of it, from all episodes. *Distil*: the chunks that
both together would do, at moments that were visited, are cloned into a policy that needs none.

A policy that is not ours to teach so, such as LeRobot's, is left as it is: what comes of it is the
two of them, a policy of kind `residual`, and a later round learns on from there. To distil it into
the base is `finetune`'s, on what both were verified to do. It may see by cameras: the residual is
shown what the arm feels and what the base would do, and learns from chunks that begin and end with
a picture.

The critics begin from the returns that followed, the paper's from Cal-QL, which such returns bound
from below. And the sum is held to what was tried, as in `rlpd`.
"""

from __future__ import annotations

import copy
import time
from dataclasses import dataclass, field, replace

import numpy as np
import torch

from enpire.improvement.behaviour_cloning import Training, fit
from enpire.improvement.data import MIN_STD, examples
from enpire.improvement.frozen_base import Moments, base_among, standing
from enpire.improvement.recipe import Candidate, RecipeInputs
from enpire.improvement.replay import transitions
from enpire.improvement.residual import Residual, Standing
from enpire.improvement.sac import SacAgent, SacSettings
from enpire.policies import (
    Base,
    ChunkPolicy,
    Correction,
    CorrectionSpec,
    Policy,
    ResidualPolicy,
)


@dataclass(frozen=True, slots=True)
class ResidualLearning:
    """Improve the incumbent by a residual, and distil it."""

    learning: SacSettings = field(default_factory=SacSettings)
    training: Training = field(default_factory=lambda: Training(steps=800))  # of the distillation
    reach: float = 2.0  # of the residual, in units of each action's spread

    def require_policy(self, policy: Policy | None) -> None:
        """See `Particular.require_policy`."""
        base_among("residual_rl", policy)

    def improve(self, given: RecipeInputs) -> Candidate:
        """See `Recipe.improve`; needs an incumbent to add to."""
        base = standing("residual_rl", given)
        if isinstance(given.incumbent, ChunkPolicy):
            return self._improve_within(given, given.incumbent)
        return self._improve_beside(given, base)

    def _improve_within(self, given: RecipeInputs, incumbent: ChunkPolicy) -> Candidate:
        """Improve a policy that is quick to teach: one network does what both together would."""
        started, learning = time.monotonic(), self.learning
        torch.manual_seed(given.seed)
        generator = torch.Generator().manual_seed(given.seed)
        episodes = [episode for episode in given.episodes if len(episode)]
        data = transitions(episodes, given.spec, learning.discount)
        agent = SacAgent(Residual(incumbent, self.reach), data, learning, generator)
        agent.learn_from("residual", data.sample, given.checkpoint)
        seen = examples(episodes, given.spec)
        with torch.no_grad():
            moments = torch.split(seen.rows[seen.window], 4096)
            better = torch.cat([agent.policy(each).clamp(-1.0, 1.0) for each in moments])
            shift = (better - torch.cat([incumbent(each) for each in moments])) / incumbent.spread
        taught = replace(seen, actions=better, valid=torch.ones_like(seen.valid))
        fitted = fit(incumbent, taught, self.training, given.seed, given.checkpoint)
        numbers = {
            "episodes": len(episodes),
            "shift": float(shift.abs().mean()),
            "loss": fitted.loss,
            "seconds": time.monotonic() - started,
        }
        return Candidate(fitted.policy, numbers)

    def _improve_beside(self, given: RecipeInputs, base: Base) -> Candidate:
        """Improve any other: it and the residual as one policy, asked once about each moment."""
        started, learning = time.monotonic(), self.learning
        torch.manual_seed(given.seed)
        generator = torch.Generator().manual_seed(given.seed)
        episodes = [episode for episode in given.episodes if len(episode)]
        moments = Moments.of(base, episodes, given)
        asked = np.flatnonzero(moments.known)
        chunks = moments.answers(asked, given.seed, given.checkpoint, "base")
        data, _ = moments.transitions(episodes, chunks, learning.discount)
        besides = moments.besides().shape[1]
        begun = Standing(self._correction(given.incumbent, moments), besides)
        agent = SacAgent(begun, data, learning, generator)
        loss = agent.learn_from("residual", data.sample, given.checkpoint)
        correction = agent.policy.correction
        with torch.no_grad():
            chunks = chunks[:, : moments.asked.spec.execute]
            shift = (correction(moments.told()[asked], chunks) - chunks) / correction.spread
        numbers = {
            "episodes": len(episodes),
            "chunks": len(data),
            "shift": float(shift.abs().mean()),
            "loss": loss,
            "seconds": time.monotonic() - started,
        }
        return Candidate(ResidualPolicy(base, correction), numbers)

    def _correction(self, incumbent: Policy | None, moments: Moments) -> Correction:
        """The incumbent's own, to go on from; else one that adds nothing yet."""
        if isinstance(incumbent, ResidualPolicy):
            return copy.deepcopy(incumbent.head)
        asked, data = moments.asked, moments.data
        of, rows = asked.spec, asked.seen.beside(data.rows)
        shape = CorrectionSpec(asked.observation, of.action, of.history, of.execute, self.reach)
        made = Correction(shape)
        made.mean.copy_(rows.mean(dim=0))
        made.std.copy_(rows.std(dim=0).clamp_min(MIN_STD))
        made.centre.copy_(data.action_mean)
        made.spread.copy_(asked.spread)
        return made


RECIPE = ResidualLearning
