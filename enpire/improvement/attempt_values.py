"""How good it is to go on: the chance that an attempt succeeds, learned from an arm's own attempts.

An attempt is a stretch of an episode in which nothing was taken back (`policies/retracing.py`). One
that ends an episode shows whether it succeeds. One that was given up does not. Its target is what
was expected where it was given up, so giving up early does not make an attempt look worse. That is
a Monte-Carlo return that is bootstrapped only where it was cut off (Sutton and Barto 2018, chapter
12). Several networks learn it, each from other episodes, so that they disagree where little is
known. They see some way back, for a moment alone does not tell who has been stuck for long.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from enpire.environment import Symmetry
from enpire.errors import RecipeError
from enpire.improvement.checkpoint import TrainingState
from enpire.improvement.data import looked_back
from enpire.improvement.growing_tensors import GrowingTensors
from enpire.improvement.learner import Learner, average, taken_up
from enpire.improvement.scene_symmetry import moved
from enpire.policies import Chooser
from enpire.policies.retracing import attempts
from enpire.types import Episode

UNKNOWN = -1  # of a row whose attempt was not given up: there is no row where it was


@dataclass(frozen=True, slots=True)
class AttemptSettings:
    """Settings of the gradient steps."""

    batch: int = 128  # moments a step
    lr: float = 5e-4  # learning rate
    weight_decay: float = 1e-2  # AdamW's
    ema: float = 0.995  # decay of the weights' moving average, which acts and bootstraps
    noise: float = 0.05  # standard deviation that is added to normalised observations
    share: float = 0.8  # chance that a network learns from an episode
    # Discount of a control period; so near one, haste is worth little and being stuck costs much.
    # Names differ from those of critics and base, which a run may have been given by their ends.
    gamma: float = 0.998


@dataclass(frozen=True, slots=True)
class AttemptRows:
    """The rows of one episode of T periods that belong to an attempt, M of them."""

    at: Tensor  # their periods, (M,)
    left: Tensor  # periods until the attempt ends, (M,)
    won: Tensor  # 1.0 where it ended with success, (M,)
    cut: Tensor  # the period in which it was given up, or `UNKNOWN`, (M,)

    @classmethod
    def of(cls, episode: Episode, chunk: int, motions: tuple[int, ...]) -> AttemptRows:
        """Find them; chunk and motions are as in `attempts`."""
        length = len(episode)
        at, left, won, cut = [], [], [], []
        for begin, end in attempts(episode.actions, chunk, motions):
            periods = np.arange(begin, end)
            over = end == length
            at.append(periods)
            left.append((end - 1 if over else end) - periods)
            won.append(np.full(len(periods), float(over and episode.success)))
            cut.append(np.full(len(periods), UNKNOWN if over else end))
        return cls(
            torch.from_numpy(np.concatenate(at)),
            torch.from_numpy(np.concatenate(left)),
            torch.from_numpy(np.concatenate(won).astype(np.float32)),
            torch.from_numpy(np.concatenate(cut)),
        )


class AttemptValueLearner:
    """The attempt values of a chooser while they learn."""

    def __init__(
        self,
        chooser: Chooser,
        settings: AttemptSettings,
        generator: torch.Generator,
        symmetry: Symmetry | None = None,
    ) -> None:
        """Learn for `chooser`, whose own attempt values become the average of what is learned.

        generator: of every draw. symmetry: how moments may be moved.
        """
        self.chooser, self.settings, self.generator = chooser, settings, generator
        self._symmetry = symmetry
        self._averaged = chooser.attempt_values.requires_grad_(False)
        self._current = copy.deepcopy(self._averaged).requires_grad_(True)
        self._optimiser = torch.optim.AdamW(
            self._current.parameters(),
            lr=settings.lr,
            weight_decay=settings.weight_decay,
            fused=True,
        )
        modules = {"current": self._current, "averaged": self._averaged}
        self._learner = Learner(modules, {"current": self._optimiser}, generator)
        self._seen = GrowingTensors()  # in every period
        # Of attempts: row that is seen, the episode's first, left, won, cut, who learns from it.
        self._rows = GrowingTensors()
        self._lags = torch.tensor(chooser.spec.recalled)
        self._masks = np.random.default_rng(generator.initial_seed())
        self.steps = 0

    def __len__(self) -> int:
        """Return how many moments there are to learn from."""
        return len(self._rows)

    def add(self, episode: Episode, seen: Tensor) -> None:
        """Take an episode; seen: what networks see of each of its periods, (T, obs)."""
        spec, begin = self.chooser.spec, len(self._seen)
        self._seen.append([seen])
        rows = AttemptRows.of(episode, spec.chunk, spec.varied)
        cut = torch.where(rows.cut == UNKNOWN, UNKNOWN, rows.cut + begin)
        learns = torch.from_numpy(self._masks.random(spec.critics) < self.settings.share).float()
        masks = learns.expand(len(rows.at), -1)
        first = torch.full_like(rows.at, begin)
        self._rows.append([rows.at + begin, first, rows.left, rows.won, cut, masks])

    def step(self) -> None:
        """Take one gradient step."""
        settings, generator = self.settings, self.generator
        index = torch.randint(len(self._rows), (settings.batch,), generator=generator)
        at, first, left, won, cut, masks = (part[index] for part in self._rows.whole)
        result = won.expand(self.chooser.spec.critics, -1).clone()
        given_up = cut != UNKNOWN
        if given_up.any():
            with torch.no_grad():
                there = self.chooser.see(self._recalled(cut[given_up], first[given_up]))
                result[:, given_up] = torch.sigmoid(self._averaged(there))
        target = settings.gamma ** left.float() * result
        now = self._recalled(at, first)
        if self._symmetry is not None:
            still = torch.zeros(len(now), 1, self.chooser.spec.action)
            now, _ = moved(self._symmetry, now, still, generator)
        shown = self.chooser.see(now)
        shown = shown + settings.noise * torch.randn(shown.shape, generator=generator)
        error = nn.functional.binary_cross_entropy_with_logits(
            self._current(shown), target, reduction="none"
        )
        loss = (masks.T * error).mean()
        self._optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        self._optimiser.step()
        average(self._averaged, self._current, taken_up(settings.ema, self.steps))
        self.steps += 1

    def _recalled(self, at: Tensor, first: Tensor) -> Tensor:
        """Return what is seen in periods `at` (B,) of episodes from `first` on, (B, lags, obs)."""
        (seen,) = self._seen.whole
        return seen[looked_back(at, self._lags, first)]

    def require_finite(self) -> None:
        """Raise RecipeError if a weight is no longer a number."""
        for name, values in self._current.named_parameters():
            if not bool(values.isfinite().all()):
                raise RecipeError(f"learning diverged: attempt_values.{name} is not finite")

    def state(self) -> TrainingState:
        """Return all that learning goes on from, apart from the episodes."""
        return self._learner.kept(self.steps)

    def restore(self, kept: TrainingState) -> None:
        """Take over what `state` returned, after the same episodes were added."""
        self.steps = self._learner.resume(kept)
