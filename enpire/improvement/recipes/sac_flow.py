"""Soft actor-critic through the steps of a flow policy (SAC Flow).

After Zhang et al. 2025 (arXiv 2509.25756), its Flow-G. From noise to actions is a recurrent
network, a step of the flow a step of it; that its velocity is gated (`enpire/policies/flow.py`)
keeps the gradient of the critic bounded all the way back. A deterministic flow has no density that
is cheap to tell, so while it learns each step also draws: the density of the way is the product of
its steps', and its entropy is what the temperature holds. What is returned draws at the start only.

Everything is offline within a round, so the flow is held to what it knows, as the paper's is when
it begins from demonstrations: by flow matching to the better, by the critic, of a chunk that was
carried out and of what the flow did where it began. An action is a chunk of `execute` periods.

An incumbent of another kind is replaced by a flow cloned from demonstrations and help, which learns
once it has acted (`flows.py`).
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import torch
from torch import Tensor

from enpire.improvement.flows import starting_flow
from enpire.improvement.recipe import Candidate, RecipeInputs
from enpire.improvement.replay import Transitions, Uniform, transitions
from enpire.improvement.sac import NORMAL, Actor, SacAgent, SacSettings
from enpire.policies import FlowPolicy


@dataclass(frozen=True, slots=True)
class FlowLearning:
    """Improve a flow policy by soft actor-critic through its steps."""

    # A flow's error says less of how far a chunk is from another than their distance does: at
    # `zip_tie`, cloning with a weight of 5 did not hold it, with 20 it does.
    learning: SacSettings = field(default_factory=lambda: SacSettings(deviation=0.1, cloning=20.0))

    def improve(self, given: RecipeInputs) -> Candidate:
        """See `Recipe.improve`."""
        started, learning = time.monotonic(), self.learning
        flow = starting_flow(given)
        if isinstance(flow, Candidate):
            return flow
        episodes = [episode for episode in given.episodes if len(episode)]
        torch.manual_seed(given.seed)
        generator = torch.Generator().manual_seed(given.seed)
        replay = Uniform(transitions(episodes, flow.spec, learning.discount))
        agent = FlowAgent(flow, replay.data, learning, generator)

        def batch() -> Transitions:
            return replay.sample(learning.batch, generator)

        loss = agent.learn_from("sac_flow", batch, given.checkpoint)
        numbers = {
            "episodes": len(episodes),
            "loss": loss,
            "seconds": time.monotonic() - started,
        }
        return Candidate(agent.policy, numbers)


class FlowActor(Actor):
    """A flow that draws at every step, log_std (noise,): by how much, in units of the flow."""

    policy: FlowPolicy

    def draw(self, history: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
        """Chunks (batch, chunk, act) twice, and the mean log-density (batch,) of their steps."""
        policy, steps = self.policy, self.policy.spec.steps
        seen, deviation = policy.see(history), self.log_std.exp()
        shape = (len(history), policy.noise_size)
        x = policy.chosen(seen, torch.randn(shape, generator=generator).to(seen))
        density = seen.new_zeros(len(history))
        for step in range(steps):
            noise = torch.randn(shape, generator=generator).to(x)
            time = x.new_full((len(x), 1), step / steps)
            x = x + policy.velocity(seen, x, time) / steps + deviation * noise
            density = density - (0.5 * noise.square() + self.log_std + NORMAL - 0.5).sum(dim=1)
        actions = policy.actions(x, history).clamp(-1.0, 1.0)
        return actions, actions, density / steps


class FlowAgent(SacAgent[FlowPolicy]):
    """An agent whose actor flows."""

    actor: FlowActor

    def acting(self, policy: FlowPolicy) -> FlowActor:
        """See `SacAgent.acting`."""
        return FlowActor(policy.train(), self.learning.deviation, policy.noise_size)

    def first(self, history: Tensor) -> Tensor:
        """See `SacAgent.first`."""
        shape = (len(history), self.begun.noise_size)
        drawn = torch.randn(shape, generator=self.generator).to(history)
        actions: Tensor = self.begun(history, drawn)
        return actions

    def actor_loss(self, batch: Transitions, cloned: Tensor) -> tuple[Tensor, Tensor]:
        """See `SacAgent.actor_loss`; past the periods carried out, the flow's own chunks go on."""
        _, actions, density = self.actor.draw(batch.history, self.generator)
        own = self.own(batch.history)
        sure = self.surely_more(batch.history, actions[:, : self.execute], own)
        whole = torch.cat([cloned, actions[:, self.execute :].detach()], dim=1)
        error = self.flow_error(batch.history, whole)
        heat = self.temperature["log"].exp().detach()
        return (heat * density - sure + self.learning.cloning * error).mean(), density

    def flow_error(self, history: Tensor, chunks: Tensor) -> Tensor:
        """Flow matching's error (batch,) over the periods that are carried out."""
        error = self.actor.policy.cloning_error(history, chunks, self.generator)
        return error[:, : self.execute].mean(dim=(1, 2))


RECIPE = FlowLearning
