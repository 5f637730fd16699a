"""Clone each moment by how much it helped: hierarchical advantage-weighted cloning (HABC).

After HABC (arXiv 2606.17043). An episode says once whether it succeeded; cloning needs to know of
every moment. Two critics say it, learned from different episodes: *viability*, the chance of
success from here, from all of them; *efficiency*, the periods still to go, from the successes. What
a chunk of actions gained is by how much it raised the one, and by how much less than its own length
it lowered the other. A gate weighs the two by the moment: where success is in doubt viability
counts, and where it is nearly sure, haste. Credit goes to what a policy did itself, until somebody
took over or the episode ended; a person's demonstrations are cloned as they are. A policy of
LeRobot's is fine-tuned by its own loss, on examples drawn by these weights.

Who sees by cameras learns from moments of which there are pictures. The critics, which never act,
are told what a tracker says too (asymmetric actor-critic, Pinto et al. 2017, arXiv 1710.06542).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import torch
from torch import Tensor

from enpire.errors import RecipeError
from enpire.improvement.behaviour_cloning import Kind, Training, clone
from enpire.improvement.checkpoint import Checkpoint
from enpire.improvement.recipe import Candidate, RecipeInputs
from enpire.improvement.recipes.finetune import FineTuning
from enpire.improvement.value import Normaliser, found_later, regress, returns
from enpire.policies import LeRobotPolicy, Policy, base_of
from enpire.types import Episode, Flags

STEPS = 3000  # gradient steps of the cloning, of what does not flow
WIDTH = 128  # of the critics
NOISE = 0.1  # added to what critics are shown, in units of a `Normaliser`
LEAST_SPREAD = 1e-3  # of a gain that hardly varies


@dataclass(frozen=True, slots=True)
class AdvantageWeighted:
    """Clone every moment with a weight of exp(advantage / temperature)."""

    policy: Kind = "chunk"  # what is made: one chunk for what is seen, or one that flows from noise
    training: Training = field(default_factory=Training)
    tuning: FineTuning = field(default_factory=FineTuning)  # of a policy of LeRobot's
    members: int = 3  # networks of a critic's ensemble
    critic_steps: int = 1500  # gradient steps of each critic
    temperature: float = 0.5  # of the weights, in standard deviations of the advantage
    most: float = 8.0  # times the usual weight
    viable: float = 0.9  # chance of success from which haste counts as much as viability
    sharpness: float = 0.05  # of the gate, as a chance of success

    def improve(self, given: RecipeInputs) -> Candidate:
        """See `Recipe.improve`; starts from new weights, which forgets earlier mistakes.

        A policy of LeRobot's, or what stands on one, goes on from its own.
        """
        started = time.monotonic()
        chosen = [e for e in given.episodes if len(e) and (e.success or not e.shown)]
        if not any(e.success for e in chosen):
            raise RecipeError("no episode succeeded: there is nothing good to clone")
        torch.manual_seed(given.seed)
        generator = torch.Generator().manual_seed(given.seed)
        weight, won, own = self._weighed(chosen, given, generator)
        base = base_of(given.incumbent)
        policy: Policy
        if isinstance(base, LeRobotPolicy):
            policy, loss = self.tuning.tuned(base, chosen, given, weight)
        else:
            fitted = clone(given, chosen, self.policy, self.training, STEPS, weight)
            policy, loss = fitted.policy, fitted.loss
        numbers = {
            "episodes": len(chosen),
            "weight_won": float(weight[own & won].mean()) if (own & won).any() else 0.0,
            "weight_lost": float(weight[~won].mean()) if (~won).any() else 0.0,
            "loss": loss,
            "seconds": time.monotonic() - started,
        }
        return Candidate(policy, numbers)

    def _weighed(
        self, chosen: Sequence[Episode], given: RecipeInputs, generator: torch.Generator
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Weights of all rows, mean one; in which the episode is won; and which are a policy's own.

        Each is (N,).
        """
        rows = torch.from_numpy(np.concatenate([episode.observations for episode in chosen]))
        rows = rows[:, rows.isfinite().all(dim=0)]  # who tracks things does not always see them
        lengths = torch.tensor([len(e) for e in chosen])
        won = torch.tensor([e.success for e in chosen]).repeat_interleave(lengths)
        own = torch.from_numpy(np.concatenate([~e.intervened & (not e.shown) for e in chosen]))
        seen = Normaliser.of(rows)(rows)
        learn = partial(self._critic, seen, generator=generator, checkpoint=given.checkpoint)
        chance = learn(torch.from_numpy(returns(chosen, 1.0)), stage="viability")
        to_go = torch.from_numpy(np.concatenate([np.arange(len(e), 0, -1) for e in chosen]))
        longest = float(to_go[won].max())
        winning = torch.where(won)[0]
        left = longest * learn(to_go[winning] / longest, stage="efficiency", rows=winning)
        until = segments([episode.intervened for episode in chosen])
        safer, faster = gains(chance, left, won, until, lengths, given.spec.execute)
        weight = torch.where(own, self._weight(safer, faster, chance, own), 1.0)
        weight = weight * torch.from_numpy(np.concatenate([_clonable(each) for each in chosen]))
        return (weight / weight.mean()).float(), won, own

    def _critic(
        self,
        seen: Tensor,
        targets: Tensor,
        generator: torch.Generator,
        checkpoint: Checkpoint,
        stage: str,
        rows: Tensor | None = None,
    ) -> Tensor:
        """What `targets`, of some or all rows, are expected to be in all of them, (N,)."""

        def shown(index: Tensor) -> Tensor:
            chosen = seen[index if rows is None else rows[index]]
            return chosen + NOISE * torch.randn(chosen.shape, generator=generator)

        steps = self.critic_steps
        critic = regress(shown, targets, WIDTH, self.members, steps, generator, checkpoint, stage)
        return critic.chance(seen)

    def _weight(self, safer: Tensor, faster: Tensor, chance: Tensor, own: Tensor) -> Tensor:
        """The weight of every row, (N,), from both gains in units of the policies' own spread."""
        if not own.any():
            return torch.ones_like(chance)
        safer, faster = (each / each[own].std().clamp_min(LEAST_SPREAD) for each in (safer, faster))
        gate = torch.sigmoid((chance - self.viable) / self.sharpness)
        advantage = (1 - gate) * safer + gate * faster
        return (advantage / self.temperature).exp().clamp(max=self.most)


def segments(intervened: Sequence[Flags]) -> Tensor:
    """The last row before somebody else acts, or the end of the episode, for every row, (N,).

    intervened: of each episode, (T,), rows of somebody else than the policy.
    """
    ends, first = [], 0
    for flags in intervened:
        last = np.append(np.flatnonzero(np.diff(flags)), len(flags))
        at = np.searchsorted(last, np.arange(len(flags)))
        ends.append(first + last[at])
        first += len(flags)
    return torch.from_numpy(np.concatenate(ends))


def gains(
    chance: Tensor, left: Tensor, won: Tensor, until: Tensor, lengths: Tensor, chunk: int
) -> tuple[Tensor, Tensor]:
    """What the next `chunk` periods of every row gained: chance of success, and periods, (N,) each.

    chance, left: of success and periods to go, expected at every row; won: how its episode ended.
    Where that was within the chunk, the end itself is known. until: see `segments`: that
    somebody came to the rescue is no credit of who needed it. lengths: of the episodes.
    """
    now = torch.arange(len(chance))
    later = torch.minimum(now + chunk, until)
    safer = found_later(chance, later, lengths, won.float()) - chance
    still = found_later(left, later, lengths, torch.where(won, 0.0, left))
    return safer, left - still - (later - now)


def _clonable(episode: Episode) -> Flags:
    """Rows that may be cloned at all, (T,).

    Not the way back to where help begins, nor help that came to nothing, nor what only repeats
    another episode.
    """
    helped = episode.intervened & (not episode.success)
    return ~(episode.rewound | helped) & (np.arange(len(episode)) >= episode.forked)


RECIPE = AdvantageWeighted
