"""A flow of what those did who knew, and critics of all episodes that choose among its chunks.

It is told what a tracker says, sees the newest observation alone, and is learned from episodes that
are there, without acting. Recipes learn it to teach others, or to act on estimates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import torch
from torch import Tensor

from enpire.improvement.behaviour_cloning import Training, clone_flow
from enpire.improvement.recipe import RecipeInputs
from enpire.improvement.recipes.best_of_n import BestOfN
from enpire.policies import BestOfPolicy, ChunkSpec, FlowPolicy
from enpire.types import Episode

DEVIATION = 1.0  # of the noise of a flow, so that there is something to choose among
NOW = (0,)  # lags of critics: the newest observation
ROWS = 2048  # that are asked about at once


def state_inputs(given: RecipeInputs, followed: Sequence[Episode]) -> RecipeInputs:
    """Return the inputs of who sees all entries of the newest observation, and no pictures."""
    spec = replace(ChunkSpec.of(given.spec), history=1)
    return replace(given, spec=spec, episodes=followed)


def clone_state_flow(
    given: RecipeInputs, known: Sequence[Episode], training: Training, stage: str = "policy"
) -> FlowPolicy:
    """Return a flow of what those who know did; given: see `state_inputs`."""
    flow = clone_flow(given, known, training, stage=stage).policy
    flow.spec = replace(flow.spec, deviation=DEVIATION)
    return flow


def choose_by_critics(given: RecipeInputs, steps: int) -> BestOfPolicy:
    """Return the incumbent, among whose chunks critics of all episodes choose; see `state_inputs`.

    steps: gradient steps of the critics.
    """
    critics = BestOfN(warm_steps=steps, margin=0.0, back=0, lags=NOW, attempt_lags=NOW)
    return cast(BestOfPolicy, critics.improve(given).policy)


@torch.no_grad()
def best_chunks(policy: BestOfPolicy, rows: Tensor, seed: int) -> Tensor:
    """Return the best of the flow's chunks, (N, chunk, act), for observations (N, obs)."""
    flow, chooser = cast(FlowPolicy, policy.base), policy.head
    samples, executed = chooser.spec.samples, chooser.spec.chunk
    generator = torch.Generator().manual_seed(seed)
    parts = []
    for first in range(0, len(rows), ROWS):
        some = rows[first : first + ROWS, None]
        drawn = torch.randn(samples, len(some), flow.noise_size, generator=generator)
        chunks = torch.stack([flow(some, each) for each in drawn]).clamp(-1.0, 1.0)
        moments = chooser.see(some)
        values = [chooser.values(moments, each[:, :executed]) for each in chunks]
        best = chooser.advantages(torch.stack(values, dim=2)).argmax(dim=1)
        parts.append(chunks[best, torch.arange(len(some))])
    return torch.cat(parts)
