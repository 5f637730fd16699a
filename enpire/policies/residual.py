"""A frozen policy whose chunks a small network corrects (residual policy learning).

After Silver et al. 2018 (arXiv 1812.06298): what is added is bounded, and begins as nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from enpire.environment import StationBackend
from enpire.errors import PolicyError
from enpire.policies.chunk_sampler import ChunkSampler
from enpire.policies.composed import Composed
from enpire.policies.description import described
from enpire.policies.kernels import INPUT_LIMIT
from enpire.policies.network import ChunkModule, Perceptron, normalised, perceptron
from enpire.policies.policy_runner import PolicyState
from enpire.policies.vision import SeeingController
from enpire.types import Float32Array, Image

HIDDEN = (128, 128)


@dataclass(frozen=True, slots=True)
class CorrectionSpec:
    """history: observations seen; chunk: actions that are corrected; reach: in units of spread."""

    observation: int
    action: int
    history: int
    chunk: int
    reach: float


class Correction(ChunkModule):
    """Moves a chunk's actions by up to `reach` of each one's spread; at first not at all.

    It sees what the base would do and what the base sees, but no pictures.
    """

    def __init__(self, spec: CorrectionSpec) -> None:
        super().__init__()
        self.spec = spec
        outputs = spec.chunk * spec.action
        self.net = perceptron(spec.history * spec.observation + outputs, HIDDEN, outputs)
        nn.init.zeros_(self.net.get_parameter(f"{3 * len(HIDDEN)}.weight"))
        nn.init.zeros_(self.net.get_parameter(f"{3 * len(HIDDEN)}.bias"))
        self.keep_scales(spec.observation, spec.action)

    def forward(self, history: Tensor, chunk: Tensor) -> Tensor:
        """Chunks (b, chunk, act) of the base's, for observations (b, history, obs)."""
        seen = self.normalised(history)
        done = ((chunk - self.centre) / self.spread).clamp(-INPUT_LIMIT, INPUT_LIMIT)
        shift = torch.tanh(self.net(torch.cat([seen.flatten(1), done.flatten(1)], dim=1)))
        moved: Tensor = chunk + self.spec.reach * self.spread * shift.view_as(chunk)
        return moved


class ResidualPolicy(Composed[Correction]):
    """The base's chunks, corrected."""

    kind: ClassVar[str] = "residual"

    @classmethod
    def made(cls, shape: str) -> Correction:
        """See `Composed`."""
        return Correction(described(CorrectionSpec, shape, "a residual"))

    def controller(self, stations: StationBackend) -> ResidualController:
        """See `Policy.controller`."""
        return ResidualController(self.sampler_on(stations), self.head)


class ResidualController(SeeingController):
    """Asks the base, and corrects what it says."""

    def __init__(self, base: ChunkSampler, correction: Correction) -> None:
        """Drive both, with their weights as they are now, on any number of stations."""
        super().__init__(_Corrected(base, correction), base.seen, base.looks)

    @property
    def answered(self) -> int:
        """See `PolicyController`."""
        return self.spec.execute

    def chunks(self, seen: Float32Array, states: Sequence[PolicyState]) -> Float32Array:
        """See `PolicyController`; the base's noise is drawn by the episodes' own generators."""
        seeds = [int(one.rng.integers(2**63)) for one in states]
        chunks: Float32Array = self._infer(seen, seeds, self.shown(states))
        return chunks


class _Corrected:
    """Both as one `Chunked` policy."""

    def __init__(self, base: ChunkSampler, correction: Correction) -> None:
        spec = correction.spec
        has = base.spec.execute, base.spec.history, base.observation
        if has != (spec.chunk, spec.history, spec.observation):
            raise PolicyError(
                f"the residual corrects chunks of {spec.chunk} actions for {spec.history} "
                f"observations of {spec.observation}; its base has {has[0]}, {has[1]} and {has[2]}"
            )
        self.spec, self.spread = base.spec, base.spread
        self._base, self._shape = base, (-1, spec.chunk, spec.action)
        tensors = {name: value.numpy() for name, value in correction.state_dict().items()}
        self._net = Perceptron(tensors, "net", len(HIDDEN))
        self._seen = [np.tile(tensors[name], spec.history) for name in ("mean", "std")]
        self._done = [np.tile(tensors[name], spec.chunk) for name in ("centre", "spread")]
        self._reach = np.float32(spec.reach) * tensors["spread"]

    def inference(self) -> _Corrected:
        return self

    def __call__(
        self, history: Float32Array, seeds: Sequence[int], pictures: Image | None
    ) -> Float32Array:
        said = self._base.chunks(history, seeds, pictures=pictures)
        chunk = said[:, : self.spec.execute].astype(np.float32)
        told = self._base.seen.beside(history)
        both = normalised(told, *self._seen), normalised(chunk, *self._done)
        shift = np.tanh(self._net(np.concatenate(both, axis=1))).reshape(self._shape)
        moved: Float32Array = chunk + self._reach * shift
        return moved
