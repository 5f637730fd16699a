"""How critics of chunks learn: from what was carried out, whoever did it.

The value of a chunk is what it brought, and the value of what was done next: that of acting as it
was acted (SARSA, Rummery and Niranjan 1994), on whole chunks (Q-chunking, Li et al. 2025, arXiv
2507.07969). Who acts by the best of some chunks is better than that; what it does is learned from
next. No target asks what is best, so nothing is overestimated again and again. In the beginning a
target is in part the return that followed (SPIRAL, arXiv 2606.10305), which knows no chain of
values that must become right one after the other.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass

import torch
from torch import Tensor

from enpire.environment import Symmetry
from enpire.errors import RecipeError
from enpire.improvement.checkpoint import TrainingState
from enpire.improvement.chunk_buffer import ChunkBuffer
from enpire.improvement.learner import Learner, average
from enpire.improvement.scene_symmetry import moved
from enpire.policies import Chooser

SMOOTH = 0.98  # of the numbers that are shown, a step


@dataclass(frozen=True, slots=True)
class CriticSettings:
    """The settings of gradient steps."""

    batch: int = 128  # chunks a step
    lr: float = 3e-4  # learning rate
    # Of a control period; a chunk that gains time is worth more by it, which critics tell sooner
    # than a chance of success.
    discount: float = 0.99
    pair: int = 2  # critics of which the least is a target
    target: float = 0.005  # share of the critics that their targets take over in a step


@dataclass(frozen=True, slots=True)
class Mix:
    """What a step learns from."""

    demonstrations: float  # share of a batch
    followed: float  # share of the return that followed in a target


class CriticLearner:
    """Critics while they learn."""

    def __init__(
        self,
        chooser: Chooser,
        settings: CriticSettings,
        generator: torch.Generator,
        symmetry: Symmetry | None = None,
    ) -> None:
        """Learn the critics of `chooser` itself.

        generator: of every draw that a step makes. symmetry: how moments may be moved.
        """
        self.chooser, self.settings, self.generator = chooser, settings, generator
        self._symmetry = symmetry
        self.target = copy.deepcopy(chooser.critics).requires_grad_(False)
        self._optimiser = torch.optim.Adam(chooser.critics.parameters(), lr=settings.lr, fused=True)
        modules = {"chooser": chooser, "target": self.target}
        self._learner = Learner(modules, {"critics": self._optimiser}, generator)
        self.steps = 0
        self.numbers: dict[str, float] = {}

    def step(self, buffer: ChunkBuffer, mix: Mix) -> None:
        """Take one gradient step."""
        rows = buffer.sample(self.settings.batch, mix.demonstrations, self.generator)
        chunks = buffer.whole.at(rows)
        later = self._value_later(buffer, chunks.later)
        target = (chunks.reward + chunks.discount * later).clamp(0.0, 1.0)
        target = torch.lerp(target, chunks.followed, mix.followed)
        seen, actions = chunks.seen, chunks.actions
        if self._symmetry is not None:
            seen, actions = moved(self._symmetry, seen, actions, self.generator)
        values = self.chooser.values(self.chooser.see(seen), actions)
        loss = (values - target).square().mean(dim=1).sum()
        self._optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        self._optimiser.step()
        average(self.target, self.chooser.critics, 1.0 - self.settings.target)
        self._smooth("loss", float(loss.detach()) / len(values))
        self._smooth("value", float(values.detach().mean()))
        self.steps += 1

    def require_finite(self) -> None:
        """Raise RecipeError if a weight is no longer a number."""
        for name, values in self.chooser.named_parameters():
            if not bool(values.isfinite().all()):
                raise RecipeError(f"learning diverged: the weights of {name} are not finite")

    def state(self) -> TrainingState:
        """Return all that learning goes on from."""
        kept = self._learner.kept(self.steps)
        return TrainingState(kept.tensors, {**kept.state, "numbers": dict(self.numbers)})

    def restore(self, kept: TrainingState) -> None:
        """Take over what `state` returned."""
        self.steps = self._learner.resume(kept)
        self.numbers = dict(kept.state["numbers"])

    @torch.no_grad()
    def _value_later(self, buffer: ChunkBuffer, later: Tensor) -> Tensor:
        """Return the value (B,) of what was done at the rows `later`, (B,)."""
        whole = buffer.whole
        count = self.chooser.spec.critics
        pair = torch.randperm(count, generator=self.generator)[: self.settings.pair]
        seen = self.chooser.see(whole.seen[later])
        values = self.chooser.values(seen, whole.actions[later], self.target, pair)
        least: Tensor = values.min(dim=0).values
        return least

    def _smooth(self, name: str, value: float) -> None:
        before = self.numbers.get(name, value)
        self.numbers[name] = SMOOTH * before + (1.0 - SMOOTH) * value
