"""A policy that goes on learning from what succeeded, by the loss that it was cloned with.

As the base of EXPO does (Dong et al. 2025, arXiv 2507.07986): what was found becomes its own, and
what never came right fades.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass

import torch

from enpire.environment import Symmetry
from enpire.improvement.checkpoint import TrainingState
from enpire.improvement.data import examples, instructive
from enpire.improvement.displacement import displaced
from enpire.improvement.growing_tensors import GrowingTensors
from enpire.improvement.learner import Learner, average, taken_up
from enpire.improvement.scene_symmetry import moved
from enpire.policies import ChunkPolicy, FlowPolicy
from enpire.types import Episode, Flags

Cloned = ChunkPolicy | FlowPolicy  # A policy that is ours to teach by cloning


@dataclass(frozen=True, slots=True)
class BaseSettings:
    """The settings of gradient steps."""

    batch: int = 256  # moments a step
    lr: float = 3e-4  # learning rate
    decay: float = 1e-2  # AdamW's weight decay
    average: float = 0.998  # decay of the weights' moving average, which is what acts
    noise: float = 0.05  # standard deviation that is added to normalised observations


class BaseLearner:
    """A policy while it learns from successes."""

    def __init__(
        self,
        policy: Cloned,
        settings: BaseSettings,
        generator: torch.Generator,
        symmetry: Symmetry | None = None,
    ) -> None:
        """Go on from `policy`, which is not changed.

        generator: of every draw that a step makes. symmetry: how moments may be moved.
        """
        self.settings, self.generator, self.symmetry = settings, generator, symmetry
        self.policy = copy.deepcopy(policy).train()
        self.averaged = copy.deepcopy(policy).eval().requires_grad_(False)
        self._optimiser = torch.optim.AdamW(
            self.policy.parameters(), lr=settings.lr, weight_decay=settings.decay, fused=True
        )
        modules = {"policy": self.policy, "averaged": self.averaged}
        self._learner = Learner(modules, {"policy": self._optimiser}, generator)
        self._rows = GrowingTensors()
        self.steps = 0

    def __len__(self) -> int:
        """Return how many moments there are to learn from."""
        return len(self._rows)

    def add(self, episode: Episode, dropped: Flags | None = None) -> int:
        """Take what is worth cloning of a success; returns how many moments that are.

        dropped: periods that are not, whatever else speaks for them, (T,).
        """
        data = examples([episode], self.policy.spec)
        idle = None if self.symmetry is None else self.symmetry.idle
        wanted = instructive(episode, idle, self.policy.spec.execute)
        chosen = torch.from_numpy(wanted if dropped is None else wanted & ~dropped)
        if not chosen.any():
            return 0
        parts = data.rows[data.window], data.actions, data.valid
        self._rows.append([part[chosen] for part in parts])
        return int(chosen.sum())

    def step(self) -> None:
        """Take one gradient step."""
        settings, generator = self.settings, self.generator
        index = torch.randint(len(self._rows), (settings.batch,), generator=generator)
        history, actions, valid = (part[index] for part in self._rows.whole)
        if self.symmetry is not None:
            history, actions = moved(self.symmetry, history, actions, generator)
            history, actions = displaced(self.symmetry, history, actions, generator)
        noise = torch.randn(history.shape, generator=generator)
        seen = history + settings.noise * self.policy.std * noise
        error = self.policy.cloning_error(seen, actions, generator).mean(dim=2) * valid
        loss = (error.sum(dim=1) / valid.sum(dim=1)).mean()
        self._optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(self.policy.parameters(), 1.0)
        self._optimiser.step()
        average(self.averaged, self.policy, taken_up(settings.average, self.steps))
        self.steps += 1

    def acting(self) -> Cloned:
        """Return the policy as it is now, which later steps do not change."""
        return copy.deepcopy(self.averaged)

    def state(self) -> TrainingState:
        """Return all that learning goes on from, apart from the episodes."""
        return self._learner.kept(self.steps)

    def restore(self, kept: TrainingState) -> None:
        """Take over what `state` returned."""
        self.steps = self._learner.resume(kept)
