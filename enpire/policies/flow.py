"""A policy whose chunks of actions flow from noise: several ways to go on stay several ways.

Conditional flow matching (Lipman et al. 2023, arXiv 2210.02747) on chunks, as in pi0 (Black et al.
2024, arXiv 2410.24164): a velocity field carries a normal draw at time 0 to a chunk at time 1, in a
few Euler steps. A network that answers with one chunk answers with the mean of what was shown,
which between two ways round may be neither.

The velocity is gated, as in SAC Flow (Zhang et al. 2025, arXiv 2509.25756): gate x (candidate -
chunk), so a step is that of a gated recurrent unit, and a gradient through all of them neither
vanishes nor explodes. Near time 0 the candidate is the expected chunk itself, which is easy to
learn.

A policy may be steered (Wagenmaker et al. 2025, arXiv 2506.15799): a network shifts the noise by
what is seen, which chooses among the chunks that the flow knows. Some of the noise stays drawn: who
always does the same where it is stuck stays stuck.

A policy whose chunks come late may have learned to go on from the actions that will have been
carried out by then (training-time action conditioning, Black et al. 2025, arXiv 2512.05964): they
stand at the beginning of the chunk from the start of the flow, and it is told how many they are.

It may act with less noise than it was taught with: what is in the middle is what is usual at a
moment, and what few have shown, or one of them by mistake, is at the edge. Several ways to go on
are still told apart, for the way from noise to a chunk is steep between them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from enpire.environment import StationBackend
from enpire.policies.chunk_sampler import ChunkSampler
from enpire.policies.heading import (
    CompiledHeading,
    actions_along,
    actions_back,
    history_along,
)
from enpire.policies.kernels import NOISE_LIMIT, flow, scaled, steer
from enpire.policies.levels import at_levels, tensor_at_levels
from enpire.policies.network import (
    ChunkModule,
    Perceptron,
    normalised,
    perceptron,
    with_weights,
)
from enpire.policies.policy_runner import PolicyController, PolicyState
from enpire.policies.relative import actions_of, ways_of
from enpire.policies.spec import FlowSpec
from enpire.policies.vision import NOTHING, ObservationMask
from enpire.types import Float32Array, Image

TIMES = 4  # frequencies in which a network is shown the time
OPEN = 2.0  # log-odds of the gate to begin with
DEVIATION = 0.6  # of steered noise to begin with, before it is squashed to that limit


class FlowPolicy(ChunkModule):
    """A gated velocity field over chunks, with the normalisation of a `ChunkPolicy`.

    The flow is in units of each action's `spread` about its `centre`.
    """

    kind: ClassVar[str] = "flow"

    def __init__(self, spec: FlowSpec) -> None:
        super().__init__()
        self.spec = spec
        seen, size = spec.history * spec.observation, spec.chunk * spec.action
        told_of = spec.chunk if spec.pending else 0
        self.net = perceptron(seen + size + 2 * TIMES + told_of, spec.hidden, 2 * size)
        last = self.net[-1]
        with torch.no_grad():
            last.bias[size:] += OPEN  # type: ignore[index,operator]
        if spec.steering:
            self.steer = perceptron(seen, spec.steering, size)
            self.log_std = nn.Parameter(torch.full((size,), math.log(DEVIATION)))
        self.keep_scales(spec.observation, spec.action)

    @property
    def noise_size(self) -> int:
        """Entries of the noise of a chunk."""
        return self.spec.chunk * self.spec.action

    def see(self, history: Tensor) -> Tensor:
        """Normalised observations (batch, history x obs) of (batch, history, observation)."""
        seen = self.normalised(history_along(self.spec.heading, history))
        return seen.flatten(1)

    def velocity(
        self, seen: Tensor, x: Tensor, time: Tensor, known: Tensor | None = None
    ) -> Tensor:
        """The velocity of chunks `x` (batch, noise_size) at times (batch, 1), seeing `seen`.

        known: 1 for the actions of each chunk that are pending, (batch, chunk); else none are.
        """
        shown = [seen, x, time_features(time)]
        if self.spec.pending:
            shown += [x.new_zeros(len(x), self.spec.chunk) if known is None else known]
        candidate, gate = self.net(torch.cat(shown, dim=1)).chunk(2, dim=1)
        moved: Tensor = torch.sigmoid(gate) * (candidate - x)
        return moved

    def carry(self, seen: Tensor, noise: Tensor) -> Tensor:
        """Noise (batch, noise_size) to chunks (batch, noise_size), in units of the flow."""
        steps = self.spec.steps
        x = noise
        for step in range(steps):
            time = x.new_full((len(x), 1), step / steps)
            x = x + self.velocity(seen, x, time) / steps
        return x

    def actions(self, x: Tensor, history: Tensor) -> Tensor:
        """Actions (batch, chunk, act) of chunks in units of the flow, for who sees `history`."""
        done = self.centre + self.spread * x.view(-1, self.spec.chunk, self.spec.action)
        back = actions_back(self.spec.heading, history, done)
        return actions_of(self.spec.relative, history, back)

    def in_units(self, actions: Tensor, history: Tensor) -> Tensor:
        """The inverse of `actions`, (batch, chunk x act)."""
        ways = ways_of(self.spec.relative, history, actions)
        done = actions_along(self.spec.heading, history, ways)
        return ((done - self.centre) / self.spread).flatten(1)

    def chosen(self, seen: Tensor, drawn: Tensor) -> Tensor:
        """The noise (batch, noise_size) to begin from, of normal draws: steered if it has to be."""
        if not self.spec.steering:
            return self.spec.deviation * drawn
        return NOISE_LIMIT * torch.tanh(self.steer(seen) + self.log_std.exp() * drawn)

    def forward(self, history: Tensor, drawn: Tensor) -> Tensor:
        """Actions (batch, chunk, act) for observations (batch, history, obs) and drawn noise."""
        seen = self.see(history)
        actions = self.actions(self.carry(seen, self.chosen(seen, drawn)), history)
        return tensor_at_levels(actions, self.spec.levels)

    def cloning_error(
        self,
        history: Tensor,
        actions: Tensor,
        generator: torch.Generator,
        pictures: Tensor | None = None,
    ) -> Tensor:
        """Flow matching: squared error (batch, chunk, act) of the velocity at a random time.

        On the straight way from a normal draw to `actions` (batch, chunk, act), it is their
        difference. Of pending actions, of which any number up to `spec.pending` is drawn, there is
        no error.
        """
        size, pending = self.noise_size, self.spec.pending
        x = self.in_units(actions, history)
        noise = torch.randn(len(x), size, generator=generator).to(x)
        time = torch.rand(len(x), 1, generator=generator).to(x)
        between = (1 - time) * noise + time * x
        if not pending:
            return (
                (self.velocity(self.see(history), between, time) - (x - noise))
                .square()
                .view_as(actions)
            )
        count = torch.randint(pending + 1, (len(x), 1), generator=generator)
        known = (torch.arange(self.spec.chunk) < count).to(x)
        done = known.repeat_interleave(self.spec.action, dim=1)
        velocity = self.velocity(self.see(history), torch.lerp(between, x, done), time, known)
        return ((1 - done) * (velocity - (x - noise))).square().view_as(actions)

    def inference(self) -> FlowInference:
        """`forward` for acting, with the weights as they are now."""
        return FlowInference(self.spec, self.tensors())

    def controller(self, stations: StationBackend) -> FlowController:
        """See `Policy.controller`."""
        return FlowController(self)

    def sampler(self, instruction: str, mask: ObservationMask = NOTHING) -> ChunkSampler:
        """See `Base`; noise is drawn by the seeds."""
        infer, size = self.inference(), self.noise_size

        def chunks(
            history: Float32Array,
            seeds: Sequence[int],
            noise: Float32Array | None = None,
            pictures: Image | None = None,
        ) -> Float32Array:
            return infer(history, initial_noise(size, seeds, noise))

        shape = self.spec.chunk, self.spec.action
        return ChunkSampler(self.spec, self.spread.clone(), chunks, chunks, shape)

    @classmethod
    def load(cls, spec: str, tensors: Mapping[str, NDArray[Any]]) -> Self:
        """See `Policy.load`."""
        return with_weights(cls(FlowSpec.from_json(spec)), tensors)


class FlowInference:
    """A flow policy's forward pass, compiled, row by row."""

    def __init__(self, spec: FlowSpec, tensors: Mapping[str, NDArray[Any]]) -> None:
        """Take the weights from a policy's `tensors`."""
        self._spec = spec
        self._heading = None if spec.heading is None else CompiledHeading(spec.heading)
        self._mean, self._std = (np.tile(tensors[n], spec.history) for n in ("mean", "std"))
        self._spread, self._centre = (
            np.tile(tensors[name], spec.chunk) for name in ("spread", "centre")
        )
        self._net = Perceptron(tensors, "net", len(spec.hidden))
        steering = len(spec.steering)
        self._steer: tuple[Perceptron, Float32Array] | None = None
        if steering:
            self._steer = Perceptron(tensors, "steer", steering), np.exp(tensors["log_std"])
        times = torch.arange(spec.steps)[:, None] / spec.steps
        known = torch.zeros(spec.steps, spec.chunk if spec.pending else 0)
        self._told_of: Float32Array = torch.cat([time_features(times), known], dim=1).numpy()

    def __call__(
        self, history: Float32Array, drawn: Float32Array, left: Float32Array | None = None
    ) -> Float32Array:
        """Actions (batch, chunk, act) for observations (batch, history, obs) and drawn noise.

        left: that are carried out until then, (batch, n, act): the first n of each chunk. At most
        the spec's `pending`.
        """
        spec, heading = self._spec, self._heading
        along = history if heading is None else heading.history(history)
        seen = normalised(along, self._mean, self._std)
        if self._steer is None:
            x = np.float32(spec.deviation) * drawn
        else:
            network, deviation = self._steer
            x = steer(network(seen), deviation, drawn)
        if left is not None:
            left = ways_of(spec.relative, history, left)
            if heading is not None:
                left = heading.actions(history, left, back=False)
        told_of, pending = self._told_of, 0
        if left is not None:
            pending = left[0].size
            begun = left.reshape(len(x), -1) - self._centre[:pending]
            x = np.concatenate([begun / self._spread[:pending], x[:, pending:]], axis=1)
            told_of = told_of.copy()
            told_of[:, 2 * TIMES :][:, : left.shape[1]] = 1.0
        x = flow(seen, x, pending, told_of, self._net.widths, self._net.weights)
        size = -1, spec.chunk, spec.action
        actions: Float32Array = scaled(x, self._spread, self._centre).reshape(size)
        if heading is not None:
            actions = heading.actions(history, actions, back=True)
        return at_levels(actions_of(spec.relative, history, actions), spec.levels)


class FlowController(PolicyController):
    """Draws the noise of each chunk from its episode's own generator."""

    def __init__(self, policy: FlowPolicy) -> None:
        """Drive `policy`, with its weights as they are now, on any number of stations."""
        super().__init__(policy)
        self._size = policy.noise_size

    def chunks(self, seen: Float32Array, states: Sequence[PolicyState]) -> Float32Array:
        """See `PolicyController`."""
        drawn = np.array([one.rng.standard_normal(self._size, np.float32) for one in states])
        return self._infer(seen, drawn)


def initial_noise(size: int, seeds: Sequence[int], noise: Float32Array | None) -> Float32Array:
    """What chunks flow from, (b, size): the noise that was chosen, or what seeds (b,) draw."""
    if noise is not None:
        return noise.reshape(len(noise), size)
    return np.array([np.random.default_rng(s).standard_normal(size, np.float32) for s in seeds])


def time_features(time: Tensor) -> Tensor:
    """Times (batch, 1) in [0, 1] as a network is shown them, (batch, 2 TIMES)."""
    angle = math.pi * time * torch.arange(1, TIMES + 1, device=time.device)
    return torch.cat([torch.sin(angle), torch.cos(angle)], dim=1)
