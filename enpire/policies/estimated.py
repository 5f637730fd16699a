"""A policy that was learned with a tracker, and acts by estimates of what one would say.

What a task's policy has to know of a scene is a few numbers. Where a tracker tells them, little
experience teaches it. So it is learned from them, and a `StateEstimator` learns to tell them from
pictures. Nothing here is told by a tracker.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from enpire.environment import StationBackend
from enpire.errors import PolicyError
from enpire.policies.best_of import BestOfPolicy
from enpire.policies.composed import ComposedSpec, joined, part_of
from enpire.policies.flow import FlowPolicy
from enpire.policies.network import with_weights
from enpire.policies.policy_runner import PolicyController, PolicyState
from enpire.policies.spec import ChunkSpec, PictureSpec
from enpire.policies.state_estimator import StateEstimator
from enpire.policies.vision import ObservationMask, SeeingController, seen_there
from enpire.types import Float32Array

ACTING: dict[str, type[FlowPolicy | BestOfPolicy]] = {
    kind.kind: kind for kind in (FlowPolicy, BestOfPolicy)
}


class EstimatedPolicy:
    """What acts by the newest observation alone, and what estimates that one."""

    kind: ClassVar[str] = "estimated"

    def __init__(self, acting: FlowPolicy | BestOfPolicy, estimator: StateEstimator) -> None:
        """acting: a policy of whole observations.

        Raises:
            PolicyError: it looks back, and what a tracker said before was never estimated.
        """
        if looks_back(acting):
            raise PolicyError(
                "a policy that acts by estimates looks at the newest observation alone: its history"
                " and the lags of its critics are one"
            )
        self.acting, self.estimator = acting, estimator

    @property
    def spec(self) -> ComposedSpec:
        """See `Policy`: what acts is the base, and what estimates the head."""
        said, head = self.acting.spec, self.estimator.spec.to_json()
        return ComposedSpec(
            said.task, said.observation, said.action, self.acting.kind, said.to_json(), head
        )

    def tensors(self) -> dict[str, NDArray[Any]]:
        """Those of what acts under `acting/`, and of what estimates under `estimator/`."""
        return joined({"acting": self.acting.tensors(), "estimator": self.estimator.tensors()})

    def controller(self, stations: StationBackend) -> EstimatedController:
        """See `Policy.controller`."""
        sees = self.estimator.spec
        mask = seen_there(stations, sees.cameras, sees.size)
        return EstimatedController(self.acting.controller(stations), self.estimator, mask)

    @classmethod
    def load(cls, spec: str, tensors: Mapping[str, NDArray[Any]]) -> Self:
        """See `Policy.load`."""
        said = ComposedSpec.from_json(spec)
        if said.kind not in ACTING:
            known = ", ".join(ACTING)
            raise PolicyError(f"what acts is of kind {said.kind!r}; known are {known}")
        acting = ACTING[said.kind].load(said.base, part_of("acting", tensors))
        estimator = StateEstimator(PictureSpec.from_json(said.head))
        return cls(acting, with_weights(estimator, part_of("estimator", tensors)))


def looks_back(acting: FlowPolicy | BestOfPolicy) -> bool:
    """Return whether a policy sees more than the newest observation."""
    if isinstance(acting, FlowPolicy):
        return acting.spec.history > 1
    chooser, base = acting.head.spec, acting.base
    recalls = chooser.margin > 0.0 and chooser.recalled != (0,)
    return not isinstance(base, FlowPolicy) or looks_back(base) or chooser.lags != (0,) or recalls


class EstimatedController(SeeingController):
    """Shows what acts an estimate whenever it asks for a chunk."""

    def __init__(
        self, acting: PolicyController, estimator: StateEstimator, mask: ObservationMask
    ) -> None:
        """acting: drives what acts."""
        super().__init__(_Estimates(acting, estimator), mask)
        self._acting = acting

    @property
    def answered(self) -> int:
        """See `PolicyController`."""
        return self._acting.answered

    def chunks(self, seen: Float32Array, states: Sequence[PolicyState]) -> Float32Array:
        """See `PolicyController`."""
        pictures = self.shown(states)
        rows = self._infer(seen[:, -1], pictures)
        told = [replace(one, seen=deque([row])) for one, row in zip(states, rows, strict=True)]
        return self._acting.chunks(rows[:, None], told)


class _Estimates:
    """The estimator, with its weights as they are now, as a `Chunked` policy answers."""

    def __init__(self, acting: PolicyController, estimator: StateEstimator) -> None:
        self.spec: ChunkSpec = acting.spec
        self.spread: Tensor = torch.from_numpy(acting.spread)
        self._estimator = with_weights(StateEstimator(estimator.spec), estimator.tensors())

    def inference(self) -> Callable[..., Float32Array]:
        """Return what estimates, row by row: a convolution of many rounds otherwise."""
        return self._estimate

    @torch.inference_mode()
    def _estimate(self, rows: Float32Array, pictures: NDArray[np.uint8]) -> Float32Array:
        """Return observations (m, obs) of `rows` (m, obs) and pictures (m, looks, ...)."""
        estimated = [
            self._estimator.estimate(torch.from_numpy(row[None]), torch.from_numpy(shown[-1:]))
            for row, shown in zip(rows, pictures, strict=True)
        ]
        return np.concatenate([each.numpy() for each in estimated])
