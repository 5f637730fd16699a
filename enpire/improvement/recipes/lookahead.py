"""Look a chunk ahead, and clone what looks better: one step of policy improvement a round.

From every episode, failures too, learn (1) the value of an observation and (2) the quality of a
chunk: the value that is found where it led. Then, at moments that were visited, weigh variations of
the incumbent's own chunk by their quality (the softmax of MPPI, Williams et al. 2017), and teach
the incumbent the weighted mean: expert iteration (Anthony et al. 2017, arXiv 1705.08439) over
chunks (Li et al. 2025, arXiv 2507.07969).

What did not work on zip_tie, and why: a learned model of the next observation, asked for its value,
goes through walls (the mean of two outcomes is neither); following the quality's gradient, or
bootstrapping it, finds its errors. Both ended below the incumbent.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from torch import Tensor

from enpire.errors import RecipeError
from enpire.improvement.data import Examples, examples
from enpire.improvement.recipe import Candidate
from enpire.improvement.trainer import Training, fit
from enpire.improvement.value import Ensemble, Normaliser, regress, returns
from enpire.policies import ChunkPolicy, ChunkSpec, variations
from enpire.types import Episode

MIN_SPREAD = 1e-2  # of an action that hardly varies, when it is shown to a network


@dataclass(frozen=True, slots=True)
class Lookahead:
    """Improve the incumbent by one chunk of lookahead.

    discount: of the value, a control period; near one, because haste is worth less than success.
    members: networks of an ensemble. tries: variations weighed at a moment. temperature: of the
    weights, in log-odds of success. caution: how many standard deviations of the ensemble a
    quality is lowered by. moments: that are relabelled and taught.
    """

    training: Training = field(default_factory=lambda: Training(steps=1500))
    discount: float = 0.997
    members: int = 3
    value_steps: int = 1200
    quality_steps: int = 2500
    tries: int = 48
    temperature: float = 0.15
    caution: float = 0.5
    moments: int = 15_000

    def improve(
        self,
        spec: ChunkSpec,
        episodes: Sequence[Episode],
        incumbent: ChunkPolicy | None,
        seed: int,
    ) -> Candidate:
        """See `Recipe.improve`; needs an incumbent to improve on."""
        if incumbent is None:
            raise RecipeError("lookahead improves a policy: start with another recipe, such as bc")
        started = time.monotonic()
        torch.manual_seed(seed)
        generator = torch.Generator().manual_seed(seed)
        episodes = [episode for episode in episodes if len(episode)]
        data = examples(episodes, spec)
        seen = Normaliser.of(data.rows)(data.rows)
        quality = self._quality(seen, data, episodes, generator)
        chosen = torch.randperm(len(data), generator=generator)[: self.moments]
        better, gain = self._relabel(chosen, seen, data, incumbent, quality, seed)
        taught = replace(
            data,
            window=data.window[chosen],
            actions=better,
            valid=torch.ones_like(data.valid[chosen]),
            weight=torch.ones(len(chosen)),
        )
        fitted = fit(incumbent, taught, self.training, seed)
        numbers = {
            "episodes": len(episodes),
            "gain": gain,
            "loss": fitted.loss,
            "seconds": time.monotonic() - started,
        }
        return Candidate(fitted.policy, numbers)

    def _quality(
        self,
        seen: Tensor,
        data: Examples,
        episodes: Sequence[Episode],
        generator: torch.Generator,
    ) -> Ensemble:
        """Log-odds of success from a history and a chunk, as `_shown` to it."""
        result = torch.from_numpy(returns(episodes, self.discount))

        def noisy(rows: Tensor, size: float) -> Tensor:
            return rows + size * torch.randn(rows.shape, generator=generator)

        value = regress(
            lambda i: noisy(seen[i], 0.1), result, 128, self.members, self.value_steps, generator
        )
        lengths = [len(episode) for episode in episodes]
        ends = torch.from_numpy(np.cumsum(lengths).repeat(lengths))
        later = torch.arange(len(data)) + data.actions.shape[1]
        # Where the episode ended within the chunk, how it ended is known.
        found = value.chance(seen)[later.clamp(max=len(data) - 1)]
        worth = torch.where(later < ends, found, result)
        spread = data.action_std.clamp_min(MIN_SPREAD)
        return regress(
            lambda i: _shown(noisy(seen[data.window[i]], 0.03), data.actions[i], spread),
            worth,
            256,
            self.members,
            self.quality_steps,
            generator,
        )

    @torch.no_grad()
    def _relabel(
        self,
        chosen: Tensor,
        seen: Tensor,
        data: Examples,
        incumbent: ChunkPolicy,
        quality: Ensemble,
        seed: int,
    ) -> tuple[Tensor, float]:
        """Better chunks (M, chunk, act) at the chosen rows, and the mean gain in success."""
        rng = np.random.default_rng(seed)
        spread = data.action_std.clamp_min(MIN_SPREAD)
        labels, gains = [], []
        for index in torch.split(chosen, 256):
            shape = (len(index), self.tries)
            offset = torch.from_numpy(variations(rng, shape, len(spread)).astype(np.float32))
            offset[:, 0] = 0.0  # the incumbent's own chunk
            chunk = incumbent(data.rows[data.window[index]])[:, None]
            tried = (chunk + incumbent.spread * offset[:, :, None]).clamp(-1.0, 1.0)
            history = seen[data.window[index]][:, None].expand(-1, self.tries, -1, -1)
            odds = quality(_shown(history, tried, spread).flatten(0, 1))
            sure = (odds.mean(dim=0) - self.caution * odds.std(dim=0)).view(shape)
            weight = torch.softmax(sure / self.temperature, dim=1)
            labels.append((weight[..., None, None] * tried).sum(dim=1))
            chance = torch.sigmoid(sure)
            gains.append((weight * chance).sum(dim=1) - chance[:, 0])
        return torch.cat(labels), float(torch.cat(gains).mean())


def _shown(history: Tensor, actions: Tensor, spread: Tensor) -> Tensor:
    """Inputs (..., n) of histories (..., history, obs) and chunks (..., chunk, act)."""
    return torch.cat([history.flatten(-2), (actions / spread).flatten(-2)], dim=-1)


RECIPE = Lookahead
