"""Reinforcement learning in the noise of a flow policy, which stays as it is (DSRL).

After Wagenmaker et al. 2025 (arXiv 2506.15799), noise-aliased (DSRL-NA). A flow makes each noise a
chunk that it has learned; to choose the noise is to choose among these, so what is learned stays
within what was shown. What learns is in `noise.py`. It begins as about the flow itself, and what it
draws it draws when it acts, too.

An action is a chunk of `execute` periods. A policy of LeRobot's that diffuses or flows is steered
from beside it: what comes of it is both, a policy of kind `steered`. It is asked for a fixed number
of chunks only, before anything is learned. An incumbent of any other kind is replaced by a flow
cloned from all successes, which is then steered; one that is steered already goes on from its own
steering.
"""

from __future__ import annotations

import copy
import time
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor, nn

from enpire.errors import RecipeError
from enpire.improvement.asking import answers, base_of, standing
from enpire.improvement.data import MIN_STD
from enpire.improvement.flows import begun as flowing
from enpire.improvement.noise import SteeredFlowAgent, Tried, TriedAgent
from enpire.improvement.recipe import Candidate, Given
from enpire.improvement.replay import Transitions, Uniform, transitions
from enpire.improvement.sac import Learning
from enpire.improvement.trainer import Training
from enpire.policies import (
    Asked,
    FlowPolicy,
    LeRobotPolicy,
    Policy,
    SteeredPolicy,
    Steering,
    SteeringSpec,
)
from enpire.policies.flow import DEVIATION
from enpire.policies.steered import spread_out

STEERING = (128, 128)  # widths of the hidden layers of the network that chooses noise


@dataclass(frozen=True, slots=True)
class NoiseLearning:
    """Steer a flow policy by soft actor-critic in its noise; `learning.cloning` is not used."""

    cloning: Training = field(default_factory=lambda: Training(steps=2500))  # of a flow, if needed
    learning: Learning = field(default_factory=lambda: Learning(deviation=DEVIATION))
    trials: int = 4096  # chunks that a policy of LeRobot's is asked for, to learn from
    chosen: int = 8  # first steps of its chunk whose noise is chosen; the last stands for the rest

    def improve(self, given: Given) -> Candidate:
        """See `Recipe.improve`."""
        if isinstance(base_of(given.incumbent), LeRobotPolicy):
            return self._beside(given)
        return self._within(given)

    def _within(self, given: Given) -> Candidate:
        """Steer a flow of ours by a network within it."""
        started, learning = time.monotonic(), self.learning
        flow = flowing(given, self.cloning)
        torch.manual_seed(given.seed)
        generator = torch.Generator().manual_seed(given.seed)
        episodes = [episode for episode in given.episodes if len(episode)]
        replay = Uniform(transitions(episodes, flow.spec, learning.discount))
        agent = SteeredFlowAgent(steered(flow), replay.data, learning, generator)

        def step(at: int) -> Tensor:
            return agent.learn_both(replay.sample(learning.batch, generator), at)[0]

        loss = agent.learn("dsrl", learning.steps, step, given.checkpoint)
        numbers = {
            "episodes": len(episodes),
            "loss": loss,
            "seconds": time.monotonic() - started,
        }
        return Candidate(agent.policy, numbers)

    def _beside(self, given: Given) -> Candidate:
        """Steer a policy of LeRobot's by a network beside it."""
        started, learning = time.monotonic(), self.learning
        base = standing("dsrl", given, {LeRobotPolicy.kind: LeRobotPolicy})
        asked = base.asked(given.instruction)
        if asked.noise is None:
            raise RecipeError(
                "dsrl chooses the noise that chunks are made of, and the policy makes them of none "
                "(or LeRobot does not let it be given): residual_rl adds to any policy"
            )
        torch.manual_seed(given.seed)
        generator = torch.Generator().manual_seed(given.seed)
        episodes = [episode for episode in given.episodes if len(episode)]
        data = transitions(episodes, asked.spec, learning.discount)
        begun = self._steering(given.incumbent, asked, data)
        trials = self._trials(asked, begun, data, given)
        agent = TriedAgent(begun, data, trials, learning, generator)
        replay = Uniform(data)

        def step(at: int) -> Tensor:
            return agent.learn_both(replay.sample(learning.batch, generator), at)[0]

        loss = agent.learn("dsrl", learning.steps, step, given.checkpoint)
        numbers = {
            "episodes": len(episodes),
            "trials": len(trials.noise),
            "loss": loss,
            "seconds": time.monotonic() - started,
        }
        return Candidate(SteeredPolicy(base, agent.policy), numbers)

    def _steering(self, incumbent: Policy | None, asked: Asked, data: Transitions) -> Steering:
        """The incumbent's own, to go on from; else one that leaves the noise as it is."""
        if isinstance(incumbent, SteeredPolicy):
            return copy.deepcopy(incumbent.head)
        of, (steps, width) = asked.spec, asked.noise or (0, 0)
        chosen = min(self.chosen, steps)
        made = Steering(
            SteeringSpec(of.observation, of.action, of.history, of.execute, chosen, width)
        )
        rows = data.history[:, -1]
        made.mean.copy_(rows.mean(dim=0))
        made.std.copy_(rows.std(dim=0).clamp_min(MIN_STD))
        made.spread.copy_(asked.spread)
        return made

    def _trials(self, asked: Asked, steering: Steering, data: Transitions, given: Given) -> Tried:
        """What the base makes of noise at moments that were visited, both drawn anew each round."""
        if asked.noise is None:
            raise RecipeError("a policy without noise has no trials")
        generator = torch.Generator().manual_seed(given.seed)
        at = torch.randint(len(data), (self.trials,), generator=generator)
        noise = torch.randn(self.trials, steering.noise_size, generator=generator)
        history = data.history[at]
        whole = spread_out(noise.numpy(), asked.noise, steering.shape.width)
        chunks = answers(asked, history.numpy(), given.seed, given.checkpoint, "trials", whole)
        return Tried(history, noise, chunks[:, : asked.spec.execute].clamp(-1.0, 1.0))


def steered(flow: FlowPolicy) -> FlowPolicy:
    """The same flow, frozen, with a network that steers its noise, at first nowhere."""
    made = FlowPolicy(replace(flow.spec, steering=flow.spec.steering or STEERING))
    if not flow.spec.steering:
        nn.init.zeros_(made.get_parameter(f"steer.{3 * len(STEERING)}.weight"))
        nn.init.zeros_(made.get_parameter(f"steer.{3 * len(STEERING)}.bias"))
    made.load_state_dict({**made.state_dict(), **flow.state_dict()})
    made.net.requires_grad_(False)
    return made


RECIPE = NoiseLearning
