"""The optimiser loop that everything learned goes through, and goes on in after a crash."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR, LRScheduler

from enpire.errors import RecipeError
from enpire.improvement.checkpoint import Checkpoint, TrainingState

LOOK = 50  # steps between two looks at the loss: reading it stops what computes meanwhile
LEAST_AVERAGE = 10  # steps over which a moving average of weights is taken up at first
GENERATOR = "generator"


@dataclass(slots=True)
class Learner:
    """All that changes while something is learned."""

    # Whatever has weights, moving averages and target networks too, on any device.
    modules: Mapping[str, nn.Module]
    optimisers: Mapping[str, Optimizer]
    generator: torch.Generator  # the processor's, of every draw that a step makes
    schedules: Mapping[str, LRScheduler] = field(default_factory=dict)
    loss: float = math.nan  # smoothed over the looks at it
    # Tells what else shows how the last step went, for curves.
    numbers: Callable[[], Mapping[str, float]] = dict

    def run(
        self, stage: str, steps: int, step: Callable[[int], Tensor], checkpoint: Checkpoint
    ) -> float:
        """Call `step`, which learns from one batch and returns its loss, for 0 to `steps` - 1.

        stage: a name of its own within a training. What `checkpoint` has of it is not done again.

        Returns:
            The smoothed loss.

        Raises:
            RecipeError: the loss or a weight is no longer a number.
        """
        done = self.resume(checkpoint.find(stage))
        for at in range(done, steps):
            loss = step(at)
            if at % LOOK == 0:
                self._look(stage, at, loss.item())
                checkpoint.show(stage, at, {"loss": loss.item(), **self.numbers()})
            if checkpoint.due:
                checkpoint.keep(stage, self.kept(at + 1))
        for name, module in self.modules.items():
            if not all(bool(values.isfinite().all()) for values in module.parameters()):
                raise RecipeError(f"{stage} diverged: the weights of {name} are not finite")
        if done < steps and checkpoint.keeps:
            checkpoint.keep(stage, self.kept(steps))
        return self.loss

    def _look(self, stage: str, at: int, loss: float) -> None:
        if not math.isfinite(loss):
            raise RecipeError(f"{stage} diverged at step {at}: the loss is {loss}")
        self.loss = loss if math.isnan(self.loss) else 0.9 * self.loss + 0.1 * loss

    def kept(self, done: int) -> TrainingState:
        """Return all that changes, after `done` steps."""
        tensors = {GENERATOR: self.generator.get_state()}
        for name, module in self.modules.items():
            tensors |= {f"module/{name}/{key}": t for key, t in module.state_dict().items()}
        for name, optimiser in self.optimisers.items():
            for i, values in optimiser.state_dict()["state"].items():
                tensors |= {f"optimiser/{name}/{i}/{key}": t for key, t in values.items()}
        state = {
            "done": done,
            "loss": self.loss,
            "rates": {n: [g["lr"] for g in o.param_groups] for n, o in self.optimisers.items()},
            "schedules": {n: _plain(s.state_dict()) for n, s in self.schedules.items()},
        }
        return TrainingState({name: t.to("cpu", copy=True) for name, t in tensors.items()}, state)

    def resume(self, kept: TrainingState | None) -> int:
        """Take over what was kept; returns how many steps were done.

        Raises:
            RecipeError: it is of modules of another shape.
        """
        if kept is None:
            return 0
        tensors, state = kept.tensors, kept.state
        for name, module in self.modules.items():
            try:
                module.load_state_dict(_under(f"module/{name}/", tensors))
            except RuntimeError as error:
                raise RecipeError(
                    f"what was kept of {name} has another shape, as another version makes it: go "
                    "on with the version that began this training, or start a new run"
                ) from error
        for name, optimiser in self.optimisers.items():
            states: dict[int, dict[str, Tensor]] = {}
            for key, tensor in _under(f"optimiser/{name}/", tensors).items():
                i, _, what = key.partition("/")
                states.setdefault(int(i), {})[what] = tensor
            optimiser.load_state_dict({**optimiser.state_dict(), "state": states})
            for group, rate in zip(optimiser.param_groups, state["rates"][name], strict=True):
                group["lr"] = rate
        for name, schedule in self.schedules.items():
            schedule.load_state_dict(state["schedules"][name])
        self.generator.set_state(tensors[GENERATOR])
        self.loss = state["loss"]
        return int(state["done"])


def warmed_and_annealed(optimiser: Optimizer, steps: int) -> LambdaLR:
    """The rate of `steps` gradient steps: up evenly in a fiftieth of them, then half a cosine down.

    Loshchilov and Hutter 2016, arXiv 1608.03983, without restarts.
    """
    warm = max(1, steps // 50)
    return LambdaLR(
        optimiser,
        lambda step: min((step + 1) / warm, 0.5 + 0.5 * math.cos(math.pi * step / steps)),
    )


def taken_up(decay: float, step: int) -> float:
    """Return the decay of a moving average at `step`: less in the first steps."""
    return min(decay, (1 + step) / (LEAST_AVERAGE + step))


@torch.no_grad()
def average(averaged: nn.Module, current: nn.Module, decay: float) -> None:
    """Move `averaged` towards `current` by 1 - decay: a moving average of weights."""
    targets: list[Tensor] = list(averaged.parameters())
    sources: list[Tensor] = list(current.parameters())
    torch._foreach_lerp_(targets, sources, 1.0 - decay)


def _under(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {key.removeprefix(prefix): t for key, t in tensors.items() if key.startswith(prefix)}


def _plain(state: Mapping[str, Any]) -> dict[str, Any]:
    """What of a schedule's state is numbers; the rest is made anew with it."""
    return {k: v for k, v in state.items() if isinstance(v, int | float | list)}
