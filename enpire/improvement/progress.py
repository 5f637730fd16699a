"""How far a moment is on the way from start to goal, learned from pairs of moments of successes.

After Robo-Dopamine (arXiv 2512.23703). A network is shown two moments and says the *hop* between
them: forwards as a part of what was still to go, backwards as a part of what was done, so that
whatever hops add up to stays between start and goal. Progress is read off twice, as a hop from
where episodes start and as one back from where they succeed, and the two are averaged. The paper's
third reading adds up small hops; it is left out, as a potential must not depend on how a moment was
reached. Pairs come from any two successes, which gives starts and goals to compare any moment with.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from enpire.errors import RecipeError
from enpire.improvement.checkpoint import NOWHERE, Checkpoint
from enpire.improvement.value import Normaliser, SuccessEnsemble, regress
from enpire.types import Episode

PAIRS = 40_000
ANCHORS = 4  # starts, and goals, that a moment is compared with
WIDTH = 64
MEMBERS = 2
NOISE = 0.1  # added to what the network is shown, in standard deviations


@dataclass(frozen=True, slots=True)
class ProgressModel:
    """Progress of observations, from 0 at a start to 1 at a goal."""

    seen: Normaliser
    hops: SuccessEnsemble
    starts: Tensor
    goals: Tensor

    @torch.no_grad()
    def __call__(self, rows: Tensor) -> Tensor:
        """The progress (N,) of observations (N, obs)."""
        now = self.seen(rows)
        from_start = torch.stack([self._hop(start, now) for start in self.starts]).mean(dim=0)
        from_goal = torch.stack([self._hop(goal, now) for goal in self.goals]).mean(dim=0)
        return (0.5 * (from_start + 1.0 + from_goal)).clamp(0.0, 1.0)

    def _hop(self, before: Tensor, now: Tensor) -> Tensor:
        return 2 * self.hops.chance(torch.cat([before.expand_as(now), now], dim=1)) - 1


def hop(before: Tensor, after: Tensor) -> Tensor:
    """The hop from one progress to another, both in [0, 1]: in [-1, 1]."""
    apart = after - before
    return torch.where(apart >= 0, apart / (1 - before).clamp_min(1e-6), apart / before)


def learn_progress(
    episodes: Sequence[Episode],
    steps: int,
    generator: torch.Generator,
    checkpoint: Checkpoint = NOWHERE,
) -> ProgressModel:
    """Learn it from the successes among `episodes`, whose periods count as steps of equal size.

    Raises:
        RecipeError: fewer than one success of two rows or more.
    """
    found = [e.observations for e in episodes if e.success and len(e) > 1]
    if not found:
        raise RecipeError("no episode succeeded: there is no progress to learn from")
    rows = torch.from_numpy(np.concatenate(found))
    won = torch.split(rows, [len(each) for each in found])
    normalise = Normaliser.of(rows)
    seen = normalise(rows)
    done = torch.cat([torch.linspace(0.0, 1.0, len(each)) for each in won])
    before, after = torch.randint(len(rows), (2, PAIRS), generator=generator)

    def pairs(index: Tensor) -> Tensor:
        both = torch.cat([seen[before[index]], seen[after[index]]], dim=-1)
        return both + NOISE * torch.randn(both.shape, generator=generator)

    targets = 0.5 + 0.5 * hop(done[before], done[after])
    hops = regress(pairs, targets, WIDTH, MEMBERS, steps, generator, checkpoint, "progress")
    chosen = torch.randint(len(won), (ANCHORS,), generator=generator).tolist()
    starts = normalise(torch.stack([won[i][0] for i in chosen]))
    goals = normalise(torch.stack([won[i][-1] for i in chosen]))
    return ProgressModel(normalise, hops, starts, goals)
