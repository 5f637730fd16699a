"""Look a chunk ahead, and clone what looks better: one step of policy improvement a round.

From every episode, failures too, learn (1) the value of an observation and (2) what a chunk of
actions does to an observation. Then, at every moment that was ever visited, try variations of the
incumbent's own chunk in the learned dynamics, weigh them by the value of where they lead (the
softmax of MPPI, Williams et al. 2017), and clone the weighted mean: expert iteration (Anthony et
al. 2017, arXiv 1705.08439) with a learned model one chunk deep. The model is asked about small
changes of chunks that stations carried out, and only one chunk ahead: its errors do not add up.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor, nn

from enpire.errors import RecipeError
from enpire.improvement.data import Examples, examples
from enpire.improvement.recipe import Candidate
from enpire.improvement.trainer import Training, fit
from enpire.improvement.value import Normaliser, Value, fit_value, network, returns
from enpire.policies import ChunkPolicy, ChunkSpec
from enpire.types import Episode


@dataclass(frozen=True, slots=True)
class Lookahead:
    """Improve the incumbent by one chunk of lookahead.

    discount: of the value, a control period; near one, because haste is worth less than success (at
    0.98 a zip_tie policy grew faster and no surer). candidates: variations tried at a moment, each
    the incumbent's chunk plus a constant offset in units of the actions' own spread, from timid to
    bold: sizes spaced evenly between the powers of ten in `decades`. temperature: of the weights,
    in units of value. most: moments that are relabelled and cloned.
    """

    training: Training = field(default_factory=lambda: Training(steps=3500))
    discount: float = 0.997
    candidates: int = 24
    decades: tuple[float, float] = (-0.7, 0.4)
    temperature: float = 0.015
    value_steps: int = 1500
    value_members: int = 3
    dynamics_steps: int = 3000
    most: int = 50_000

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
        episodes = [episode for episode in episodes if len(episode) > spec.chunk]
        torch.manual_seed(seed)
        generator = torch.Generator().manual_seed(seed)
        data = examples(episodes, spec)
        normalise = Normaliser.of(data.rows)
        seen = normalise(data.rows)
        targets = torch.from_numpy(returns(episodes, self.discount))
        value = fit_value(seen, targets, generator, self.value_steps, self.value_members, 128)
        dynamics = _fit_dynamics(seen, data, generator, self.dynamics_steps)
        chosen = torch.randperm(len(data), generator=generator)[: self.most]
        better, gain = self._relabel(chosen, seen, data, incumbent, value, dynamics, generator)
        relabelled = replace(
            data,
            window=data.window[chosen],
            actions=better,
            valid=torch.ones_like(data.valid[chosen]),
            weight=torch.ones(len(chosen)),
        )
        fitted = fit(ChunkPolicy(spec), relabelled, self.training, seed)
        numbers = {
            "episodes": len(episodes),
            "gain": gain,
            "loss": fitted.loss,
            "seconds": time.monotonic() - started,
        }
        return Candidate(fitted.policy, numbers)

    @torch.no_grad()
    def _relabel(
        self,
        chosen: Tensor,
        seen: Tensor,
        data: Examples,
        incumbent: ChunkPolicy,
        value: Value,
        dynamics: _Dynamics,
        generator: torch.Generator,
    ) -> tuple[Tensor, float]:
        """Better chunks (M, chunk, act) at the chosen rows, and the mean gain in value."""
        labels, gains = [], []
        tries = self.candidates
        for index in torch.split(chosen, 512):
            count = len(index)
            chunk = incumbent(data.rows[data.window[index]])
            offset = torch.randn(count, tries, 1, chunk.shape[2], generator=generator)
            offset[:, 0] = 0.0  # the incumbent's own chunk
            offset *= torch.logspace(*self.decades, tries).view(1, tries, 1, 1)
            tried = chunk[:, None] + incumbent.spread * offset
            tried = tried.clamp(-1.0, 1.0).flatten(0, 1)
            history = seen[data.window[index]].repeat_interleave(tries, dim=0)
            worth = value(dynamics(history, tried)).view(count, tries)
            weight = torch.softmax(worth / self.temperature, dim=1)
            labels.append(
                (weight[..., None, None] * tried.view(count, tries, *chunk.shape[1:])).sum(1)
            )
            gains.append((weight * worth).sum(1) - worth[:, 0])
        return torch.cat(labels), float(torch.cat(gains).mean())


class _Dynamics(nn.Module):
    """The normalised observation one chunk later; a linear path beside the network."""

    def __init__(self, observation: int, history: int, chunk: int, spread: Tensor) -> None:
        super().__init__()
        inputs = observation * history + chunk * len(spread)
        self.spread = spread
        self.net = network(inputs, observation, 256)
        self.linear = nn.Linear(inputs, observation)

    def forward(self, history: Tensor, actions: Tensor) -> Tensor:
        """From normalised (batch, history, obs) and actions (batch, chunk, act) to (batch, obs)."""
        joined = torch.cat([history.flatten(1), (actions / self.spread).flatten(1)], dim=1)
        step: Tensor = self.net(joined) + self.linear(joined)
        return history[:, -1] + step


def _fit_dynamics(
    seen: Tensor, data: Examples, generator: torch.Generator, steps: int
) -> _Dynamics:
    chunk = data.actions.shape[1]
    inside = data.valid.all(dim=1)
    whole = torch.where(inside[:-1] & inside[1:])[0]  # the row a chunk later is there too
    if not len(whole):
        raise RecipeError(f"no episode is longer than a chunk of {chunk}: nothing to learn from")
    model = _Dynamics(seen.shape[1], data.window.shape[1], chunk, data.action_std.clamp_min(1e-2))
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=1e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, max(steps, 1))
    for _ in range(steps):
        index = whole[torch.randint(len(whole), (256,), generator=generator)]
        predicted = model(seen[data.window[index]], data.actions[index])
        loss = (predicted - seen[index + chunk]).square().mean()
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        optimiser.step()
        schedule.step()
    return model.eval()


RECIPE = Lookahead
