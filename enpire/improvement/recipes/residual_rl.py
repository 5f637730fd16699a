"""Learn what to add to a frozen policy, then teach the sum to a plain one (PLD).

After *probe, learn, distil* (arXiv 2511.00091). *Probe*: stations run the incumbent and vary some
of its chunks, which is what a round collects. *Learn*: the incumbent is frozen, and soft
actor-critic finds a bounded residual on top of it, from all episodes. *Distil*: the chunks that
both together would do, at moments that were visited, are cloned into a policy that needs none.

The critics begin from the returns that followed, the paper's from Cal-QL, which such returns bound
from below. And the sum is held to what was tried, as in `rlpd`.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from enpire.improvement.data import examples
from enpire.improvement.recipe import Candidate, Given, required
from enpire.improvement.replay import Uniform, transitions
from enpire.improvement.residual import Residual
from enpire.improvement.sac import Agent, Learning
from enpire.improvement.trainer import Training, fit


@dataclass(frozen=True, slots=True)
class ResidualLearning:
    """Improve the incumbent by a residual, and distil it."""

    learning: Learning = field(default_factory=Learning)
    training: Training = field(default_factory=lambda: Training(steps=800))  # of the distillation
    reach: float = 2.0  # of the residual, in units of each action's spread

    def improve(self, given: Given) -> Candidate:
        """See `Recipe.improve`; needs an incumbent to add to."""
        incumbent = required("residual_rl", given)
        started, learning = time.monotonic(), self.learning
        torch.manual_seed(given.seed)
        generator = torch.Generator().manual_seed(given.seed)
        episodes = [episode for episode in given.episodes if len(episode)]
        replay = Uniform(transitions(episodes, given.spec, learning.discount))
        agent = Agent(Residual(incumbent, self.reach), replay.data, learning, generator)

        def step(at: int) -> Tensor:
            batch = replay.sample(learning.batch, generator)
            return agent.learn_both(batch, at)[0]

        agent.learn("residual", learning.steps, step, given.checkpoint)
        data = examples(episodes, given.spec)
        with torch.no_grad():
            moments = torch.split(data.rows[data.window], 4096)
            better = torch.cat([agent.policy(each).clamp(-1.0, 1.0) for each in moments])
            shift = (better - torch.cat([incumbent(each) for each in moments])) / incumbent.spread
        taught = replace(data, actions=better, valid=torch.ones_like(data.valid))
        fitted = fit(incumbent, taught, self.training, given.seed, given.checkpoint)
        numbers = {
            "episodes": len(episodes),
            "shift": float(shift.abs().mean()),
            "loss": fitted.loss,
            "seconds": time.monotonic() - started,
        }
        return Candidate(fitted.policy, numbers)


RECIPE = ResidualLearning
