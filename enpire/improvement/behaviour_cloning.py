"""Cloning: how the recipes make a policy of weighted examples."""

from __future__ import annotations

import copy
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import torch
from torch import Tensor, nn

from enpire.environment import Symmetry
from enpire.errors import RecipeError
from enpire.improvement.augment import relit, shifted
from enpire.improvement.checkpoint import NOWHERE, Checkpoint
from enpire.improvement.data import MIN_STD, Examples, examples, instructive, seen_examples
from enpire.improvement.displacement import displaced
from enpire.improvement.learner import Learner, average, taken_up, warmed_and_annealed
from enpire.improvement.recipe import RecipeInputs
from enpire.improvement.scene_symmetry import led_further, moved, scales
from enpire.policies import (
    ChunkPolicy,
    ChunkSpec,
    FlowPolicy,
    FlowSpec,
    PicturePolicy,
    PictureSpec,
    StateEstimator,
)
from enpire.policies.device import device, mixed
from enpire.policies.levels import levels_shown
from enpire.types import Episode, Flags

Kind = Literal["chunk", "flow"]
"""What a recipe that clones makes: a `ChunkPolicy` or a `FlowPolicy`."""

# Of flows, by what came of it at `push_t`, and of few demonstrations, of which they are soon too
# sure, at `zip_tie` (`docs/explanation/learning.md`).
WIDER = 2  # times as wide as what answers with one chunk
PASSES = 64.0  # over all examples: each comes with another noise and time every time it is shown
MOVED_PASSES = 192.0  # where each comes from another place every time, too
FACE_PASSES = 576.0  # where some stand before a face as well, which few examples do each time
LEAST_STEPS, MOST_STEPS = 300, 12_000  # for that, where examples are few, and where they are many
CALM = 0.5  # deviation of the noise that they act with


@dataclass(frozen=True, slots=True)
class Training:
    """Settings of the optimiser."""

    steps: int = 0  # gradient steps; 0: as many as are usual for what is made
    batch: int = 256  # examples a step
    lr: float = 1e-3  # peak learning rate, warmed up and then cosine annealed
    decay: float = 1e-2  # AdamW's weight decay
    average: float = 0.998  # decay of the weights' moving average, which is what is returned
    noise: float = 0.05  # standard deviation added to normalised observations
    shift: int = 0  # of pictures, up to so many pixels along both axes, drawn in each step
    relight: float = 0.0  # of pictures, share of brightness and contrast, up or down
    late: int = 0  # control periods that chunks may come late: a flow learns to bridge them


@dataclass(frozen=True, slots=True)
class Fit[P: ChunkPolicy | FlowPolicy | PicturePolicy | StateEstimator]:
    """A trained policy and how training went."""

    policy: P
    loss: float
    seconds: float
    steps: int

    def numbers(self, episodes: int) -> dict[str, float]:
        """What a candidate that was learned from so many episodes shows of it."""
        return {
            "episodes": episodes,
            "steps": self.steps,
            "loss": self.loss,
            "seconds": self.seconds,
        }


def fresh(spec: ChunkSpec, data: Examples, seed: int) -> ChunkPolicy:
    """A policy that knows nothing yet, with the data's normalisation."""
    torch.manual_seed(seed)
    return _normalising(ChunkPolicy(spec), data)


def fresh_flow(spec: FlowSpec, data: Examples, seed: int) -> FlowPolicy:
    """A policy that has not learned to flow yet, with the data's normalisation."""
    torch.manual_seed(seed)
    return _normalising(FlowPolicy(spec), data)


def clone(
    given: RecipeInputs,
    chosen: Sequence[Episode],
    kind: Kind,
    training: Training,
    usual: int,
    weight: Tensor | None = None,
) -> Fit[ChunkPolicy] | Fit[FlowPolicy] | Fit[PicturePolicy]:
    """A new policy that does as in what is `instructive` of the `chosen` episodes; see `fit`.

    Where policies see by cameras it is one that does. usual: gradient steps of what does not flow
    (`clone_flow`), where `training` does not say how many. weight: of all their periods end to end,
    (N,), where it is this that tells what each is worth.
    """
    said = replace(training, steps=training.steps or usual)
    if isinstance(given.spec, PictureSpec):
        seeing = shown_levels(given, given.spec, chosen)
        return clone_picture(given, seeing, seen_examples(chosen, seeing, weight), said)
    if training.shift or training.relight:
        raise RecipeError("shift and relight are of pictures, which nobody takes here: --images 64")
    if kind == "flow":
        return clone_flow(given, chosen, training, weight)
    if training.late:
        raise RecipeError("a chunk that may come late has to flow: --recipe.policy flow")
    spec = shown_levels(given, given.spec, chosen)
    data = _taught(given, spec, chosen, weight)
    return fit(fresh(spec, data, given.seed), data, said, given.seed, given.checkpoint)


def clone_flow(
    given: RecipeInputs,
    chosen: Sequence[Episode],
    training: Training,
    weight: Tensor | None = None,
    stage: str = "policy",
) -> Fit[FlowPolicy]:
    """The same, and one that flows; chunks that may come late are longer by that.

    It is wider, for what it has to tell apart is more than one chunk. Where `training` does not say
    for how long, it learns for `PASSES` over its examples, or for more where they vary (`_passes`).
    """
    spec, late = FlowSpec.of(given.spec), training.late
    spec = replace(
        spec,
        hidden=tuple(WIDER * width for width in spec.hidden),
        chunk=spec.chunk + late,
        pending=late,
        deviation=CALM,
        heading=None if given.symmetry is None else given.symmetry.heading,
        relative=given.relative,
    )
    spec = shown_levels(given, spec, chosen)
    data = _taught(given, spec, chosen, weight)
    flow = fresh_flow(spec, data, given.seed)
    wanted = int(_passes(data.symmetry) * len(data) / training.batch)
    usual = min(max(wanted, LEAST_STEPS), MOST_STEPS)
    training = replace(training, steps=training.steps or usual)
    return fit(flow, data, training, given.seed, given.checkpoint, stage)


def _passes(symmetry: Symmetry | None) -> float:
    """How often a flow is shown each example: the more ways it may look, the more often."""
    if symmetry is None:
        return PASSES
    before_face = symmetry.displaced is not None and symmetry.displaced.face is not None
    return FACE_PASSES if before_face else MOVED_PASSES


def clone_picture(
    given: RecipeInputs, spec: PictureSpec, data: Examples, training: Training
) -> Fit[PicturePolicy]:
    """The same, and one that sees by cameras, from its examples.

    A look costs as much as many rows of numbers, and is learned from `DRAWS` times: a step has an
    eighth of the examples, and there are three times as many steps. Where things are in a picture
    does not depend on who acts, so the encoders go on from the incumbent's.
    """
    training = replace(training, steps=3 * training.steps, batch=max(training.batch // 8, 1))
    torch.manual_seed(given.seed)
    policy = _normalising(PicturePolicy(spec), data)
    before = given.incumbent
    if isinstance(before, PicturePolicy) and replace(before.spec, levels=spec.levels) == spec:
        policy.encoders.load_state_dict(before.encoders.state_dict())
    return fit(policy, data, training, given.seed, given.checkpoint)


def shown_levels[S: ChunkSpec](given: RecipeInputs, spec: S, chosen: Sequence[Episode]) -> S:
    """The shape of a policy whose grippers do what they were shown to do, where that is little."""
    shown = [episode.actions for episode in chosen if episode.actions.shape[1:] == (spec.action,)]
    levels = levels_shown(np.concatenate(shown), given.grippers) if shown else ()
    return replace(spec, levels=levels)


def _taught(
    given: RecipeInputs, spec: ChunkSpec, chosen: Sequence[Episode], weight: Tensor | None
) -> Examples:
    data = replace(examples(chosen, spec), symmetry=given.symmetry)
    if weight is not None:
        return replace(data, weight=weight)
    return data.only(np.concatenate(worth_cloning(given, chosen)))


def worth_cloning(given: RecipeInputs, chosen: Sequence[Episode]) -> list[Flags]:
    """Return which rows of each episode are cloned, (T,): see `instructive`."""
    idle = None if given.symmetry is None else given.symmetry.idle
    return [instructive(episode, idle, given.spec.execute) for episode in chosen]


def _normalising[P: ChunkPolicy | FlowPolicy | PicturePolicy](policy: P, data: Examples) -> P:
    if isinstance(policy, FlowPolicy):
        of = scales(data, policy.spec.heading, policy.spec.relative)
    else:
        of = scales(data)
    policy.mean.copy_(of.mean)
    policy.std.copy_(of.std.clamp_min(MIN_STD))
    policy.centre.copy_(of.action_mean)
    policy.spread.copy_(of.action_std.clamp_min(MIN_STD))
    return policy


def _augmented(pictures: Tensor, training: Training, generator: torch.Generator) -> Tensor:
    if training.shift:
        pictures = shifted(pictures, training.shift, generator)
    if training.relight:
        pictures = relit(pictures, training.relight, generator)
    return pictures


def fit[P: ChunkPolicy | FlowPolicy | PicturePolicy | StateEstimator](
    policy: P,
    data: Examples,
    training: Training,
    seed: int,
    checkpoint: Checkpoint = NOWHERE,
    stage: str = "policy",
) -> Fit[P]:
    """Minimise the weighted error of action chunks, as the policy's kind counts it.

    Args:
        policy: where to start, `fresh` or trained; it is not changed.
        data: the examples; rows are drawn with replacement.
        training: the optimiser's settings.
        seed: of the draws, so that a run repeats on one machine.
        checkpoint: what was done before is taken from there, under the name `stage`.

    Raises:
        RecipeError: the loss or a weight is no longer a number, or no steps are asked for.
    """
    if training.steps < 1:
        raise RecipeError(f"training.steps is {training.steps}: nothing says what is usual here")
    started = time.monotonic()
    generator, where = torch.Generator().manual_seed(seed), device()
    policy = copy.deepcopy(policy)
    policy.to(where).train()
    averaged = copy.deepcopy(policy)
    optimiser = torch.optim.AdamW(
        policy.parameters(), lr=training.lr, weight_decay=training.decay, fused=True
    )
    schedule = warmed_and_annealed(optimiser, training.steps)

    def step(at: int) -> Tensor:
        index = torch.randint(len(data), (training.batch,), generator=generator)
        batch = data.batch(index).to(where)
        history, actions = batch.history, batch.actions
        if data.symmetry is not None:
            history, actions = moved(data.symmetry, history, actions, generator)
            history, actions = led_further(data.symmetry, history, actions, generator)
            history, actions = displaced(data.symmetry, history, actions, generator)
        noise = torch.randn(history.shape, generator=generator).to(where)
        seen = history + training.noise * policy.std * noise
        pictures = batch.pictures
        if pictures is not None:
            pictures = _augmented(pictures, training, generator)
        with mixed(where):
            error = policy.cloning_error(seen, actions, generator, pictures)
        square = error.mean(dim=2) * batch.valid
        per_example = square.sum(dim=1) / batch.valid.sum(dim=1)
        loss: Tensor = (batch.weight * per_example).mean()
        optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
        optimiser.step()
        schedule.step()
        average(averaged, policy, taken_up(training.average, at))
        return loss

    modules = {"policy": policy, "averaged": averaged}
    learner = Learner(modules, {"policy": optimiser}, generator, {"policy": schedule})
    loss = learner.run(stage, training.steps, step, checkpoint)
    averaged.cpu().eval()
    return Fit(averaged, loss, time.monotonic() - started, training.steps)
