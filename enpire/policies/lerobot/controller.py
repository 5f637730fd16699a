"""Has a policy of LeRobot's act on stations, each in its own phase of its own chunk."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from enpire.environment.core.policy_watch import PolicyWatch
from enpire.policies.chunk_sampler import Answers, ChunkSampler
from enpire.policies.lerobot.model import LeRobotModel
from enpire.policies.lerobot.spec import LeRobotSpec
from enpire.policies.policy_runner import PolicyState
from enpire.policies.spec import ChunkSpec
from enpire.policies.vision import NOTHING, ObservationMask, SeeingController
from enpire.types import Float32Array, Image


class ChunkedModel:
    """The model as a `Chunked` policy."""

    def __init__(
        self, model: LeRobotModel, spec: LeRobotSpec, instruction: str, observation: int
    ) -> None:
        execute = model.execute
        self.spec = ChunkSpec(
            spec.task,
            observation,
            spec.action,
            history=model.history,
            stride=1,
            chunk=execute,
            execute=execute,
        )
        self._model, self._told = model, instruction

    @property
    def spread(self) -> Tensor:
        """See `Chunked`."""
        return torch.from_numpy(self._model.spread).float()

    def inference(self) -> ChunkedModel:
        """See `Chunked`."""
        return self

    def __call__(
        self,
        history: Float32Array,
        seeds: Sequence[int],
        noise: Float32Array | None = None,
        pictures: Image | None = None,
    ) -> Float32Array:
        """See `Answers`: row by row on a processor, of histories of what the model takes."""
        return self._model.chunks(history, self._told, seeds, noise, pictures=pictures)

    def together(
        self,
        history: Float32Array,
        seeds: Sequence[int],
        noise: Float32Array | None = None,
        pictures: Image | None = None,
    ) -> Float32Array:
        """The same of all rows at once."""
        model, told = self._model, self._told
        return model.chunks(history, told, seeds, noise, together=True, pictures=pictures)

    def sampler(self, mask: ObservationMask) -> ChunkSampler:
        """As who stands on it asks: of whole observations it takes what it may see."""

        def by(answers: Answers) -> Answers:
            def chunks(
                history: Float32Array,
                seeds: Sequence[int],
                noise: Float32Array | None = None,
                pictures: Image | None = None,
            ) -> Float32Array:
                return answers(mask.beside(history), seeds, noise, pictures)

            return chunks

        model = self._model
        looks = model.history if mask.cameras else 0
        both = by(self), by(self.together)
        return ChunkSampler(self.spec, self.spread, *both, model.noise_shape, mask, looks)


LEAST = 1e-6  # of a spread


class LeRobotController(SeeingController):
    """Draws the seed of each chunk from its episode's own generator.

    Whether it acts at all is tried before any station moves.
    """

    def __init__(
        self,
        model: LeRobotModel,
        spec: LeRobotSpec,
        instruction: str,
        mask: ObservationMask = NOTHING,
    ) -> None:
        """Drive `model`; instruction: the task in words; mask: of what stations show, what it sees.

        Raises:
            PolicyError: it does not act on one observation without its own queues.
        """
        chunked = ChunkedModel(model, spec, instruction, mask.observation or spec.observation)
        super().__init__(chunked, mask, model.history)
        history = chunked.spec.history
        shape = 1, history, len(mask.cameras), spec.size, spec.size, 3
        blank = np.zeros(shape, np.uint8) if mask.cameras else None
        chunked(np.zeros((1, history, spec.observation), np.float32), [0], pictures=blank)
        self._forgetting = getattr(model.config, "temporal_ensemble_coeff", None)
        self._ensembles: dict[int, TemporalEnsemble] = {}
        self.watch = PolicyWatch(f"the {spec.task or 'LeRobot'} policy")
        self._familiar, self._units = model.familiar, model.units

    def begin(self, row: int, rng: np.random.Generator, exploration: float) -> None:
        """Forget the last episode on this station."""
        super().begin(row, rng, exploration)
        self._ensembles.pop(row, None)

    def chunks(self, seen: Float32Array, states: Sequence[PolicyState]) -> Float32Array:
        """See `PolicyController`."""
        seeds = [int(one.rng.integers(2**63)) for one in states]
        felt = self.felt(seen)
        if self._familiar is not None:
            middle, spread = self._familiar
            newest = felt[:, -1] if self._units is None else self._units.theirs(felt[:, -1])
            self.watch.shown(np.abs(newest - middle) / np.maximum(spread, LEAST))
        chunks: Float32Array = self._infer(felt, seeds, pictures=self.shown(states))
        self.watch.count(chunks[:, : self.spec.execute])
        if self._forgetting is None:
            return chunks[:, : self.spec.execute]
        rows = {id(one): row for row, one in self._states.items()}
        actions = np.empty((len(chunks), self.spec.action), np.float32)
        for i, one in enumerate(states):
            new = TemporalEnsemble(self._forgetting)  # stays with who is driven here
            ensemble = self._ensembles.setdefault(rows[id(one)], new) if id(one) in rows else new
            actions[i] = ensemble.join(chunks[i])
        return actions[:, None]


class TemporalEnsemble:
    """The chunks that one episode has been given, one each period, and what they say together.

    Temporal ensembling after ACT (Zhao et al. 2023, arXiv 2304.13705, algorithm 2): an action is
    the mean of all that was predicted for its moment, weighed exp(-coefficient i), i = 0 the
    oldest.
    """

    def __init__(self, coefficient: float) -> None:
        self._coefficient = coefficient
        self._chunks: deque[Float32Array] = deque()  # newest first

    def join(self, chunk: Float32Array) -> Float32Array:
        """This period's action, (act,), when (n, act) is predicted in it."""
        self._chunks.appendleft(chunk)
        said = np.array([c[ago] for ago, c in enumerate(self._chunks) if ago < len(c)])
        while len(self._chunks) > len(said):
            self._chunks.pop()
        weights = np.exp(-self._coefficient * np.arange(len(said)))[::-1]
        action: Float32Array = (weights @ said / weights.sum()).astype(np.float32)
        return action
