"""What a chunk of actions does: the observation that is expected when it has been carried out."""

from __future__ import annotations

import copy

import torch
from torch import Tensor, nn

from enpire.errors import RecipeError
from enpire.improvement.checkpoint import NOWHERE, Checkpoint
from enpire.improvement.data import Examples
from enpire.improvement.learner import Learner, average, taken_up
from enpire.policies.device import device

BATCH = 256
WIDTH = 256
AVERAGE = 0.995  # decay of the weights' moving average, which is what is returned


class ForwardModel(nn.Module):
    """The normalised observation one chunk later; a linear path beside the network."""

    spread: Tensor

    def __init__(self, observation: int, history: int, chunk: int, spread: Tensor) -> None:
        super().__init__()
        inputs = observation * history + chunk * len(spread)
        self.register_buffer("spread", spread, persistent=False)
        self.linear = nn.Linear(inputs, observation)
        last = nn.Linear(WIDTH, observation)
        nn.init.zeros_(last.weight)
        self.net = nn.Sequential(
            nn.Linear(inputs, WIDTH),
            nn.LayerNorm(WIDTH),
            nn.SiLU(),
            nn.Linear(WIDTH, WIDTH),
            nn.LayerNorm(WIDTH),
            nn.SiLU(),
            last,
        )

    def forward(self, history: Tensor, actions: Tensor) -> Tensor:
        """Predict (batch, obs) from normalised (batch, history, obs) and (batch, chunk, act)."""
        joined = torch.cat([history.flatten(1), (actions / self.spread).flatten(1)], dim=1)
        step: Tensor = self.net(joined) + self.linear(joined)
        return history[:, -1] + step


def fit_dynamics(
    seen: Tensor,
    data: Examples,
    spread: Tensor,
    steps: int,
    generator: torch.Generator,
    checkpoint: Checkpoint = NOWHERE,
) -> ForwardModel:
    """Learn from all chunks of `data` that were carried out whole.

    Args:
        seen: normalised observations of `data.rows`, (N, obs).
        data: the examples, one a row.
        spread: unit of each action, (act,).
        steps: of the optimiser.
        generator: of the draws.
        checkpoint: where training is, under the name `dynamics`.

    Raises:
        RecipeError: no episode is longer than a chunk.
    """
    chunk = data.actions.shape[1]
    inside = data.valid.all(dim=1)
    whole = torch.where(inside[:-1] & inside[1:])[0]  # the row a chunk later is there too
    if not len(whole):
        raise RecipeError(f"no episode is longer than a chunk of {chunk}: nothing to learn from")
    where = device()
    model = ForwardModel(seen.shape[1], data.window.shape[1], chunk, spread).to(where)
    averaged = copy.deepcopy(model)
    optimiser = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=1e-3, fused=True)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, max(steps, 1))

    def step(at: int) -> Tensor:
        index = whole[torch.randint(len(whole), (BATCH,), generator=generator)]
        predicted = model(seen[data.window[index]].to(where), data.actions[index].to(where))
        loss: Tensor = (predicted - seen[index + chunk].to(where)).square().mean()
        optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        schedule.step()
        average(averaged, model, taken_up(AVERAGE, at))
        return loss

    modules = {"model": model, "averaged": averaged}
    learner = Learner(modules, {"model": optimiser}, generator, {"model": schedule})
    learner.run("dynamics", steps, step, checkpoint)
    return averaged.cpu().eval()
