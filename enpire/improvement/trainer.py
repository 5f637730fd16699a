"""Cloning: how the recipes make a policy of weighted examples."""

from __future__ import annotations

import copy
import math
import time
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from enpire.improvement.checkpoint import NOWHERE, Checkpoint
from enpire.improvement.data import MIN_STD, Examples
from enpire.improvement.learner import Learner, average
from enpire.policies import ChunkPolicy, ChunkSpec


@dataclass(frozen=True, slots=True)
class Training:
    """Settings of the optimiser."""

    steps: int = 3000  # gradient steps
    batch: int = 256  # examples a step
    lr: float = 1e-3  # peak learning rate, warmed up and then cosine annealed
    decay: float = 1e-2  # AdamW's weight decay
    average: float = 0.998  # decay of the weights' moving average, which is what is returned
    noise: float = 0.05  # standard deviation added to normalised observations


@dataclass(frozen=True, slots=True)
class Fit:
    """A trained policy and how training went."""

    policy: ChunkPolicy
    loss: float
    seconds: float


def fresh(spec: ChunkSpec, data: Examples, seed: int) -> ChunkPolicy:
    """A policy that knows nothing yet, with the data's normalisation."""
    torch.manual_seed(seed)
    policy = ChunkPolicy(spec)
    policy.mean.copy_(data.rows.mean(dim=0))
    policy.std.copy_(data.rows.std(dim=0).clamp_min(MIN_STD))
    policy.centre.copy_(data.action_mean)
    policy.spread.copy_(data.action_std)
    return policy


def fit(
    policy: ChunkPolicy,
    data: Examples,
    training: Training,
    seed: int,
    checkpoint: Checkpoint = NOWHERE,
    stage: str = "policy",
) -> Fit:
    """Minimise the weighted squared error of action chunks, in units of each action's spread.

    Args:
        policy: where to start, `fresh` or trained; it is not changed.
        data: the examples; rows are drawn with replacement.
        training: the optimiser's settings.
        seed: of the draws, so that a run repeats on one machine.
        checkpoint: what was done before is taken from there, under the name `stage`.

    Raises:
        RecipeError: the loss or a weight is no longer a number.
    """
    started = time.monotonic()
    generator = torch.Generator().manual_seed(seed)
    policy = copy.deepcopy(policy).train()
    averaged = copy.deepcopy(policy)
    optimiser = torch.optim.AdamW(
        policy.parameters(), lr=training.lr, weight_decay=training.decay, fused=True
    )
    warm = max(1, training.steps // 50)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimiser,
        lambda step: min((step + 1) / warm, 0.5 + 0.5 * math.cos(math.pi * step / training.steps)),
    )

    def step(at: int) -> Tensor:
        index = torch.randint(len(data), (training.batch,), generator=generator)
        seen = data.rows[data.window[index]]
        seen = seen + training.noise * policy.std * torch.randn(seen.shape, generator=generator)
        error = (policy(seen) - data.actions[index]) / policy.spread
        square = error.square().mean(dim=2) * data.valid[index]
        per_example = square.sum(dim=1) / data.valid[index].sum(dim=1)
        loss: Tensor = (data.weight[index] * per_example).mean()
        optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
        optimiser.step()
        schedule.step()
        average(averaged, policy, min(training.average, (1 + at) / (10 + at)))
        return loss

    modules = {"policy": policy, "averaged": averaged}
    learner = Learner(modules, {"policy": optimiser}, generator, {"policy": schedule})
    loss = learner.run(stage, training.steps, step, checkpoint)
    return Fit(averaged.eval(), loss, time.monotonic() - started)
