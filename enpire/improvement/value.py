"""How good a moment is, and a chunk of actions at a moment: the chance that it ends in success.

Monte-Carlo returns of the episodes themselves, regressed by ensembles. No bootstrapping, so nothing
diverges: the value is that of the policies that collected the data, and one step of improvement
over it is enough a round (Brandfonbrener et al. 2021, arXiv 2106.08909).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from enpire.improvement.checkpoint import NOWHERE
from enpire.improvement.learner import Learner
from enpire.policies.device import device
from enpire.types import Episode, Flags, Float32Array

LEAST_UNIT = 0.1  # of observations, in standard deviations
LIMIT = 8.0  # units at which a normalised observation is clipped
BATCH = 256
WIDTH, NOISE = 128, 0.1  # of a `Value`: its layers; added to what it is shown, in units


@dataclass(frozen=True, slots=True)
class Normaliser:
    """The middle of observations, and how far about it most of them are, (obs,) each.

    Of normal ones these are mean and standard deviation. But where failures are among them, a thing
    that was dropped lies a hundred times as far off as those that decide over success are apart:
    by its deviation they would all be about the same.
    """

    middle: Tensor
    unit: Tensor

    @classmethod
    def of(cls, rows: Tensor) -> Normaliser:
        """Measure observations (N, obs): their median, and half of what holds 68% of them.

        The unit is no less than a tenth of the standard deviation, of what hardly ever changes.
        """
        values = rows.cpu().numpy()
        low, middle, high = np.percentile(values, (16, 50, 84), axis=0)
        deviation = values.std(axis=0)
        unit = np.clip((high - low) / 2, LEAST_UNIT * deviation, deviation)
        said = (torch.from_numpy(each).to(rows) for each in (middle, np.maximum(unit, 1e-2)))
        return cls(*said)

    def __call__(self, rows: Tensor) -> Tensor:
        return ((rows - self.middle) / self.unit).clamp(-LIMIT, LIMIT)


def lower_confidence_bound(more: Tensor, caution: float) -> Tensor:
    """How much log-odds rise, (...), for sure, where an ensemble says by (members, ...).

    What they say is lowered by `caution` standard deviations of it. That they do not agree on how
    good a moment is does not count, only that they do not on what is better there: an actor that
    climbs what one of them thinks goes where nobody has been.
    """
    return more.mean(dim=0) - caution * more.std(dim=0)


def returns(episodes: Sequence[Episode], discount: float) -> Float32Array:
    """discount^(periods to the end) in a success, else 0; all rows end to end, (N,).

    Before somebody helped it is 0 too: that success is not the policy's.
    """
    parts = [discount ** np.arange(len(e) - 1, -1, -1) * _succeeds(e) for e in episodes]
    result: Float32Array = np.concatenate(parts).astype(np.float32)
    return result


def _succeeds(episode: Episode) -> Flags | bool:
    """Whether who acts in a row, and after it, comes to success; of all rows, or (T,)."""
    if not episode.helped:
        return episode.success
    return episode.success & np.maximum.accumulate(episode.intervened)


class SuccessEnsemble(nn.Module):
    """Networks of two hidden layers, evaluated together; they give log-odds of success."""

    def __init__(self, inputs: int, width: int, members: int) -> None:
        super().__init__()
        self.members = members
        self.hidden = nn.ModuleList([_Layer(inputs, width, members), _Layer(width, width, members)])
        self.head = nn.Parameter(torch.randn(members, width, 1) / math.sqrt(width))
        self.bias = nn.Parameter(torch.zeros(members, 1, 1))

    def forward(self, seen: Tensor) -> Tensor:
        """Log-odds (members, batch) of inputs (batch, inputs) or (members, batch, inputs)."""
        each = seen.expand(self.members, *seen.shape[-2:])
        for layer in self.hidden:
            each = layer(each)
        return torch.baddbmm(self.bias, each, self.head)[..., 0]

    @torch.no_grad()
    def chance(self, seen: Tensor) -> Tensor:
        """The members' mean chance (N,) of inputs (N, inputs)."""
        return torch.cat(
            [torch.sigmoid(self(part)).mean(dim=0) for part in torch.split(seen, 4096)]
        )


class _Layer(nn.Module):
    def __init__(self, inputs: int, outputs: int, members: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(members, inputs, outputs) / math.sqrt(inputs))
        self.bias = nn.Parameter(torch.zeros(members, 1, outputs))
        self.gain = nn.Parameter(torch.ones(members, 1, outputs))

    def forward(self, each: Tensor) -> Tensor:
        each = torch.baddbmm(self.bias, each, self.weight)
        return nn.functional.silu(nn.functional.layer_norm(each, each.shape[-1:]) * self.gain)


@dataclass(frozen=True, slots=True)
class Value:
    """The chance that an observation ends in success, less what time it takes."""

    seen: Normaliser
    ensemble: SuccessEnsemble

    @classmethod
    def of(
        cls, episodes: Sequence[Episode], discount: float, members: int, steps: int, seed: int
    ) -> Value:
        """Learn it from episodes; the same one by the same seed."""
        torch.manual_seed(seed)
        generator = torch.Generator().manual_seed(seed)
        rows = torch.from_numpy(np.concatenate([episode.observations for episode in episodes]))
        normaliser = Normaliser.of(rows)
        seen, result = normaliser(rows), torch.from_numpy(returns(episodes, discount))

        def noisy(i: Tensor) -> Tensor:
            return seen[i] + NOISE * torch.randn(seen[i].shape, generator=generator)

        return cls(normaliser, regress(noisy, result, WIDTH, members, steps, generator))

    def __call__(self, observations: Float32Array) -> Float32Array:
        """Chances (N,) of observations (N, obs)."""
        chance: Float32Array = self.ensemble.chance(self.seen(torch.tensor(observations))).numpy()
        return chance


def regress(
    inputs: Callable[[Tensor], Tensor],
    targets: Tensor,
    width: int,
    members: int,
    steps: int,
    generator: torch.Generator,
) -> SuccessEnsemble:
    """Regress chances `targets` (N,) in [0, 1].

    inputs: of rows (members, batch) drawn from 0..N-1, a tensor (members, batch, inputs); each
    member draws its own.
    """
    where = device()
    first = inputs(torch.zeros(members, 1, dtype=torch.long))
    ensemble = SuccessEnsemble(first.shape[-1], width, members).to(where)
    optimiser = torch.optim.AdamW(ensemble.parameters(), lr=1e-3, weight_decay=3e-2, fused=True)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, max(steps, 1))

    def step(at: int) -> Tensor:
        index = torch.randint(len(targets), (members, BATCH), generator=generator)
        each = nn.functional.binary_cross_entropy_with_logits(
            ensemble(inputs(index).to(where)), targets[index].to(where), reduction="none"
        )
        loss = each.mean(dim=1).sum()
        optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        schedule.step()
        return loss

    learner = Learner({"value": ensemble}, {"value": optimiser}, generator, {"value": schedule})
    learner.run("value", steps, step, NOWHERE)
    return ensemble.cpu().eval()
