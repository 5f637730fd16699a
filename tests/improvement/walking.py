"""A drunkard on a line: a world small enough to know what a recipe ought to learn."""

from __future__ import annotations

import numpy as np
import torch

from enpire.policies import ChunkPolicy, ChunkSpec
from enpire.types import Episode, Outcome, Purpose, Times, Verdict

SPEC = ChunkSpec("line", observation=1, action=1, history=1, stride=1, chunk=4, hidden=(32,))


def walk(seed: int, length: int = 20) -> Episode:
    """An episode succeeds when it ends near the origin."""
    rng = np.random.default_rng(seed)
    actions = np.clip(np.repeat(rng.normal(0, 0.6, -(-length // 4)), 4), -1, 1)[:length]
    start = rng.uniform(-1.5, 1.5)
    places = start + 0.1 * np.concatenate([[0.0], np.cumsum(actions)])
    outcome = Outcome.SUCCESS if abs(places[-1]) < 0.4 else Outcome.FAILURE
    return Episode(
        id=str(seed),
        task="line",
        seed=seed,
        purpose=Purpose.COLLECTION,
        policy="p",
        round=1,
        station=0,
        verdict=Verdict(outcome),
        times=Times(),
        observations=places[:-1, None].astype(np.float32),
        actions=actions[:, None].astype(np.float32),
        stamps=np.arange(length) * 0.04,
        rewards=np.zeros(length, np.float32),
    )


def idle() -> ChunkPolicy:
    """A policy that does nothing, and explores."""
    torch.manual_seed(0)
    policy = ChunkPolicy(SPEC)
    with torch.no_grad():
        for parameter in policy.net[-1].parameters():
            parameter.zero_()
        policy.spread.fill_(0.6)
    return policy.eval()
