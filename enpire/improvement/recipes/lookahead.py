"""Look a chunk ahead, and clone what looks better: one step of policy improvement a round.

From every episode, failures too, learn (1) the value of an observation, (2) what a chunk of actions
does to the observation, and (3) what value was in fact found where it was expected to lead. Then,
at moments that were visited, weigh variations of the incumbent's own chunk by what they promise
(the softmax of MPPI, Williams et al. 2017), and clone the weighted mean: expert iteration (Anthony
et al. 2017, arXiv 1705.08439) with a learned model one chunk deep.

(3) is what makes it work where there is contact. An expected observation is the mean of what may
happen, and the mean of "slid in" and "caught on the face" lies within the wall, where (1) has seen
nothing and promises much; (3) has seen how such expectations end. It is the value-equivalent model
of MuZero (Schrittwieser et al. 2020, arXiv 1911.08265) with the observation for a latent state.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
import torch
from torch import Tensor

from enpire.improvement.behaviour_cloning import Training, fit, fresh
from enpire.improvement.checkpoint import Checkpoint
from enpire.improvement.data import Examples, examples
from enpire.improvement.dynamics import fit_dynamics
from enpire.improvement.recipe import Candidate, RecipeInputs, required
from enpire.improvement.value import (
    Normaliser,
    found_later,
    lower_confidence_bound,
    regress,
    returns,
)
from enpire.policies import ChunkPolicy, variations
from enpire.types import Episode, FloatArray

MIN_SPREAD = 1e-2  # of an action that hardly varies, when it is shown to a network
WIDTH = 128  # of the value networks
STRANGE = 2.0  # times an incumbent's own spread of an observation: it has never seen the like

Promise = Callable[[Tensor, Tensor], Tensor]
"""Log-odds (members, batch) of normalised histories (batch, history, obs) and chunks."""


@dataclass(frozen=True, slots=True)
class Lookahead:
    """Improve the incumbent by one chunk of lookahead.

    The discount of a control period: too near one, to be stuck for seconds costs nothing, and much
    lower, haste is worth more than success.
    """

    training: Training = field(default_factory=lambda: Training(steps=1200))  # of new weights
    further: Training = field(default_factory=lambda: Training(steps=800))  # of the incumbent's
    discount: float = 0.99  # of the value, a control period
    members: int = 6  # networks of an ensemble
    value_steps: int = 1200  # gradient steps of the value of an observation
    dynamics_steps: int = 3000  # of what a chunk does to it
    promise_steps: int = 1000  # of the value that was found where it was expected to lead
    tries: int = 48  # variations weighed at a moment
    temperature: float = 0.3  # of the weights, in log-odds of success
    caution: float = 3.0  # standard deviations of the ensemble that what is better is lowered by
    moments: int = 25_000  # that are relabelled and taught

    def improve(self, given: RecipeInputs) -> Candidate:
        """See `Recipe.improve`; needs an incumbent that is a chunk policy."""
        incumbent, seed = required("lookahead", given), given.seed
        started = time.monotonic()
        torch.manual_seed(seed)
        generator = torch.Generator().manual_seed(seed)
        episodes = [episode for episode in given.episodes if len(episode)]
        data = examples(episodes, given.spec)
        usual = Normaliser.of(data.rows)
        seen = usual(data.rows)
        promise = self._promise(seen, data, episodes, generator, given.checkpoint)
        chosen = torch.randperm(len(data), generator=generator)[: self.moments]
        better, gain = self._relabel(chosen, seen, data, incumbent, promise, seed)
        taught = replace(
            data,
            window=data.window[chosen],
            actions=better,
            valid=torch.ones_like(data.valid[chosen]),
            weight=torch.ones(len(chosen)),
        )
        if bool((usual.unit > STRANGE * incumbent.std).any()):
            start, training = _renewed(incumbent, data, usual, seed), self.training
        else:
            start, training = incumbent, self.further
        fitted = fit(start, taught, training, seed, given.checkpoint)
        numbers = {
            "episodes": len(episodes),
            "gain": gain,
            "loss": fitted.loss,
            "seconds": time.monotonic() - started,
        }
        return Candidate(fitted.policy, numbers)

    def _promise(
        self,
        seen: Tensor,
        data: Examples,
        episodes: Sequence[Episode],
        generator: torch.Generator,
        checkpoint: Checkpoint,
    ) -> Promise:
        """Learn what a chunk promises at a moment."""
        result = torch.from_numpy(returns(episodes, self.discount))

        def noisy(rows: Tensor, size: float) -> Tensor:
            return rows + size * torch.randn(rows.shape, generator=generator)

        learn = partial(
            regress,
            width=WIDTH,
            members=self.members,
            generator=generator,
            checkpoint=checkpoint,
        )
        value = learn(lambda i: noisy(seen[i], 0.1), result, steps=self.value_steps, stage="value")
        spread = data.action_std.clamp_min(MIN_SPREAD)
        dynamics = fit_dynamics(seen, data, spread, self.dynamics_steps, generator, checkpoint)
        with torch.no_grad():
            parts = (torch.split(each, 4096) for each in (data.window, data.actions))
            expected = torch.cat(
                [dynamics(seen[window], actions) for window, actions in zip(*parts, strict=True)]
            )
        lengths = torch.tensor([len(episode) for episode in episodes])
        came = torch.from_numpy(returns(episodes, 1.0))
        later = torch.arange(len(data)) + data.actions.shape[1]
        found = found_later(value.chance(seen), later, lengths, came)
        worth = learn(
            lambda i: noisy(expected[i], 0.05), found, steps=self.promise_steps, stage="promise"
        )
        return lambda history, actions: worth(dynamics(history, actions))

    def _relabel(
        self,
        chosen: Tensor,
        seen: Tensor,
        data: Examples,
        incumbent: ChunkPolicy,
        promise: Promise,
        seed: int,
    ) -> tuple[Tensor, float]:
        """Better chunks (M, chunk, act) at the chosen rows, and the mean gain in success."""
        rng = np.random.default_rng(seed)

        def drawn() -> Iterator[tuple[Tensor, FloatArray]]:
            for index in torch.split(chosen, 256):
                yield index, variations(rng, (len(index), self.tries), incumbent.spec.action)

        def improved(some: tuple[Tensor, FloatArray]) -> tuple[Tensor, Tensor]:
            index, offset = some
            offset[:, 0] = 0.0  # the incumbent's own chunk
            shift = incumbent.spread * torch.from_numpy(offset.astype(np.float32))[:, :, None]
            with torch.no_grad():  # which a thread does not inherit
                chunk = incumbent(data.rows[data.window[index]])[:, None]
                tried = (chunk + shift).clamp(-1.0, 1.0)
                history = seen[data.window[index]].repeat_interleave(self.tries, dim=0)
                odds = promise(history, tried.flatten(0, 1))
            odds = odds.view(len(odds), len(index), self.tries)
            own = odds[:, :, :1]
            sure = lower_confidence_bound(odds - own, self.caution)
            weight = torch.softmax(sure / self.temperature, dim=1)
            chance = torch.sigmoid(own.mean(dim=0) + sure)
            gain = (weight * chance).sum(dim=1) - chance[:, 0]
            return (weight[..., None, None] * tried).sum(dim=1), gain

        with ThreadPoolExecutor(os.cpu_count()) as threads:
            labels, gains = zip(*threads.map(improved, drawn()), strict=True)
        return torch.cat(labels), float(torch.cat(gains).mean())


def _renewed(incumbent: ChunkPolicy, data: Examples, usual: Normaliser, seed: int) -> ChunkPolicy:
    """New weights with the data's normalisation of observations, and the same units of actions."""
    policy = fresh(incumbent.spec, data, seed)
    policy.mean.copy_(usual.middle)
    policy.std.copy_(usual.unit)
    policy.centre.copy_(incumbent.centre)
    policy.spread.copy_(incumbent.spread)
    return policy


RECIPE = Lookahead
