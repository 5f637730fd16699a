"""Soft actor-critic on chunks (Haarnoja et al. 2018, arXiv 1812.05905): what the recipes share.

The critic is an ensemble with layer norm, and a target takes the least of a random few of it (REDQ,
Chen et al. 2021, arXiv 2101.05982; RLPD, Ball et al. 2023, arXiv 2302.02948). Returns are bounded,
so is the critic, and it is taught by cross-entropy: a target cannot run away (Farebrother et al.
2024, arXiv 2403.03950). Entropy is left out of the targets, as in RLPD where reward is sparse.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import adaptive_avg_pool1d
from torch.nn.functional import binary_cross_entropy_with_logits as cross_entropy
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

from enpire.improvement.checkpoint import Checkpoint
from enpire.improvement.learner import Learner, average, taken_up
from enpire.improvement.replay import Transitions
from enpire.improvement.residual import Residual, Standing
from enpire.improvement.value import Normaliser, SuccessEnsemble, lower_confidence_bound
from enpire.policies import ChunkPolicy, FlowPolicy, NoiseSteering
from enpire.policies.device import device

MIN_SPREAD = 1e-2  # of an action that hardly varies, when it is shown to a critic
PARTS = 2  # of a chunk, that a critic tells apart
NORMAL = 0.5 * math.log(2 * math.pi * math.e)  # entropy of a normal variable of deviation one

Chunks = ChunkPolicy | Residual | Standing | FlowPolicy | NoiseSteering
"""What an actor's mean can be."""


@dataclass(frozen=True, slots=True)
class SacSettings:
    """Settings of actor and critic."""

    steps: int = 3000  # gradient steps of the critic
    batch: int = 256  # chunks a step
    lr: float = 5e-4  # of all, from which it falls along a cosine
    discount: float = 0.99  # a control period
    width: int = 128  # of the critics
    members: int = 5  # critics
    least_of: int = 2  # of them, drawn anew each step, whose least is a target
    polyak: float = 0.99  # decay of the target critics' moving average
    warm_up: float = 0.3  # part of the steps in which the actor stands still
    delay: int = 2  # steps of the critic for one of the actor
    caution: float = 3.0  # standard deviations of the critics that what is better is lowered by
    cloning: float = 5.0  # weight of staying with what is cloned, beside log-odds
    deviation: float = 0.3  # of the actor's draws, in units of each action's spread


class Critic(nn.Module):
    """Expected returns of a chunk at a moment, by an ensemble, between 0 and 1.

    Of a chunk it is shown the mean actions of its halves: they say where a hand is taken. What a
    shake within does nobody has tried, so an actor that climbs it would only find errors.
    """

    def __init__(self, policy: Chunks, seen: Normaliser, learning: SacSettings) -> None:
        super().__init__()
        spec = policy.spec
        self.seen = seen
        self.spread = policy.spread.clamp_min(MIN_SPREAD)
        inputs = spec.history * spec.observation + PARTS * spec.action
        self.ensemble = SuccessEnsemble(inputs, learning.width, learning.members)

    def forward(self, history: Tensor, actions: Tensor) -> Tensor:
        """Log-odds (members, batch) of the return."""
        seen = self.seen(history).flatten(1)
        parts = adaptive_avg_pool1d((actions / self.spread).transpose(1, 2), PARTS)
        odds: Tensor = self.ensemble(torch.cat([seen, parts.flatten(1)], dim=1))
        return odds


class Actor(nn.Module):
    """A chunk policy, and how far draws are from it: one offset for all actions of a chunk.

    That is how stations explore (`enpire/policies/variation.py`), so what a draw would do has been
    tried.
    """

    def __init__(self, policy: Chunks, deviation: float, drawn: int) -> None:
        """drawn: how many numbers are drawn for a chunk."""
        super().__init__()
        self.policy = policy
        self.log_std = nn.Parameter(torch.full((drawn,), math.log(deviation)))

    def draw(self, history: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
        """Mean chunks and chunks drawn, (batch, chunk, act), and their log-density (batch,)."""
        mean: Tensor = self.policy(history)
        noise = torch.randn(len(history), len(self.log_std), generator=generator).to(mean)
        offset = self.policy.spread * self.log_std.exp() * noise
        density = -(0.5 * noise.square() + self.log_std + NORMAL - 0.5).sum(dim=1)
        return mean, (mean + offset[:, None]).clamp(-1.0, 1.0), density


def random_minimum(values: Tensor, of: int, generator: torch.Generator) -> Tensor:
    """The least (batch,) of a random few of values (members, batch)."""
    few = torch.randperm(len(values), generator=generator)[:of].to(values.device)
    return values[few].min(dim=0).values


class SacAgent[P: Chunks]:
    """Actor and critic that learn from batches of chunks.

    `begun` is where the actor starts; the moving average of its weights is what comes of it. All of
    them are `where` networks learn, and so is what `learn_both` makes of a batch.
    """

    def __init__(
        self,
        begun: P,
        data: Transitions,
        learning: SacSettings,
        generator: torch.Generator,
    ) -> None:
        """data: what the critic's normalisation is of."""
        self.learning, self.generator, self.where = learning, generator, device()
        self.begun: P = copy.deepcopy(begun)
        self.begun.to(self.where)
        self.actor = self.acting(copy.deepcopy(self.begun)).to(self.where)
        seen = Normaliser.of(data.history[:, -1].to(self.where))
        self.critic = Critic(self.begun, seen, learning).to(self.where)
        self.target = copy.deepcopy(self.critic)
        self.averaged: P = copy.deepcopy(self.begun)
        heat = nn.Parameter(torch.tensor(math.log(0.01)))
        self.temperature = nn.ParameterDict({"log": heat}).to(self.where)
        self.modules: dict[str, nn.Module] = {"target": self.target, "averaged": self.averaged}
        self.optimisers: dict[str, Optimizer] = {}
        self._schedules: dict[str, LRScheduler] = {}
        self._last: dict[str, Tensor] = {}  # of the critics' last batch
        actor_steps = learning.steps // learning.delay
        self.add("actor", self.actor, actor_steps)
        self.add("critic", self.critic, learning.steps)
        self.add("temperature", self.temperature, actor_steps, decay=0.0)

    def add(self, name: str, module: nn.Module, steps: int, decay: float = 1e-2) -> None:
        """Have a module learn, in so many `_step`s of that name."""
        values = [v for v in module.parameters() if v.requires_grad]
        optimiser = torch.optim.AdamW(values, lr=self.learning.lr, weight_decay=decay, fused=True)
        self.modules[name], self.optimisers[name] = module, optimiser
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, max(steps, 1))
        self._schedules[name] = schedule

    def acting(self, policy: P) -> Actor:
        """The actor that `policy` is the mean of; it is changed."""
        return Actor(policy.train(), self.learning.deviation, policy.spec.action)

    @property
    def policy(self) -> P:
        """What was learned, once it is; on the processor."""
        self.averaged.cpu().eval()
        return self.averaged

    @property
    def execute(self) -> int:
        return self.actor.policy.spec.execute

    def target_of(self, batch: Transitions) -> Tensor:
        """What chunks are worth, (batch,), by the reward and the value of where they end."""
        with torch.no_grad():
            _, actions, _ = self.actor.draw(batch.later, self.generator)
            odds = self.target(batch.later, actions[:, : self.execute])
            value = random_minimum(torch.sigmoid(odds), self.learning.least_of, self.generator)
        worth: Tensor = batch.reward + batch.discount * value
        return worth

    @torch.no_grad()
    def tried(self, batch: Transitions) -> Tensor:
        """The better, by the critic, of the chunk that was carried out and of where it began."""
        own = self.own(batch.history)
        better = self.surely_more(batch.history, batch.actions, own) > 0
        return torch.where(better[:, None, None], batch.actions, own)

    @torch.no_grad()
    def own(self, history: Tensor) -> Tensor:
        """What it did where it began, as it was carried out, (batch, execute, act)."""
        return self.first(history)[:, : self.execute].clamp(-1.0, 1.0)

    def first(self, history: Tensor) -> Tensor:
        """What it said where it began, (batch, chunk, act)."""
        actions: Tensor = self.begun(history)
        return actions

    def surely_more(self, history: Tensor, actions: Tensor, than: Tensor) -> Tensor:
        """Return how much more a chunk is worth than another one, as log-odds (batch,).

        See `lower_confidence_bound`.
        """
        with torch.no_grad():
            before = self.critic(history, than)
        return lower_confidence_bound(self.critic(history, actions) - before, self.learning.caution)

    def learn_both(self, batch: Transitions, at: int) -> Tensor:
        """Step `at`: of critic and actor, but first of the critic alone. Returns the critic's loss.

        While the actor stands still the critic learns from the returns that followed, which is
        quick and needs no other critic: what is learned afterwards begins from there.
        """
        batch = batch.to(self.where)
        if self.warming_up(at):
            return self.learn_critic(batch, batch.followed)
        loss = self.learn_critic(batch, self.target_of(batch))
        if at % self.learning.delay == 0:
            self.learn_actor(batch, self.tried(batch), at)
        return loss

    def warming_up(self, at: int) -> bool:
        """Whether the actor stands still in step `at`."""
        return at < self.learning.warm_up * self.learning.steps

    def learn_critic(self, batch: Transitions, worth: Tensor) -> Tensor:
        """One step towards what chunks are `worth`, (batch,); returns the loss."""
        odds = self.critic(batch.history, batch.actions)
        targets = worth.clamp(0, 1).expand_as(odds)
        loss = cross_entropy(odds, targets, reduction="none").mean(dim=1).sum()
        self._step("critic", loss)
        average(self.target, self.critic, self.learning.polyak)
        values = torch.sigmoid(odds.detach())
        self._last = {"q": values, "target": worth, "td_error": (values - worth).abs()}
        return loss

    def actor_loss(self, batch: Transitions, cloned: Tensor) -> tuple[Tensor, Tensor]:
        """What the actor descends, and the log-density (batch,) of what it drew.

        It climbs what log-odds surely are more than its own were, for these order actions as values
        do and are steep where success is unlikely, and is held to the chunks `cloned`, (batch,
        execute, act).
        """
        mean, actions, density = self.actor.draw(batch.history, self.generator)
        own = self.own(batch.history)
        sure = self.surely_more(batch.history, actions[:, : self.execute], own)
        apart = (mean[:, : self.execute] - cloned) / self.actor.policy.spread
        error = apart.square().mean(dim=(1, 2))
        heat = self.temperature["log"].exp().detach()
        return (heat * density - sure + self.learning.cloning * error).mean(), density

    def learn_actor(self, batch: Transitions, cloned: Tensor, at: int) -> None:
        """One step of the actor, and of the temperature towards the entropy that is wanted."""
        loss, density = self.actor_loss(batch, cloned)
        self._step("actor", loss)
        short = density.detach().mean() + self.wanted()
        self._step("temperature", -self.temperature["log"] * short)
        average(self.averaged, self.actor.policy, taken_up(0.995, at))

    def wanted(self) -> float:
        """The entropy of what the actor draws."""
        return len(self.actor.log_std) * (NORMAL + math.log(self.learning.deviation))

    def learn(
        self, stage: str, steps: int, step: Callable[[int], Tensor], checkpoint: Checkpoint
    ) -> float:
        """Go through `steps` of it; see `Learner.run`."""
        learner = Learner(
            self.modules, self.optimisers, self.generator, self._schedules, numbers=self.numbers
        )
        return learner.run(stage, steps, step, checkpoint)

    def learn_from(
        self,
        stage: str,
        sample: Callable[[int, torch.Generator], Transitions],
        checkpoint: Checkpoint,
    ) -> float:
        """Go through the settings' steps of critic and actor, each on a batch that `sample` draws.

        It is told how many chunks that are, and draws by the agent's generator.
        """

        def step(at: int) -> Tensor:
            return self.learn_both(sample(self.learning.batch, self.generator), at)

        return self.learn(stage, self.learning.steps, step, checkpoint)

    def numbers(self) -> dict[str, float]:
        """Return the means of the critics' last batch: Q-values, their targets, how far apart."""
        return {name: values.mean().item() for name, values in self._last.items()}

    def _step(self, name: str, loss: Tensor) -> None:
        optimiser = self.optimisers[name]
        values = [v for group in optimiser.param_groups for v in group["params"]]
        for value, slope in zip(values, torch.autograd.grad(loss, values), strict=True):
            value.grad = slope
        optimiser.step()
        self._schedules[name].step()
