"""A large policy that is asked now and then, and a small quick one that acts in between.

After RoboDual (Bu et al. 2024, arXiv 2410.08001): a generalist knows what is to be done and is
slow; a specialist is small enough to be asked every period. It sees what has come in by now, and
what of the generalist's last chunk is still pending. There the generalist's latent and actions
condition a diffusion transformer; here its actions do, which every policy has, and a perceptron
answers.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from torch import Tensor, nn

from enpire.environment import StationBackend
from enpire.errors import PolicyError
from enpire.json_text import parsed
from enpire.policies.chunk import ChunkPolicy
from enpire.policies.chunk_sampler import ChunkSampler
from enpire.policies.composed import Composed
from enpire.policies.policy_runner import PolicyState
from enpire.policies.spec import ChunkSpec
from enpire.policies.vision import SeeingController
from enpire.types import Float32Array, FloatArray, Image


@dataclass(frozen=True, slots=True)
class SpecialistSpec:
    """How the two of them work together, in control periods."""

    every: int  # from one asking of the generalist to the next
    late: int  # its chunk is there so much later
    pending: int  # actions of it that the specialist is shown
    quick: ChunkSpec  # the specialist's shape as of a policy of its own

    def __post_init__(self) -> None:
        timed = 0 <= self.late <= self.every and self.every > 0
        if not timed or self.pending < 1 or self.every % self.quick.execute:
            raise PolicyError(
                f"a generalist asked every {self.every} periods and {self.late} late, with "
                f"{self.pending} actions shown: it takes 0 <= late <= every, one action or more, "
                f"and every a multiple of the {self.quick.execute} that the specialist carries out"
            )

    @property
    def oldest(self) -> int:
        """Periods that a pending chunk can be old."""
        return self.every + self.late - 1

    @property
    def shown(self) -> ChunkSpec:
        """The shape of the network: all that it sees is one observation, see `condition`."""
        quick = self.quick
        size = quick.history * quick.observation + self.pending * quick.action + 1
        return ChunkSpec(
            quick.task,
            size,
            quick.action,
            history=1,
            stride=1,
            chunk=quick.chunk,
            execute=quick.execute,
            hidden=quick.hidden,
        )

    def condition(
        self, history: Float32Array, chunks: Float32Array, age: FloatArray
    ) -> Float32Array:
        """What the specialist is shown, (b, 1, n).

        history: (b, history, obs). chunks: of the generalist, (b, any, act); age: periods since it
        was asked for them, (b,). Beyond a chunk's end its last action is repeated.
        """
        at = np.minimum(age[:, None].astype(int) + np.arange(self.pending), chunks.shape[1] - 1)
        pending = np.take_along_axis(chunks, at[:, :, None], axis=1)
        parts = (history, pending, (age / max(self.oldest, 1))[:, None])
        flat = [part.reshape(len(history), -1) for part in parts]
        shown: Float32Array = np.concatenate(flat, axis=1).astype(np.float32)[:, None]
        return shown


class Quick(nn.Module):
    """The specialist's network; a `ChunkPolicy` of what `condition` shows."""

    def __init__(self, spec: SpecialistSpec) -> None:
        super().__init__()
        self.spec, self.policy = spec, ChunkPolicy(spec.shown)


class SpecialistPolicy(Composed[Quick]):
    """The base is the generalist, the head the specialist."""

    kind: ClassVar[str] = "specialist"

    @classmethod
    def made(cls, shape: str) -> Quick:
        """See `Composed`."""
        try:
            said = parsed(shape)
            quick = ChunkSpec.from_json(json.dumps(said.pop("quick")))
            return Quick(SpecialistSpec(quick=quick, **said))
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise PolicyError(f"not a specialist's description: {error!r}") from error

    def controller(self, stations: StationBackend) -> SpecialistController:
        """See `Policy.controller`."""
        return SpecialistController(self.sampler_on(stations), self.head)


@dataclass(slots=True)
class Advised(PolicyState):
    """One station's episode, and what the generalist said."""

    # The chunk that is there, (any, act), and periods since it was asked for.
    advice: Float32Array | None = None
    age: int = 0
    coming: Float32Array | None = None  # one that is not there yet, and the same of it
    since: int = 0


class SpecialistController(SeeingController):
    """Asks the generalist for all whose time it is, and the specialist for all.

    An episode's first chunk of the generalist's is awaited at rest. A chunk that is late is worked
    out when it is asked for, and used when it would be there: the same to the last bit each time.
    """

    def __init__(self, base: ChunkSampler, head: Quick) -> None:
        """Drive both, with their weights as they are now, on any number of stations."""
        super().__init__(_Both(base, head), base.seen, base.looks)
        self._base, self._shape = base, head.spec

    def new_episode(self, rng: np.random.Generator, exploration: float = 0.0) -> Advised:
        """See `PolicyController`."""
        seen: deque[Float32Array] = deque(maxlen=self.spec.reach + 1)
        looked: deque[Image] = deque(maxlen=self.looks)
        offset = np.zeros(self.spec.action)
        return Advised(rng, exploration, offset, seen=seen, pictures=looked)

    def due(self, row: int) -> bool:
        """See `VisionController`: only who asks the generalist needs pictures."""
        one = self._states[row]
        return isinstance(one, Advised) and self._periods_left(one) < self.looks

    def chunks(self, seen: Float32Array, states: Sequence[PolicyState]) -> Float32Array:
        """See `PolicyController`; seen: (b, history, obs) of successive periods."""
        advised = [one for one in states if isinstance(one, Advised)]
        shape, quick = self._shape, self._shape.quick
        asking = [i for i, one in enumerate(advised) if self._due(one)]
        if asking:
            spec = self._base.spec
            past = seen[asking][:, -1 - spec.reach :: spec.stride]
            seeds = [int(advised[i].rng.integers(2**63)) for i in asking]
            pictures = self.shown([advised[i] for i in asking])
            said = self._base.chunks(past, seeds, pictures=pictures)
            for i, chunk in zip(asking, said, strict=True):
                advised[i].coming, advised[i].since = chunk, 0
        for one in advised:
            first = one.advice is None
            if one.coming is not None and (first or one.since >= shape.late):
                one.advice, one.age, one.coming = one.coming, one.since, None
        advice = [one.advice for one in advised if one.advice is not None]
        age = np.array([one.age for one in advised], float)
        recent = self.felt(seen[:, -1 - quick.reach :: quick.stride])
        chunks: Float32Array = self._infer(shape.condition(recent, np.stack(advice), age))
        for one in advised:
            one.age += quick.execute
            one.since += quick.execute
        return chunks

    def _due(self, one: Advised) -> bool:
        return one.advice is None or (one.coming is None and one.since >= self._shape.every)

    def _periods_left(self, one: Advised) -> int:
        """Periods until the generalist is asked again."""
        if one.advice is None:
            return 0
        every, late, execute = self._shape.every, self._shape.late, self._shape.quick.execute
        there = 0 if one.coming is None else late + -late % execute + execute
        return len(one.chunk) + max(every, there) - one.since


class _Both:
    """Both as one `Chunked` policy, which remembers as far back as either looks."""

    def __init__(self, base: ChunkSampler, head: Quick) -> None:
        quick = head.spec.quick
        self._policy = head.policy
        self.spec = ChunkSpec(
            quick.task,
            base.spec.observation,
            quick.action,
            history=max(base.spec.reach, quick.reach) + 1,
            stride=1,
            chunk=quick.chunk,
            execute=quick.execute,
        )
        self.spread: Tensor = base.spread
        self.inference = head.policy.inference
