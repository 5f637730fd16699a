"""Episodes as training examples: windows of observations, chunks of actions, weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from enpire.environment import Idleness, Symmetry
from enpire.errors import RecipeError
from enpire.policies import ChunkSpec, PictureSpec
from enpire.types import Episode, Flags, Float32Array, Image

MIN_STD = 1e-3  # of an observation or action that hardly varies


@dataclass(frozen=True, slots=True)
class ExampleBatch:
    """B examples, as a gradient step takes them."""

    history: Tensor  # observations (B, history, obs)
    actions: Tensor  # (B, chunk, act)
    valid: Tensor  # (B, chunk)
    weight: Tensor  # (B,)
    pictures: Tensor | None  # of a policy that sees, (B, cameras, size, size, 3) of uint8

    def to(self, where: torch.device) -> ExampleBatch:
        """The same on a device."""
        return ExampleBatch(
            history=self.history.to(where),
            actions=self.actions.to(where),
            valid=self.valid.to(where),
            weight=self.weight.to(where),
            pictures=None if self.pictures is None else self.pictures.to(where),
        )


@dataclass(frozen=True, slots=True)
class Examples:
    """M training examples of one policy shape."""

    rows: Tensor  # observations of all episodes end to end, (N, obs)
    # By default of every row, the rows that the policy sees, (M, history), clamped at the
    # episode's start.
    window: Tensor
    actions: Tensor  # (M, chunk, act)
    valid: Tensor  # (M, chunk), false beyond the episode's end, or an expert's own actions
    weight: Tensor  # (M,), mean one
    action_mean: Tensor
    action_std: Tensor
    pictures: Tensor | None = None  # of a policy that sees, (P, cameras, size, size, 3) of uint8
    pictured: Tensor | None = None  # (M,), which of them each example shows
    symmetry: Symmetry | None = None  # how they may be moved while they are learned from

    def __len__(self) -> int:
        return int(self.window.shape[0])

    def only(self, chosen: Flags) -> Examples:
        """The chosen ones of the examples, (M,); what they see is as before.

        Raises:
            RecipeError: none is.
        """
        if chosen.all():
            return self
        if not chosen.any():
            raise RecipeError("no moment of any episode to learn from")
        flags = torch.from_numpy(chosen)
        weight = self.weight[flags]
        return replace(
            self,
            window=self.window[flags],
            actions=self.actions[flags],
            valid=self.valid[flags],
            weight=weight / weight.mean(),
            pictured=None if self.pictured is None else self.pictured[flags],
        )

    def batch(self, index: Tensor) -> ExampleBatch:
        """The examples at `index`, (B,)."""
        return ExampleBatch(
            history=self.rows[self.window[index]],
            actions=self.actions[index],
            valid=self.valid[index],
            weight=self.weight[index],
            pictures=self.shown(index),
        )

    def shown(self, index: Tensor) -> Tensor | None:
        """The pictures of the examples at `index`, (B, cameras, size, size, 3), if any."""
        if self.pictures is None or self.pictured is None:
            return None
        return self.pictures[self.pictured[index]]


def looked_back(at: Tensor, lags: Tensor, first: Tensor) -> Tensor:
    """Return the rows so many periods before rows `at`, (M, lags), none before the episode begins.

    at: (M,). lags: (lags,). first: the first row of each one's episode, (M,).
    """
    return torch.maximum(at[:, None] - lags, first[:, None])


def instructive(episode: Episode, idle: Idleness | None = None, periods: int = 1) -> Flags:
    """Rows of a success that are worth cloning, (T,).

    Where somebody helped, what the helper did, and not the way back before that: a policy that
    goes back now and then comes to nothing. Not what only repeats an episode that failed. Where a
    pack says what standing `idle` is, not moments from which on hands stand still for so many
    `periods` either: a person who looks stands for a while, and nothing that is seen says for how
    long.
    """
    worth: Flags = (np.arange(len(episode)) >= episode.forked) & _expert(episode)
    if idle is None:
        return worth
    moving: Flags = worth & ~stands_still(episode.actions, idle, periods)
    return moving


def _expert(episode: Episode) -> Flags:
    """Rows whose action is worth cloning, (T,): where somebody helped, what the helper did."""
    if not episode.helped:
        return np.ones(len(episode), bool)
    helper: Flags = episode.intervened & ~episode.rewound
    return helper


def stands_still(actions: Float32Array, idle: Idleness, periods: int) -> Flags:
    """Return the rows from which on hands stand still for so many periods, (T,).

    Args:
        actions: of an episode, (T, act).
        idle: what standing still is.
        periods: for which they have to; beyond the end they do as in the last period.
    """
    still = np.linalg.norm(actions[:, list(idle.entries)], axis=1) < idle.motion
    ahead = np.minimum(np.arange(len(still))[:, None] + np.arange(periods), len(still) - 1)
    stands: Flags = still[ahead].all(axis=1)
    return stands


def known_well(episodes: Sequence[Episode]) -> list[Episode]:
    """Successes of those who know: demonstrations, and what somebody helped with.

    All successes, where nobody did. What a policy did itself tells no more than it knew.
    """
    won = [episode for episode in episodes if episode.success]
    return [episode for episode in won if has_expert(episode)] or won


def tracked(episode: Episode) -> bool:
    """Whether all is known of what it shows: a data set's pictures have no tracker beside them."""
    return len(episode) > 0 and bool(np.isfinite(episode.observations).all())


def has_expert(episode: Episode) -> bool:
    """Whether somebody who knows had a hand in it."""
    return episode.helped or episode.shown


def examples(
    episodes: Sequence[Episode], spec: ChunkSpec, weights: Sequence[float] | None = None
) -> Examples:
    """All control periods of `episodes`, each episode with a weight (1 if not given).

    Raises:
        RecipeError: no episode, or one whose shapes do not fit `spec`.
    """
    if not episodes:
        raise RecipeError("no episode to learn from")
    starts, firsts, ends = [], [], []
    total = 0
    for episode in episodes:
        if episode.observations.shape[1:] != (spec.observation,) or episode.actions.shape[1:] != (
            spec.action,
        ):
            raise RecipeError(
                f"episode {episode.id}: observations {episode.observations.shape} and actions "
                f"{episode.actions.shape} do not fit a policy of {spec.observation} and "
                f"{spec.action}"
            )
        if len(episode.observations) != len(episode.actions):
            raise RecipeError(
                f"episode {episode.id}: {len(episode.observations)} observations and "
                f"{len(episode.actions)} actions: a row of each per control period is due, or "
                "actions go with what was seen at another time"
            )
        length = len(episode)
        starts.append(np.arange(total, total + length))
        firsts.append(np.full(length, total))
        ends.append(np.full(length, total + length))
        total += length
    at, first, end = (np.concatenate(parts)[:, None] for parts in (starts, firsts, ends))
    back = np.arange(spec.reach, -1, -spec.stride)
    ahead = at + np.arange(spec.chunk)
    actions = np.concatenate([episode.actions for episode in episodes])
    worth = np.concatenate([_expert(episode) for episode in episodes])
    until = np.logical_and.accumulate(worth[np.minimum(ahead, end - 1)], axis=1)
    per_episode = np.ones(len(episodes)) if weights is None else np.asarray(weights, float)
    weight = np.repeat(per_episode, [len(episode) for episode in episodes])
    return Examples(
        rows=torch.from_numpy(np.concatenate([episode.observations for episode in episodes])),
        window=looked_back(*map(torch.from_numpy, (at[:, 0], back, first[:, 0]))),
        actions=torch.from_numpy(actions[np.minimum(ahead, end - 1)]),
        valid=torch.from_numpy((ahead < end) & (until | ~worth[at])),
        weight=torch.from_numpy((weight / weight.mean()).astype(np.float32)),
        action_mean=torch.from_numpy(actions.mean(axis=0)),
        action_std=torch.from_numpy(np.maximum(actions.std(axis=0), MIN_STD)),
    )


def seen_examples(
    episodes: Sequence[Episode], spec: PictureSpec, weight: Tensor | None = None
) -> Examples:
    """The examples of the `instructive` periods before which a picture was taken.

    weight: of all periods end to end, (N,), where it is this that tells what each is worth.

    Raises:
        RecipeError: no such period, or shapes that do not fit `spec`.
    """
    data = examples(episodes, spec)
    pictures, picture = pictures_of(episodes, spec)
    data = replace(data, pictures=torch.from_numpy(pictures), pictured=torch.from_numpy(picture))
    if weight is not None:
        return replace(data, weight=weight).only(picture >= 0)
    taught = np.concatenate([instructive(episode) for episode in episodes])
    return data.only(taught & (picture >= 0))


def pictures_of(episodes: Sequence[Episode], spec: PictureSpec) -> tuple[Image, NDArray[np.int64]]:
    """All pictures, (P, cameras, size, size, 3), and which each row has, (N,), -1 for none.

    Raises:
        RecipeError: there are none, or of another shape than those of `spec`.
    """
    lengths = [len(episode) for episode in episodes]
    picture, total = np.full(sum(lengths), -1), 0
    start = np.cumsum([0, *lengths])
    for episode, first in zip(episodes, start[:-1], strict=True):
        inside = episode.pictured < len(episode)
        rows = first + episode.pictured[inside]
        picture[rows] = total + np.flatnonzero(inside)
        total += len(episode.pictures)
    wanted = (len(spec.cameras), spec.size, spec.size, 3)
    taken = [episode.pictures for episode in episodes if len(episode.pictures)]
    if not taken:
        raise RecipeError("no episode has pictures: they are taken with --images")
    if any(each.shape[1:] != wanted for each in taken):
        raise RecipeError(f"episodes have pictures of another shape than {wanted}")
    return np.concatenate(taken), picture
