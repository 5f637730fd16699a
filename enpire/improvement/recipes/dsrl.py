"""Reinforcement learning in the noise of a flow policy, which stays as it is (DSRL).

After Wagenmaker et al. 2025 (arXiv 2506.15799), noise-aliased (DSRL-NA). A flow makes each noise a
chunk that it has learned; to choose the noise is to choose among these, so what is learned stays
within what was shown. Nobody knows the noise of an episode that another policy ran, or a person.
Hence two critics: one of real chunks, learned from all episodes, and one of noise, which the first
teaches by what the flow makes of it. The actor climbs the second, with no gradient through the
flow. It begins as about the flow itself, and what it draws it draws when it acts, too.

Half of the noise that critic is taught on is drawn as the flow expects it, as in the paper; the
other half is the actor's, for that is where it is climbed. An action is a chunk of `execute`
periods. An incumbent of another kind is replaced by a flow cloned from all successes, which is then
steered; one that is steered already goes on from its own steering.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits as cross_entropy
from torch.nn.functional import softplus

from enpire.improvement.flows import begun
from enpire.improvement.recipe import Candidate, Given
from enpire.improvement.replay import Transitions, Uniform, transitions
from enpire.improvement.sac import NORMAL, Actor, Agent, Learning
from enpire.improvement.trainer import Training
from enpire.improvement.value import Ensemble
from enpire.policies import FlowPolicy
from enpire.policies.flow import DEVIATION, NOISE_LIMIT

STEERING = (128, 128)  # widths of the hidden layers of the network that chooses noise


@dataclass(frozen=True, slots=True)
class NoiseLearning:
    """Steer a flow policy by soft actor-critic in its noise; `learning.cloning` is not used."""

    cloning: Training = field(default_factory=lambda: Training(steps=2500))  # of a flow, if needed
    learning: Learning = field(default_factory=lambda: Learning(deviation=DEVIATION))

    def improve(self, given: Given) -> Candidate:
        """See `Recipe.improve`."""
        started, learning = time.monotonic(), self.learning
        flow = begun(given, self.cloning)
        torch.manual_seed(given.seed)
        generator = torch.Generator().manual_seed(given.seed)
        episodes = [episode for episode in given.episodes if len(episode)]
        replay = Uniform(transitions(episodes, flow.spec, learning.discount))
        agent = NoiseAgent(steered(flow), replay.data, learning, generator)

        def step(at: int) -> Tensor:
            return agent.learn_both(replay.sample(learning.batch, generator), at)[0]

        loss = agent.learn("dsrl", learning.steps, step, given.checkpoint)
        numbers = {
            "episodes": len(episodes),
            "loss": loss,
            "seconds": time.monotonic() - started,
        }
        return Candidate(agent.policy, numbers)


def steered(flow: FlowPolicy) -> FlowPolicy:
    """The same flow, frozen, with a network that steers its noise, at first nowhere."""
    made = FlowPolicy(replace(flow.spec, steering=flow.spec.steering or STEERING))
    if not flow.spec.steering:
        nn.init.zeros_(made.get_parameter(f"steer.{3 * len(STEERING)}.weight"))
        nn.init.zeros_(made.get_parameter(f"steer.{3 * len(STEERING)}.bias"))
    made.load_state_dict({**made.state_dict(), **flow.state_dict()})
    made.net.requires_grad_(False)
    return made


class NoiseActor(Actor):
    """Draws the noise of a steered flow, and tells its density."""

    policy: FlowPolicy

    def __init__(self, policy: FlowPolicy) -> None:
        super().__init__(policy, DEVIATION, policy.noise_size)
        self.log_std = policy.log_std  # which it acts with

    def noise(self, history: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Noise (batch, noise), and its log-density (batch,) in units of `NOISE_LIMIT`."""
        mean = self.policy.steer(self.policy.see(history))
        drawn = torch.randn(mean.shape, generator=generator)
        before = mean + self.log_std.exp() * drawn
        normal = -(0.5 * drawn.square() + self.log_std + NORMAL - 0.5)
        return NOISE_LIMIT * torch.tanh(before), (normal - squashed(before)).sum(dim=1)

    def draw(self, history: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
        """Chunks (batch, chunk, act) twice, and the log-density (batch,) of their noise."""
        noise, density = self.noise(history, generator)
        actions = self.made(history, noise)
        return actions, actions, density

    def made(self, history: Tensor, noise: Tensor) -> Tensor:
        """What the flow makes of noise (batch, noise), (batch, chunk, act)."""
        flow = self.policy
        return flow.actions(flow.carry(flow.see(history), noise)).clamp(-1.0, 1.0)


def squashed(before: Tensor) -> Tensor:
    """Logarithm of the slope of tanh."""
    return 2.0 * (math.log(2.0) - before - softplus(-2.0 * before))


class NoiseAgent(Agent[FlowPolicy]):
    """An agent whose actor chooses noise, with a critic of noise beside that of chunks."""

    actor: NoiseActor

    def __init__(
        self,
        begun: FlowPolicy,
        data: Transitions,
        learning: Learning,
        generator: torch.Generator,
    ) -> None:
        """begun: a flow that is `steered`."""
        super().__init__(begun, data, learning, generator)
        spec = begun.spec
        inputs = spec.history * spec.observation + begun.noise_size
        self.noise_critic = Ensemble(inputs, learning.width, learning.members)
        self.add("noise_critic", self.noise_critic, learning.steps // learning.delay)

    def acting(self, policy: FlowPolicy) -> NoiseActor:
        """See `Agent.acting`."""
        return NoiseActor(policy.train())

    def wanted(self) -> float:
        """See `Agent.wanted`: that of noise about nowhere."""
        deviation = self.learning.deviation
        at, weight = np.polynomial.hermite_e.hermegauss(32)
        lost = squashed(torch.from_numpy(deviation * at)).numpy() @ weight / weight.sum()
        return self.begun.noise_size * (NORMAL + math.log(deviation) + float(lost))

    def noise_odds(self, history: Tensor, noise: Tensor) -> Tensor:
        """Log-odds (members, batch) of where in the bounds a return is."""
        odds: Tensor = self.noise_critic(
            torch.cat([self.critic.seen(history).flatten(1), noise], dim=1)
        )
        return odds

    def learn_noise_critic(self, batch: Transitions) -> None:
        """One step towards what the critic says of the chunks that noise becomes.

        Each of its networks learns from one of the critic's: where these do not agree, nor do they.
        """
        half = len(batch) // 2
        with torch.no_grad():
            shape = (len(batch), self.begun.noise_size)
            noise = torch.randn(shape, generator=self.generator)
            noise[:half], _ = self.actor.noise(batch.history[:half], self.generator)
            actions = self.actor.made(batch.history, noise)[:, : self.execute]
            taught = torch.sigmoid(self.critic(batch.history, actions))
        loss = cross_entropy(self.noise_odds(batch.history, noise), taught, reduction="none")
        self._step("noise_critic", loss.mean(dim=1).sum())

    def tried(self, batch: Transitions) -> Tensor:
        """See `Agent.tried`; nothing is cloned, the flow holds the actor to what was shown."""
        return batch.actions

    def learn_actor(self, batch: Transitions, cloned: Tensor, at: int) -> None:
        """See `Agent.learn_actor`; what it climbs is taught first."""
        self.learn_noise_critic(batch)
        super().learn_actor(batch, cloned, at)

    def actor_loss(self, batch: Transitions, cloned: Tensor) -> tuple[Tensor, Tensor]:
        """See `Agent.actor_loss`."""
        noise, density = self.actor.noise(batch.history, self.generator)
        odds = self.noise_odds(batch.history, noise)
        sure = odds.mean(dim=0) - self.learning.caution * odds.std(dim=0)
        heat = self.temperature["log"].exp().detach()
        return (heat * density - sure).mean(), density


RECIPE = NoiseLearning
