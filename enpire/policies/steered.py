"""A frozen policy that diffuses or flows, and a small network that chooses its noise.

After Wagenmaker et al. 2025 (arXiv 2506.15799), as within a steered `FlowPolicy`, of policies whose
inside is not ours. The noise of a chunk's first steps is chosen, and that of the last of these is
every later step's too: a chunk of a large model is long, and each number chosen has to be learned.

Of a base that sees by cameras the network is shown what the arm feels, and what the base says of
its pictures: the chunk that it makes of no noise. It is then asked twice.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from enpire.environment import StationBackend
from enpire.errors import PolicyError
from enpire.policies.chunk_sampler import ChunkSampler
from enpire.policies.composed import Composed
from enpire.policies.description import described
from enpire.policies.flow import DEVIATION
from enpire.policies.kernels import steer
from enpire.policies.network import NormalisedModule, Perceptron, normalised, perceptron
from enpire.policies.policy_runner import PolicyState
from enpire.policies.spec import ChunkSpec
from enpire.policies.vision import SeeingController
from enpire.types import Float32Array, Image

HIDDEN = (128, 128)


@dataclass(frozen=True, slots=True)
class SteeringSpec:
    """What a choice of noise sees and makes."""

    observation: int  # numbers in each observation that is seen
    action: int  # entries in each action of the chunks that come of it
    history: int  # how many observations are seen
    execute: int  # of the actions of such a chunk, how many are carried out
    chosen: int  # steps of a chunk whose noise is chosen
    width: int  # numbers in each of these steps
    # What is seen is one vector, a history and after it the chunk that the base makes of no noise.
    advised: bool = False


class NoiseSteering(NormalisedModule):
    """Says the mean of the noise, (b, noise_size), before it is squashed; at first none."""

    spread: Tensor

    def __init__(self, spec: SteeringSpec) -> None:
        super().__init__()
        self.shape = spec
        self.besides = 0  # entries that critics see after its own, while it learns
        self.steer = perceptron(spec.history * spec.observation, HIDDEN, self.noise_size)
        nn.init.zeros_(self.steer.get_parameter(f"{3 * len(HIDDEN)}.weight"))
        nn.init.zeros_(self.steer.get_parameter(f"{3 * len(HIDDEN)}.bias"))
        self.log_std = nn.Parameter(torch.full((self.noise_size,), math.log(DEVIATION)))
        self.keep_observation_scales(spec.observation)
        self.register_buffer("spread", torch.ones(spec.action))

    @property
    def noise_size(self) -> int:
        """Numbers that are chosen for a chunk."""
        return self.shape.chosen * self.shape.width

    @property
    def spec(self) -> ChunkSpec:
        """The shape of the chunks that are steered."""
        of = self.shape
        size = of.observation + self.besides
        return ChunkSpec("", size, of.action, of.history, 1, chunk=of.execute, execute=of.execute)

    def see(self, history: Tensor) -> Tensor:
        """Normalised observations (b, history x obs) of (b, history, obs)."""
        own = history[..., : self.shape.observation]
        seen = self.normalised(own)
        return seen.flatten(1)


class SteeredPolicy(Composed[NoiseSteering]):
    """The base acts, from noise that the head chooses."""

    kind: ClassVar[str] = "steered"

    @classmethod
    def made(cls, shape: str) -> NoiseSteering:
        """See `Composed`."""
        return NoiseSteering(described(SteeringSpec, shape, "a steered policy"))

    @property
    def shaped(self) -> str:
        """See `Composed`."""
        return json.dumps(asdict(self.head.shape))

    def controller(self, stations: StationBackend) -> SteeredController:
        """See `Policy.controller`."""
        return SteeredController(self.sampler_on(stations), self.head)


def spread_out(noise: Float32Array, shape: tuple[int, int], width: int) -> Float32Array:
    """Noise (b, *shape) of whole chunks, of that chosen for their first steps, (b, any x width)."""
    chosen = noise.reshape(len(noise), -1, width)
    whole: Float32Array = chosen[:, np.minimum(np.arange(shape[0]), chosen.shape[1] - 1)]
    return whole


def advised(history: Float32Array, chunks: Float32Array) -> Float32Array:
    """What is seen of moments (b, history, obs), and of them said (b, execute, act), (b, 1, n)."""
    parts = [each.reshape(len(history), -1) for each in (history, chunks)]
    whole: Float32Array = np.concatenate(parts, axis=1)[:, None]
    return whole


class SteeredController(SeeingController):
    """Chooses the noise of each chunk, in which the draws are its episode's own."""

    def __init__(self, base: ChunkSampler, steering: NoiseSteering) -> None:
        """Drive both, with their weights as they are now, on any number of stations."""
        super().__init__(_Steered(base, steering), base.seen, base.looks)
        self._size = steering.noise_size

    def chunks(self, seen: Float32Array, states: Sequence[PolicyState]) -> Float32Array:
        """See `PolicyController`."""
        drawn = np.array([one.rng.standard_normal(self._size, np.float32) for one in states])
        seeds = [int(one.rng.integers(2**63)) for one in states]  # of what else the base draws
        chunks: Float32Array = self._infer(seen, seeds, drawn, self.shown(states))
        return chunks


class _Steered:
    """Both as one `Chunked` policy."""

    def __init__(self, base: ChunkSampler, steering: NoiseSteering) -> None:
        of = steering.shape
        if base.noise is None or base.noise[1] != of.width:
            raise PolicyError(
                f"the noise that is chosen has {of.width} numbers a step; that of the base has "
                f"{base.noise[1] if base.noise else 'none'}"
            )
        self.spec, self.spread = base.spec, base.spread
        self._base, self._shape, self._width = base, base.noise, of.width
        self._advised = of.advised
        tensors = {name: v.detach().numpy() for name, v in steering.state_dict().items()}
        self._net = Perceptron(tensors, "steer", len(HIDDEN))
        self._seen = [np.tile(tensors[name], of.history) for name in ("mean", "std")]
        self._deviation: Float32Array = np.exp(tensors["log_std"])

    def inference(self) -> _Steered:
        return self

    def __call__(
        self,
        history: Float32Array,
        seeds: Sequence[int],
        drawn: Float32Array,
        pictures: Image | None,
    ) -> Float32Array:
        """Chunks (b, n, act) for observations (b, history, obs) and normal draws (b, noise)."""
        ask, execute = self._base.chunks, self.spec.execute
        told = self._base.seen.beside(history)
        if self._advised:
            middle = np.zeros((len(history), *self._shape), np.float32)
            told = advised(told, ask(history, seeds, middle, pictures)[:, :execute])
        noise = steer(self._net(normalised(told, *self._seen)), self._deviation, drawn)
        whole = spread_out(noise, self._shape, self._width)
        return ask(history, seeds, whole, pictures)[:, :execute]
