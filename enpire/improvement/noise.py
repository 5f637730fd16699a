"""Soft actor-critic in the noise of a policy that diffuses or flows (DSRL), noise-aliased.

After Wagenmaker et al. 2025 (arXiv 2506.15799). Nobody knows the noise of an episode that another
policy ran, or a person. Hence two critics: one of real chunks, learned from all episodes, and one
of noise, which the first teaches by what the policy makes of it. The actor climbs the second, with
no gradient through the policy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits as cross_entropy
from torch.nn.functional import softplus

from enpire.improvement.replay import Transitions
from enpire.improvement.sac import NORMAL, Actor, SacAgent, SacSettings, random_minimum
from enpire.improvement.value import SuccessEnsemble, lower_confidence_bound
from enpire.policies import FlowPolicy, NoiseSteering
from enpire.policies.flow import DEVIATION
from enpire.policies.kernels import NOISE_LIMIT

Noisy = FlowPolicy | NoiseSteering  # what chooses noise


class NoiseActor(Actor):
    """Draws the noise of a steered policy, and tells its density."""

    policy: Noisy

    def __init__(self, policy: Noisy) -> None:
        super().__init__(policy, DEVIATION, policy.noise_size)
        self.log_std = policy.log_std  # which it acts with

    def noise(self, history: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Noise (batch, noise), and its log-density (batch,) in units of `NOISE_LIMIT`."""
        mean = self.policy.steer(self.policy.see(history))
        drawn = torch.randn(mean.shape, generator=generator).to(mean)
        before = mean + self.log_std.exp() * drawn
        normal = -(0.5 * drawn.square() + self.log_std + NORMAL - 0.5)
        return NOISE_LIMIT * torch.tanh(before), (normal - squashed(before)).sum(dim=1)


def squashed(before: Tensor) -> Tensor:
    """Logarithm of the slope of tanh."""
    return 2.0 * (math.log(2.0) - before - softplus(-2.0 * before))


class NoiseAgent[P: Noisy](SacAgent[P]):
    """An agent whose actor chooses noise, with a critic of noise beside that of chunks."""

    actor: NoiseActor

    def __init__(
        self,
        begun: P,
        data: Transitions,
        learning: SacSettings,
        generator: torch.Generator,
        usual: float = 1.0,
    ) -> None:
        """begun: a policy that chooses its noise; usual: deviation of what nobody chooses."""
        super().__init__(begun, data, learning, generator)
        self.usual = usual
        spec = begun.spec
        inputs = spec.history * spec.observation + begun.noise_size
        self.noise_critic = SuccessEnsemble(inputs, learning.width, learning.members).to(self.where)
        self.add("noise_critic", self.noise_critic, learning.steps // learning.delay)

    def acting(self, policy: P) -> NoiseActor:
        """See `SacAgent.acting`."""
        return NoiseActor(policy.train())

    def aliased(self, batch: Transitions) -> tuple[Tensor, Tensor, Tensor]:
        """Moments (b, history, obs), noise (b, noise), and the chunks (b, execute, act) of both."""
        raise NotImplementedError

    def wanted(self) -> float:
        """See `SacAgent.wanted`: that of noise about nowhere."""
        deviation = self.learning.deviation
        at, weight = np.polynomial.hermite_e.hermegauss(32)
        lost = squashed(torch.from_numpy(deviation * at)).numpy() @ weight / weight.sum()
        return self.begun.noise_size * (NORMAL + math.log(deviation) + float(lost))

    def noise_odds(self, history: Tensor, noise: Tensor) -> Tensor:
        """Log-odds (members, batch) of the return."""
        odds: Tensor = self.noise_critic(
            torch.cat([self.critic.seen(history).flatten(1), noise], dim=1)
        )
        return odds

    def learn_noise_critic(self, batch: Transitions) -> None:
        """One step towards what the critic says of the chunks that noise becomes.

        Each of its networks learns from one of the critic's: where these do not agree, nor do they.
        """
        history, noise, actions = self.aliased(batch)
        with torch.no_grad():
            taught = torch.sigmoid(self.critic(history, actions))
        loss = cross_entropy(self.noise_odds(history, noise), taught, reduction="none")
        self._step("noise_critic", loss.mean(dim=1).sum())

    def tried(self, batch: Transitions) -> Tensor:
        """See `SacAgent.tried`; nothing is cloned, the flow holds the actor to what was shown."""
        return batch.actions

    def learn_both(self, batch: Transitions, at: int) -> Tensor:
        """See `SacAgent.learn_both`; the critic of noise learns while the actor stands still, too.

        What the actor climbs first, and what `TriedAgent` takes for the value of where an episode
        goes on, is then no network that knows nothing.
        """
        batch = batch.to(self.where)
        loss = super().learn_both(batch, at)
        if self.warming_up(at) and at % self.learning.delay == 0:
            self.learn_noise_critic(batch)
        return loss

    def learn_actor(self, batch: Transitions, cloned: Tensor, at: int) -> None:
        """See `SacAgent.learn_actor`; what it climbs is taught first."""
        self.learn_noise_critic(batch)
        super().learn_actor(batch, cloned, at)

    def actor_loss(self, batch: Transitions, cloned: Tensor) -> tuple[Tensor, Tensor]:
        """See `SacAgent.actor_loss`; noise has to be better than noise that nobody chose."""
        noise, density = self.actor.noise(batch.history, self.generator)
        with torch.no_grad():
            drawn = torch.randn(noise.shape, generator=self.generator).to(noise)
            before = self.noise_odds(batch.history, self.usual * drawn)
        sure = lower_confidence_bound(
            self.noise_odds(batch.history, noise) - before, self.learning.caution
        )
        heat = self.temperature["log"].exp().detach()
        return (heat * density - sure).mean(), density


class SteeredFlowActor(NoiseActor):
    """One that is quick enough to be asked for chunks in every step."""

    policy: FlowPolicy

    def draw(self, history: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
        """Chunks (batch, chunk, act) twice, and the log-density (batch,) of their noise."""
        noise, density = self.noise(history, generator)
        actions = self.made(history, noise)
        return actions, actions, density

    def made(self, history: Tensor, noise: Tensor) -> Tensor:
        """What the flow makes of noise (batch, noise), (batch, chunk, act)."""
        flow = self.policy
        return flow.actions(flow.carry(flow.see(history), noise), history).clamp(-1.0, 1.0)


class SteeredFlowAgent(NoiseAgent[FlowPolicy]):
    """Learns with a flow that is asked in every step.

    Half of the noise is drawn as the flow expects it, as in the paper; the other half is the
    actor's, for that is where it is climbed.
    """

    actor: SteeredFlowActor

    def acting(self, policy: FlowPolicy) -> SteeredFlowActor:
        """See `SacAgent.acting`."""
        return SteeredFlowActor(policy.train())

    def aliased(self, batch: Transitions) -> tuple[Tensor, Tensor, Tensor]:
        """See `NoiseAgent.aliased`."""
        half = len(batch) // 2
        with torch.no_grad():
            shape = (len(batch), self.begun.noise_size)
            noise = torch.randn(shape, generator=self.generator).to(self.where)
            noise[:half], _ = self.actor.noise(batch.history[:half], self.generator)
            return batch.history, noise, self.actor.made(batch.history, noise)[:, : self.execute]


@dataclass(frozen=True, slots=True)
class NoiseTrials:
    """What a policy made of noise, beforehand: M trials."""

    history: Tensor  # moments, (M, history, obs)
    noise: Tensor  # (M, noise)
    actions: Tensor  # (M, execute, act)


class TriedAgent(NoiseAgent[NoiseSteering]):
    """Learns from what a large policy made of noise, which is too slow to be asked in every step.

    As in the paper that noise is drawn as the policy expects it. Where an episode goes on is worth
    what the critic of noise says of the actor's.
    """

    def __init__(
        self,
        begun: NoiseSteering,
        data: Transitions,
        trials: NoiseTrials,
        learning: SacSettings,
        generator: torch.Generator,
    ) -> None:
        """trials: what the base made of noise."""
        super().__init__(begun, data, learning, generator)
        self._trials = trials

    def aliased(self, batch: Transitions) -> tuple[Tensor, Tensor, Tensor]:
        """See `NoiseAgent.aliased`."""
        known = self._trials
        index = torch.randint(len(known.noise), (len(batch),), generator=self.generator)
        some = known.history[index], known.noise[index], known.actions[index]
        history, noise, actions = (each.to(self.where) for each in some)
        return history, noise, actions

    def target_of(self, batch: Transitions) -> Tensor:
        """See `SacAgent.target_of`."""
        with torch.no_grad():
            noise, _ = self.actor.noise(batch.later, self.generator)
            odds = self.noise_odds(batch.later, noise)
            value = random_minimum(torch.sigmoid(odds), self.learning.least_of, self.generator)
        worth: Tensor = batch.reward + batch.discount * value
        return worth
