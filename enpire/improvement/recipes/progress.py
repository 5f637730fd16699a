"""Reward progress on the way, which changes no policy's rank: a learned potential (Robo-Dopamine).

After Robo-Dopamine (arXiv 2512.23703). A verdict comes once, at the end of an episode; a model of
progress, learned from successes, says of every chunk how far it came. Paid as it is, that would
make it worth while to go back and forth. Paid as the difference of a potential (Ng, Harada and
Russell 1999), with nothing left over at the end, it changes every return by the progress of where
it began, so what is best stays best, however wrong the model is. Soft actor-critic does the rest,
with chunks in proportion to how wrong the critic was about them (Schaul et al. 2015, arXiv
1511.05952).
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import torch
from torch import Tensor

from enpire.improvement.progress import learn_progress
from enpire.improvement.recipe import Candidate, RecipeInputs, required
from enpire.improvement.replay import Prioritised, shaped, transitions
from enpire.improvement.sac import SacAgent, SacSettings


@dataclass(frozen=True, slots=True)
class ProgressReward:
    """Improve the incumbent by soft actor-critic on a reward that progress shapes."""

    learning: SacSettings = field(default_factory=SacSettings)
    progress_steps: int = 800  # gradient steps of the model of progress
    scale: float = 0.5  # of the potential: what all the way is paid, beside 1 for success
    alpha: float = 0.6  # power of the error that a chunk is drawn in proportion to
    beta: float = 0.4  # power of the correction for it, at first; 1 at last

    def improve(self, given: RecipeInputs) -> Candidate:
        """See `Recipe.improve`; needs an incumbent to begin from, and a success."""
        incumbent = required("progress", given)
        started, learning = time.monotonic(), self.learning
        torch.manual_seed(given.seed)
        generator = torch.Generator().manual_seed(given.seed)
        episodes = [episode for episode in given.episodes if len(episode)]
        progress = learn_progress(episodes, self.progress_steps, generator, given.checkpoint)
        data = transitions(episodes, given.spec, learning.discount)
        now = self.scale * progress(data.history[:, -1])
        then = now.roll(-given.spec.execute)  # chunks begin at every period, one after the other
        ended = data.discount == 0
        replay = Prioritised(shaped(data, now, then), self.alpha)
        agent = SacAgent(incumbent, replay.data, learning, generator, bounds=(-self.scale, 1.0))
        agent.modules["replay"] = replay

        def step(at: int) -> Tensor:
            beta = self.beta + (1.0 - self.beta) * at / learning.steps
            batch, index, weight = replay.sample(learning.batch, beta, generator)
            loss, off = agent.learn_both(batch, at, weight)
            replay.update(index, off)
            return loss

        loss = agent.learn("progress-policy", learning.steps, step, given.checkpoint)
        numbers = {
            "episodes": len(episodes),
            "progress_won": float(now[ended & (data.reward > 0)].mean() / self.scale),
            "progress_lost": float(now[ended & (data.reward == 0)].mean() / self.scale),
            "loss": loss,
            "seconds": time.monotonic() - started,
        }
        return Candidate(agent.policy, numbers)


RECIPE = ProgressReward
