"""Gradient steps a second of our learners, beside a bare loop in torch over tensors in memory.

The bare loops are what somebody would write who has nothing but speed in mind: the same network,
batch, optimiser and moving average, examples that were normalised once for all, no curves, no
checkpoints. They draw from a generator as ours do, and reach the same weights (a test holds that).
`compiled` is the same loop with its loss through `torch.compile`.

*critics* is the step of `best_of_n` that its stations wait for; *cloning* is that of `fit`. Neither
moves its examples by a symmetry here.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.turns import OURS, Comparison, Side, compare
from enpire.improvement.behaviour_cloning import Training, fit, fresh
from enpire.improvement.chunk_buffer import ChunkBuffer, Chunks
from enpire.improvement.critic_learning import CriticLearner, CriticSettings, Mix
from enpire.improvement.data import Examples
from enpire.improvement.learner import taken_up, warmed_and_annealed
from enpire.improvement.recipes.best_of_n import BestOfN
from enpire.policies import Chooser, ChooserSpec, ChunkPolicy, ChunkSpec

MIX = Mix(demonstrations=0.5, followed=0.5)  # as a run of `best_of_n` begins
SPEC = ChunkSpec("measured", observation=40, action=7)  # as of `pin_box`, about
SHOWN = 0.2  # share of the moments that are of demonstrations


@dataclass(frozen=True, slots=True)
class LearnerBench:
    """What was measured. steps: of a turn. moments: that there are to learn from."""

    compared: tuple[Comparison, ...]
    steps: int
    moments: int
    blocks: int

    def as_json(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)


def bench_learner(
    steps: int = 100, blocks: int = 5, moments: int = 20_000, seed: int = 0, compiled: bool = False
) -> LearnerBench:
    """Measure; compiled: also through `torch.compile`, which takes a minute to begin."""
    compared = (
        _critics(steps, blocks, moments, seed, compiled),
        _cloning(steps, blocks, moments, seed, compiled),
    )
    return LearnerBench(compared, steps, moments, blocks)


def _times(step: Callable[[], object], steps: int) -> Side:
    def turn() -> None:
        for _ in range(steps):
            step()

    return turn


def _critics(steps: int, blocks: int, moments: int, seed: int, compiled: bool) -> Comparison:
    buffer, ours = chunks(moments, seed), critics(seed)
    sides = {
        OURS: _times(lambda: ours.step(buffer, MIX), steps),
        "bare": _times(BareCritics(critics(seed), buffer).step, steps),
    }
    if compiled:
        other = BareCritics(critics(seed), buffer)
        other.values = torch.compile(other.values)
        sides["compiled"] = _times(other.step, steps)
    return compare("critics, a step", sides, blocks)


def _cloning(steps: int, blocks: int, moments: int, seed: int, compiled: bool) -> Comparison:
    data, training = moments_to_clone(moments, seed), Training(steps=steps)
    policy = fresh(SPEC, data, seed)
    bare = BareCloning(policy, data, training, seed)
    sides: dict[str, Side] = {
        OURS: lambda: fit(policy, data, training, seed),
        "bare": bare.run,
    }
    if compiled:
        other = BareCloning(policy, data, training, seed)
        other.loss = torch.compile(other.loss)
        sides["compiled"] = other.run
    return compare("cloning, a step", sides, blocks)


def chunks(moments: int, seed: int) -> ChunkBuffer:
    """Moments that never were, in a buffer, the first of them of demonstrations."""
    generator, settings = torch.Generator().manual_seed(seed), BestOfN()
    buffer = ChunkBuffer()
    shown = int(SHOWN * moments)
    for count, demonstration in ((shown, True), (moments - shown, False)):
        row = torch.arange(count)
        buffer.add(
            Chunks(
                torch.randn(count, len(settings.lags), SPEC.observation, generator=generator),
                2 * torch.rand(count, SPEC.execute, SPEC.action, generator=generator) - 1,
                (row + SPEC.execute).clamp(max=count - 1),
                torch.rand(count, generator=generator) * 0.1,
                torch.full((count,), settings.critic.discount**SPEC.execute),
                torch.rand(count, generator=generator),
            ),
            demonstration=demonstration,
        )
    return buffer


def critics(seed: int) -> CriticLearner:
    """Return those of `best_of_n` with its usual settings, before their first step."""
    torch.manual_seed(seed)
    settings = BestOfN()
    spec = ChooserSpec(
        observation=SPEC.observation,
        lags=settings.lags,
        action=SPEC.action,
        chunk=SPEC.execute,
        varied=tuple(range(SPEC.action - 1)),
        width=settings.width,
        critics=settings.critics,
    )
    generator = torch.Generator().manual_seed(seed)
    return CriticLearner(Chooser(spec), CriticSettings(), generator)


class BareCritics:
    """The steps of a `CriticLearner`, over inputs that were made for all moments at once."""

    def __init__(self, learner: CriticLearner, buffer: ChunkBuffer) -> None:
        """Begin where `learner` is, which is not changed."""
        whole, chooser = buffer.whole, learner.chooser
        with torch.no_grad():
            seen = chooser.see(whole.seen)
            self.inputs = torch.cat([seen, chooser.show(seen, whole.actions)], dim=1)
        self.later, self.reward = whole.later, whole.reward
        self.discount, self.followed = whole.discount, whole.followed
        self.shown = int(SHOWN * len(whole))
        self.settings, self.generator = learner.settings, torch.Generator()
        self.generator.set_state(learner.generator.get_state())
        self.critics = copy.deepcopy(chooser.critics)
        self.target = copy.deepcopy(self.critics).requires_grad_(False)
        self.values: Callable[[Tensor], Tensor] = self.critics
        self.weights: list[Tensor] = list(self.critics.parameters())
        self.averages: list[Tensor] = list(self.target.parameters())
        self.optimiser = torch.optim.Adam(self.weights, lr=self.settings.lr, fused=True)

    def step(self) -> None:
        """Take one gradient step."""
        settings, generator = self.settings, self.generator
        of_shown = round(MIX.demonstrations * settings.batch)
        rest = len(self.inputs) - self.shown, settings.batch - of_shown
        rows = torch.cat(
            [
                torch.randint(self.shown, (of_shown,), generator=generator),
                torch.randint(rest[0], (rest[1],), generator=generator) + self.shown,
            ]
        )
        pair = torch.randperm(self.critics.weights[0].shape[0], generator=generator)
        with torch.no_grad():
            after = self.target(self.inputs[self.later[rows]], pair[: settings.pair])
            target = self.reward[rows] + self.discount[rows] * after.min(dim=0).values
            target = torch.lerp(target.clamp(0.0, 1.0), self.followed[rows], MIX.followed)
        values = self.values(self.inputs[rows])
        loss = (values - target).square().mean(dim=1).sum()
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        self.optimiser.step()
        with torch.no_grad():
            torch._foreach_lerp_(self.averages, self.weights, settings.target)


def moments_to_clone(moments: int, seed: int) -> Examples:
    """Moments that never were, to be cloned."""
    generator = torch.Generator().manual_seed(seed)
    rows = torch.randn(moments, SPEC.observation, generator=generator)
    at = torch.arange(moments)[:, None]
    back = torch.arange(SPEC.reach, -1, -SPEC.stride)
    actions = 2 * torch.rand(moments, SPEC.chunk, SPEC.action, generator=generator) - 1
    return Examples(
        rows=rows,
        window=(at - back).clamp(min=0),
        actions=actions,
        valid=torch.rand(moments, SPEC.chunk, generator=generator) < 0.9,
        weight=torch.ones(moments),
        action_mean=actions[:, 0].mean(dim=0),
        action_std=actions[:, 0].std(dim=0),
    )


class BareCloning:
    """What `fit` does with a `ChunkPolicy`, over windows that were made for all moments at once."""

    def __init__(self, policy: ChunkPolicy, data: Examples, training: Training, seed: int) -> None:
        """Learn from `policy` on, which is not changed."""
        self.begin, self.training, self.seed = policy, training, seed
        self.history = data.rows[data.window]
        self.actions, self.weight = data.actions, data.weight
        self.valid = data.valid / data.valid.sum(dim=1, keepdim=True)
        self.loss: Callable[..., Tensor] = _cloning_loss

    def run(self) -> ChunkPolicy:
        """Take all gradient steps, and return the moving average."""
        training, generator = self.training, torch.Generator().manual_seed(self.seed)
        policy = copy.deepcopy(self.begin).train()
        averaged = copy.deepcopy(policy)
        weights: list[Tensor] = list(policy.parameters())
        averages: list[Tensor] = list(averaged.parameters())
        optimiser = torch.optim.AdamW(
            weights, lr=training.lr, weight_decay=training.decay, fused=True
        )
        schedule = warmed_and_annealed(optimiser, training.steps)
        noise_size = training.noise * policy.std
        for at in range(training.steps):
            index = torch.randint(len(self.actions), (training.batch,), generator=generator)
            history = self.history[index]
            noise = torch.randn(history.shape, generator=generator)
            error = self.loss(
                policy, history + noise_size * noise, self.actions[index], self.valid[index]
            )
            optimiser.zero_grad(set_to_none=True)
            (self.weight[index] * error).mean().backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(weights, 1.0)
            optimiser.step()
            schedule.step()
            with torch.no_grad():
                torch._foreach_lerp_(averages, weights, 1.0 - taken_up(training.average, at))
        return averaged.eval()


def _cloning_loss(policy: ChunkPolicy, seen: Tensor, actions: Tensor, valid: Tensor) -> Tensor:
    """The error of each example, (B,), in units of the spread."""
    error = ((policy(seen) - actions) / policy.spread).square().mean(dim=2)
    of_each: Tensor = (error * valid).sum(dim=1)
    return of_each
