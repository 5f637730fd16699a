"""What recipes share that learn on top of a policy which stays as it is: asking it, once."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from enpire.errors import RecipeError
from enpire.improvement.checkpoint import Checkpoint, Kept
from enpire.improvement.recipe import Given
from enpire.policies import BASES, Asked, Base, Composed, PictureSpec, Policy
from enpire.types import Float32Array

BLOCK = 64  # moments that are asked about at a time
CHUNKS = "chunks"


def base_of(incumbent: Policy | None) -> Policy | None:
    """What a composed policy stands on; of any other, itself."""
    return incumbent.base if isinstance(incumbent, Composed) else incumbent


def standing(name: str, given: Given, kinds: Mapping[str, type[Base]] = BASES) -> Base:
    """The policy that the recipe `name` can stand on: the incumbent, or what it stands on itself.

    Raises:
        RecipeError: it is of no kind among `kinds`, or policies see by cameras here.
    """
    if isinstance(given.spec, PictureSpec):
        raise RecipeError(
            f"{name} learns from observations in numbers, and policies see by cameras here: "
            "leave --images out"
        )
    base = base_of(given.incumbent)
    for kind in kinds.values():
        if isinstance(base, kind):
            return base
    found = f"the incumbent is of kind {base.kind!r}" if base else "there is none"
    raise RecipeError(
        f"{name} stands on a policy of kind {', '.join(kinds)}, and {found}: "
        "begin with --policy, or with a first recipe that makes one"
    )


def answers(
    asked: Asked,
    history: Float32Array,
    seed: int,
    checkpoint: Checkpoint,
    stage: str,
    noise: Float32Array | None = None,
) -> Tensor:
    """The base's chunks (N, n, act) for observations (N, history, obs).

    A large one takes its time, so what it has said is kept as the stage of that name. noise: that
    chunks begin from, (N, *asked.noise); drawn by `seed` if not given.
    """
    kept = checkpoint.find(stage)
    said = [kept.tensors[CHUNKS]] if kept else []
    done = sum(len(part) for part in said)
    seeds = np.random.default_rng(seed).integers(2**63, size=len(history))
    for at in range(done, len(history), BLOCK):
        some = slice(at, at + BLOCK)
        chosen = None if noise is None else noise[some]
        chunks = asked.many(history[some], seeds[some].tolist(), chosen)
        said.append(torch.from_numpy(np.ascontiguousarray(chunks, np.float32)))
        if checkpoint.due:
            checkpoint.keep(stage, Kept({CHUNKS: torch.cat(said)}, {}))
    result = torch.cat(said)
    if checkpoint.keeps and done < len(history):
        checkpoint.keep(stage, Kept({CHUNKS: result}, {}))
    return result
