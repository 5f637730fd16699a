"""Reinforcement learning in the noise of a flow policy, which stays as it is (DSRL).

After Wagenmaker et al. 2025 (arXiv 2506.15799), noise-aliased (DSRL-NA). A flow makes each noise a
chunk that it has learned; to choose the noise is to choose among these, so what is learned stays
within what was shown. What learns is in `noise.py`. It begins as about the flow itself, and what it
draws it draws when it acts, too.

An action is a chunk of `execute` periods. A policy of LeRobot's that diffuses or flows is steered
from beside it, and so is one that sees by cameras: what comes of it is both, a policy of kind
`steered`. It is asked for a fixed number of chunks only, before anything is learned; one that sees,
once more about each moment of which there are pictures. An incumbent of any other kind is replaced
by a flow cloned from demonstrations and help, which is steered once it has acted; one that is
steered already goes on from its own steering.
"""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from enpire.errors import RecipeError
from enpire.improvement.behaviour_cloning import Training, clone_flow
from enpire.improvement.data import MIN_STD, known_well
from enpire.improvement.frozen_base import Moments, standing
from enpire.improvement.noise import NoiseTrials, SteeredFlowAgent, TriedAgent
from enpire.improvement.recipe import Candidate, RecipeInputs
from enpire.improvement.replay import Transitions, transitions
from enpire.improvement.sac import SacSettings
from enpire.policies import (
    Base,
    FlowPolicy,
    LeRobotPolicy,
    NoiseSteering,
    PicturePolicy,
    PictureSpec,
    Policy,
    SteeredPolicy,
    SteeringSpec,
    base_of,
)
from enpire.policies.flow import DEVIATION
from enpire.policies.steered import spread_out
from enpire.types import Episode

BESIDE: dict[str, type[Base]] = {
    LeRobotPolicy.kind: LeRobotPolicy,
    PicturePolicy.kind: PicturePolicy,
}
STEERING = (128, 128)  # widths of the hidden layers of the network that chooses noise


@dataclass(frozen=True, slots=True)
class NoiseLearning:
    """Steer a flow policy by soft actor-critic in its noise; `learning.cloning` is not used."""

    learning: SacSettings = field(default_factory=lambda: SacSettings(deviation=DEVIATION))
    trials: int = 4096  # chunks that what is steered from beside is asked for, to learn from
    chosen: int = 8  # first steps of its chunk whose noise is chosen; the last stands for the rest

    def improve(self, given: RecipeInputs) -> Candidate:
        """See `Recipe.improve`."""
        beside = isinstance(base_of(given.incumbent), tuple(BESIDE.values()))
        if beside or isinstance(given.spec, PictureSpec):
            return self._steer_beside(given)
        return self._steer_within(given)

    def _steer_within(self, given: RecipeInputs) -> Candidate:
        """Steer a flow of ours by a network within it."""
        flow = given.incumbent
        if not isinstance(flow, FlowPolicy):
            return cloned(given)
        started, learning = time.monotonic(), self.learning
        episodes = [episode for episode in given.episodes if len(episode)]
        torch.manual_seed(given.seed)
        generator = torch.Generator().manual_seed(given.seed)
        data = transitions(episodes, flow.spec, learning.discount)
        usual = flow.spec.deviation  # it is to draw about as much
        learning = replace(learning, deviation=usual * learning.deviation)
        agent = SteeredFlowAgent(steered(flow), data, learning, generator, usual)
        loss = agent.learn_from("dsrl", data.sample, given.checkpoint)
        numbers = {
            "episodes": len(episodes),
            "loss": loss,
            "seconds": time.monotonic() - started,
        }
        return Candidate(agent.policy, numbers)

    def _steer_beside(self, given: RecipeInputs) -> Candidate:
        """Steer a policy of LeRobot's, or one that sees, by a network beside it."""
        started, learning = time.monotonic(), self.learning
        base = standing("dsrl", given, BESIDE)
        episodes = [episode for episode in given.episodes if len(episode)]
        moments = Moments.of(base, episodes, given)
        if moments.asked.noise is None:
            raise RecipeError(
                "dsrl chooses the noise that chunks are made of, and the policy makes them of none "
                "(or LeRobot does not let it be given): residual_rl adds to any policy"
            )
        torch.manual_seed(given.seed)
        generator = torch.Generator().manual_seed(given.seed)
        data, at = self._noise_transitions(moments, episodes, given)
        steering = self._steering(given.incumbent, moments, data)
        trials = self._trials(moments, steering, data, at, given)
        agent = TriedAgent(steering, data, trials, learning, generator)
        loss = agent.learn_from("dsrl", data.sample, given.checkpoint)
        numbers = {
            "episodes": len(episodes),
            "trials": len(trials.noise),
            "loss": loss,
            "seconds": time.monotonic() - started,
        }
        return Candidate(SteeredPolicy(base, agent.policy), numbers)

    def _noise_transitions(
        self, moments: Moments, episodes: Sequence[Episode], given: RecipeInputs
    ) -> tuple[Transitions, NDArray[np.int64]]:
        """Chunks as who chooses noise sees them, and the rows at which they begin, (M,).

        Of a base that sees by cameras it is shown what that says of no noise, and critics are told
        the rest: both follow what an arm feels, in one vector.
        """
        asked = moments.asked
        known, discount = np.flatnonzero(moments.known), self.learning.discount
        if not asked.looks:
            return transitions(episodes, asked.spec, discount), known
        none = np.zeros((len(known), *(asked.noise or ())), np.float32)
        said = moments.answers(known, given.seed, given.checkpoint, "middle", none)
        data, at = moments.transitions(episodes, said, discount)
        return data, at.numpy()

    def _steering(
        self, incumbent: Policy | None, moments: Moments, data: Transitions
    ) -> NoiseSteering:
        """The incumbent's own, to go on from; else one that leaves the noise as it is."""
        asked, besides = moments.asked, moments.besides().shape[1]
        if isinstance(incumbent, SteeredPolicy):
            made = copy.deepcopy(incumbent.head)
            made.besides = besides
            return made
        of, (steps, width) = asked.spec, asked.noise or (0, 0)
        _, history, size = data.history.shape
        size, chosen, advised = size - besides, min(self.chosen, steps), asked.looks > 0
        shape = SteeringSpec(size, of.action, history, of.execute, chosen, width, advised)
        made = NoiseSteering(shape)
        made.besides = besides
        rows = data.history[:, -1, :size]
        made.mean.copy_(rows.mean(dim=0))
        made.std.copy_(rows.std(dim=0).clamp_min(MIN_STD))
        made.spread.copy_(asked.spread)
        return made

    def _trials(
        self,
        moments: Moments,
        steering: NoiseSteering,
        data: Transitions,
        at: NDArray[np.int64],
        given: RecipeInputs,
    ) -> NoiseTrials:
        """What the base makes of noise at moments that were visited, both drawn anew each round.

        at: the rows of `data`, (M,).
        """
        asked = moments.asked
        if asked.noise is None:
            raise RecipeError("a policy without noise has no trials")
        generator = torch.Generator().manual_seed(given.seed)
        index = torch.randint(len(data), (self.trials,), generator=generator)
        noise = torch.randn(self.trials, steering.noise_size, generator=generator)
        whole = spread_out(noise.numpy(), asked.noise, steering.shape.width)
        rows = at[index.numpy()]
        chunks = moments.answers(rows, given.seed, given.checkpoint, "trials", whole)
        tried = chunks[:, : asked.spec.execute].clamp(-1.0, 1.0)
        return NoiseTrials(data.history[index], noise, tried)


def cloned(given: RecipeInputs) -> Candidate:
    """A flow cloned from those who know, which takes the place of an incumbent of another kind.

    It is a candidate before it is steered. Critics know what the other policy did, and that
    misleads a flow that nobody has seen act.

    Raises:
        RecipeError: no episode succeeded.
    """
    known = known_well(given.episodes)
    fitted = clone_flow(given, known, Training(), stage="flow")
    return Candidate(fitted.policy, fitted.numbers(len(known)))


def steered(flow: FlowPolicy) -> FlowPolicy:
    """The same flow, frozen, with a network that steers its noise, at first nowhere."""
    made = FlowPolicy(replace(flow.spec, steering=flow.spec.steering or STEERING))
    if not flow.spec.steering:
        nn.init.zeros_(made.get_parameter(f"steer.{3 * len(STEERING)}.weight"))
        nn.init.zeros_(made.get_parameter(f"steer.{3 * len(STEERING)}.bias"))
        nn.init.constant_(made.log_std, math.log(DEVIATION * flow.spec.deviation))
    made.load_state_dict({**made.state_dict(), **flow.state_dict()})
    made.net.requires_grad_(False)
    return made


RECIPE = NoiseLearning
