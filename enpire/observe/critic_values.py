"""What a policy's critics think of the chunks that an episode carried out.

Nothing of it is recorded while a loop runs: it follows from the policy's file, where that holds
its critics, and from what the episode saw and did. Versions of an online learner are not kept; an
episode of one is looked at through the critics of the policy that its round ended with.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from enpire.errors import PolicyError
from enpire.policies import load
from enpire.policies.best_of import BestOfPolicy
from enpire.policies.kinds import eyes
from enpire.store import Run
from enpire.store.weights import Tensors
from enpire.types import Episode, Float32Array, FloatArray

ENTRIES = ("chosen", "disagreement", "base", "beyond")


@dataclass(frozen=True, slots=True, eq=False)
class CriticValues:
    """What critics expect at each decision of an episode, in the rewards they were taught.

    Attributes:
        policy: whose critics they are.
        periods: control periods at which chunks begin, shape (n,).
        values: shape (n, 4). Of the chunk that was carried out: the mean of the critics, and their
            standard deviation. The mean of chunks that the base draws there, drawn anew. How much
            the chunk is worth beyond those, with the caution with which the policy chooses.
    """

    policy: str
    periods: FloatArray
    values: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class StoredCritics:
    """A policy that keeps its critics, by name, as a run's file has it."""

    name: str
    tensors: Tensors
    metadata: dict[str, str]


def stored_critics(run: Run, policy: str) -> StoredCritics | None:
    """Return the critics of the policy that acted, or that it became; None where none are kept.

    Raises:
        StoreError: the policy's file is not what was recorded.
    """
    name = policy
    if run.ledger.policy(name) is None:
        name = name.rpartition(".")[0]  # versions are called after the policy that they become
    if not name or run.ledger.policy(name) is None:
        return None
    tensors, told = run.load_policy(name)
    return StoredCritics(name, tensors, told) if told.get("kind") == BestOfPolicy.kind else None


def values_by(critics: StoredCritics, episode: Episode) -> CriticValues | None:
    """Return what critics think of an episode; None where they cannot say."""
    try:
        policy = load(critics.metadata, critics.tensors)
    except PolicyError:  # of another version
        return None
    if not isinstance(policy, BestOfPolicy) or eyes(policy)[1]:
        return None
    spec = policy.head.spec
    if (spec.observation, spec.action) != (episode.observations.shape[1], episode.actions.shape[1]):
        return None
    begins = range(0, len(episode) - spec.chunk + 1, spec.chunk)
    values = np.array([_at(policy, episode, at) for at in begins]).reshape(-1, len(ENTRIES))
    return CriticValues(critics.name, np.array(begins, np.float64), values)


def critic_values(run: Run, episode: Episode) -> CriticValues | None:
    """Return what critics think of an episode of a run; raises what `stored_critics` does."""
    critics = stored_critics(run, episode.policy)
    return None if critics is None else values_by(critics, episode)


@torch.inference_mode()
def _at(policy: BestOfPolicy, episode: Episode, at: int) -> tuple[float, ...]:
    """Return the values of the chunk that begins in control period `at`."""
    chooser, base = policy.head, policy.base.sampler("")
    spec = chooser.spec

    def seen(back: int) -> Float32Array:
        before: Float32Array = episode.observations[max(at - back, 0)]
        return before

    history = np.array([seen(back) for back in range(base.spec.reach, -1, -base.spec.stride)])
    rows = np.repeat(history[None], spec.samples, axis=0)
    drawn = base.chunks(rows, [at * spec.samples + i for i in range(spec.samples)])
    chosen = episode.actions[None, at : at + spec.chunk]
    both = np.concatenate([drawn[:, : spec.chunk].clip(-1.0, 1.0), chosen]).astype(np.float32)
    told = chooser.see(torch.from_numpy(np.array([[seen(lag) for lag in spec.lags]])))
    values = chooser.values(told.expand(len(both), -1), torch.from_numpy(both))
    own = values[:, -1]
    beyond = chooser.advantages(values[:, None])[0, -1]
    of_base = values[:, : spec.samples].mean()
    return tuple(float(value) for value in (own.mean(), own.std(), of_base, beyond))
