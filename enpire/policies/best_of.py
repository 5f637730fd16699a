"""A policy that draws several chunks, varies each, and carries out the best by its critics.

Where an attempt has become less likely to succeed than it was before, it goes back to the place
that promised most, and tries again (`retracing.py`). What an attempt is expected to come to is
learned beside the critics (`improvement/attempt_values.py`).

Choosing among what a base draws improves it without a gradient through it (EXPO, Dong et al. 2025,
arXiv 2507.07986), so the base may be of any kind.

A chunk is worth what critics expect of it beyond what they expect of the base's own chunks on
average, less some of their disagreement about that. Their disagreement about the moment itself is
the same for all chunks, and says nothing about which is best. What they disagree about most is what
nobody has tried.
"""

from __future__ import annotations

import copy
import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
import torch
from torch import Tensor, nn

from enpire.environment import RelativeTarget, StationBackend
from enpire.errors import PolicyError
from enpire.policies.chunk_sampler import ChunkSampler
from enpire.policies.composed import Composed
from enpire.policies.description import described
from enpire.policies.network import ChunkModule
from enpire.policies.policy_runner import PolicyState
from enpire.policies.relative import read_relative, ways_of
from enpire.policies.retracing import Path
from enpire.policies.vision import SeeingController
from enpire.types import Float32Array, Image

CHUNK_LIMIT = 4.0  # spreads at which the actions that critics are shown are clipped
LEAST_SPREAD = 0.05  # of an action, as critics are shown it: one that hardly varies is no noise
LEAST_WAY = 0.001  # likewise of a way from where a joint is: ways are far narrower
USUAL_SPREAD = 0.5  # of an action that moves a hand, by which `noise` was found
NOISE_LIMIT = 4.0  # standard deviations at which a variation is clipped
RETIRED = ("patience", "tries", "clock")  # when to go back, as earlier versions said
FIRST = 0.1  # of usual weights, those of a last layer to begin with


@dataclass(frozen=True, slots=True)
class ChooserSpec:
    """The shape of critics, and how a chunk is chosen by them."""

    observation: int  # entries of one
    lags: tuple[int, ...]  # how long ago what critics see was, newest last [periods]
    # action, chunk: of what is carried out
    action: int
    chunk: int
    # Entries of an action that are varied: no gripper, for a hand that opens by a little drops
    # what it holds.
    varied: tuple[int, ...]
    width: int = 256  # of hidden layers
    critics: int = 4  # how many
    samples: int = 8  # chunks that the base draws
    # Deviation of what varies a chunk, the same in all of its actions, of half an action's range.
    noise: float = 0.1
    caution: float = 1.0  # deviations of what critics disagree by that are taken off
    # Chunks that it goes on for, at least, before it goes back for the first time; the second time
    # twice as many, and so on; 0 where it never does.
    back: int = 0
    # Chance of success that an attempt must have lost since some place that it came by, for it to
    # go back there; 0: it never does.
    margin: float = 0.0
    waits: float = 0.0  # chance to go on all the same, for as long again, while it explores
    # How long ago what the value of an attempt sees was, newest last [periods]; none: as `lags`.
    attempt_lags: tuple[int, ...] = ()
    # Entries of an action that are shown to critics as ways from where what they move is seen, and
    # varied as much as these ways are wide.
    relative: tuple[RelativeTarget, ...] = ()

    @property
    def seen(self) -> int:
        """Entries of what critics see."""
        return len(self.lags) * self.observation

    @property
    def recalled(self) -> tuple[int, ...]:
        """How long ago what the value of an attempt sees was, newest last [periods]."""
        return self.attempt_lags or self.lags

    @property
    def size(self) -> int:
        """Entries of a chunk."""
        return self.chunk * self.action

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the inverse of `asdict` as JSON; raises PolicyError for anything else.

        Also for what earlier versions made that went back, and by no margin.
        """
        spec = described(cls, text, "a chooser", retired=RETIRED)
        if spec.back and not spec.margin:
            raise PolicyError(
                "this policy goes back by the clock, or as its critics say, which this version "
                "does not: use it with the version that made it"
            )
        return replace(spec, relative=read_relative(spec.relative, spec.observation, spec.action))


class CriticEnsemble(nn.Module):
    """Perceptrons of two hidden layers with GELU and layer normalisation, worked out together."""

    def __init__(self, members: int, inputs: int, width: int) -> None:
        super().__init__()
        sizes = [(inputs, width), (width, width), (width, 1)]
        self.weights = nn.ParameterList(torch.empty(members, i, o) for i, o in sizes)
        self.biases = nn.ParameterList(torch.zeros(members, 1, o) for _, o in sizes)
        self.gains = nn.ParameterList(torch.ones(members, 1, width) for _ in sizes[:-1])
        self.shifts = nn.ParameterList(torch.zeros(members, 1, width) for _ in sizes[:-1])
        for weight in self.weights:
            for member in weight:
                nn.init.orthogonal_(member)
        with torch.no_grad():
            self.weights[-1] *= FIRST

    def forward(self, x: Tensor, chosen: Tensor | None = None) -> Tensor:
        """Return (members, batch) of (batch, inputs); chosen: places of the members asked."""
        weights, biases, gains, shifts = (
            [each if chosen is None else each[chosen] for each in part]
            for part in (self.weights, self.biases, self.gains, self.shifts)
        )
        y = torch.matmul(x, weights[0]) + biases[0]
        for layer, (gain, shift) in enumerate(zip(gains, shifts, strict=True)):
            y = nn.functional.layer_norm(y, y.shape[-1:]) * gain + shift
            y = torch.bmm(nn.functional.gelu(y), weights[layer + 1]) + biases[layer + 1]
        values: Tensor = y.squeeze(-1)
        return values


class Chooser(ChunkModule):
    """Critics, and what they are shown.

    `mean` and `std` are of what is seen, `centre` and `spread` of actions, in the units of both.
    """

    def __init__(self, spec: ChooserSpec) -> None:
        super().__init__()
        self.spec = spec
        self.critics = CriticEnsemble(spec.critics, spec.seen + spec.size, spec.width)
        if spec.margin:
            recalled = len(spec.recalled) * spec.observation
            self.attempt_values = CriticEnsemble(spec.critics, recalled, spec.width)
        self.keep_scales(spec.observation, spec.action)

    def see(self, history: Tensor) -> Tensor:
        """Return what networks are shown (batch, lags * obs) of observations (batch, lags, obs)."""
        seen = self.normalised(history)
        return seen.flatten(1)

    def show(self, seen: Tensor, chunk: Tensor) -> Tensor:
        """Return what critics are shown (batch, size) of chunks (batch, chunk, act).

        seen: what they are shown of the moments, (batch, lags * observation).
        """
        spec, unit = self.spec, self.spread.clamp_min(LEAST_SPREAD)
        if spec.relative:
            newest = self.mean + self.std * seen[:, None, -spec.observation :]
            chunk = ways_of(spec.relative, newest, chunk)
            ways = [target.done for target in spec.relative]
            unit[ways] = self.spread[ways].clamp_min(LEAST_WAY)
        shown = (chunk - self.centre) / unit
        return shown.clamp(-CHUNK_LIMIT, CHUNK_LIMIT).flatten(1)

    def values(
        self,
        seen: Tensor,
        chunk: Tensor,
        critics: CriticEnsemble | None = None,
        chosen: Tensor | None = None,
    ) -> Tensor:
        """Return what each critic expects of chunks, (critics, batch).

        critics: others than its own; chosen: places of those that are asked.
        """
        asked = self.critics if critics is None else critics
        values: Tensor = asked(torch.cat([seen, self.show(seen, chunk)], dim=1), chosen)
        return values

    def chances(self, seen: Tensor) -> Float32Array:
        """Return the chance of success that each network gives an attempt, (critics,).

        seen: what they are shown of one moment and what came before, (1, recalled * observation).
        """
        chances: Float32Array = torch.sigmoid(self.attempt_values(seen))[:, 0].numpy()
        return chances

    def advantages(self, values: Tensor) -> Tensor:
        """Return the worth of candidates (batch, candidates) beyond the base's own.

        values: of each critic, (critics, batch, candidates), the base's `samples` chunks first.
        """
        beyond = values - values[:, :, : self.spec.samples].mean(dim=2, keepdim=True)
        return beyond.mean(dim=0) - self.spec.caution * beyond.std(dim=0)

    def varied(self, chunks: Tensor, rng: np.random.Generator) -> Tensor:
        """Return chunks (batch, chunk, act), each with an offset of its own in all its actions.

        What changes every period is averaged away by an arm.
        """
        spec = self.spec
        drawn = rng.standard_normal((len(chunks), 1, len(spec.varied)), np.float32)
        offset = torch.zeros(len(chunks), 1, spec.action)
        offset[:, :, list(spec.varied)] = torch.from_numpy(drawn.clip(-NOISE_LIMIT, NOISE_LIMIT))
        for target in spec.relative:
            offset[:, :, target.done] *= self.spread[target.done] / USUAL_SPREAD
        return (chunks + spec.noise * offset).clamp(-1.0, 1.0)


class BestOfPolicy(Composed[Chooser]):
    """The best of what the base draws, and of variations of it."""

    kind: ClassVar[str] = "best_of"

    @classmethod
    def made(cls, shape: str) -> Chooser:
        """See `Composed`."""
        return Chooser(ChooserSpec.from_json(shape))

    def controller(self, stations: StationBackend) -> BestOfController:
        """See `Policy.controller`."""
        return BestOfController(self.sampler_on(stations), self.head)


class BestOfController(SeeingController):
    """Asks the base for chunks, and carries out the best."""

    def __init__(self, base: ChunkSampler, chooser: Chooser) -> None:
        """Drive both, with their weights as they are now, on any number of stations."""
        super().__init__(_Chosen(base, chooser), base.seen, base.looks)
        spec = chooser.spec
        self._lags, self._recalled, self._varied = spec.lags, spec.recalled, spec.varied

    @property
    def answered(self) -> int:
        """See `PolicyController`."""
        return self.spec.execute

    def new_episode(self, rng: np.random.Generator, exploration: float = 0.0) -> PolicyState:
        """See `PolicyController`; observations are kept for as long as networks look back."""
        one = super().new_episode(rng, exploration)
        one.seen = deque(maxlen=max(one.seen.maxlen or 1, max(self._lags + self._recalled) + 1))
        one.path = Path(self._varied)
        return one

    def chunks(self, seen: Float32Array, states: Sequence[PolicyState]) -> Float32Array:
        """See `PolicyController`; each episode draws from its own generator."""
        pictures = self.shown(states)
        looks: Sequence[Image | None] = [None] * len(states) if pictures is None else list(pictures)
        return np.array(
            [
                self._infer(
                    history,
                    one.recall(self._lags),
                    one.recall(self._recalled),
                    one.rng,
                    look,
                    one.path,
                )
                for history, one, look in zip(seen, states, looks, strict=True)
            ]
        )


class _Chosen:
    """Both as one `Chunked` policy. It is asked row by row, so each product has the same shape."""

    def __init__(self, base: ChunkSampler, chooser: Chooser) -> None:
        spec = chooser.spec
        has = base.spec.execute, base.spec.action, base.observation
        if has != (spec.chunk, spec.action, spec.observation):
            raise PolicyError(
                f"the critics know chunks of {spec.chunk} actions of {spec.action} entries for "
                f"observations of {spec.observation}; their base has {has[0]}, {has[1]}, {has[2]}"
            )
        self.spec, self.spread, self._base = base.spec, base.spread, base
        self._chooser = copy.deepcopy(chooser).requires_grad_(False)

    def inference(self) -> _Chosen:
        return self

    @torch.inference_mode()
    def __call__(
        self,
        history: Float32Array,
        told: Float32Array,
        recalled: Float32Array,
        rng: np.random.Generator,
        pictures: Image | None,
        path: Path,
    ) -> Float32Array:
        """Return a chunk (execute, act) for one row.

        history: what the base sees, (history, obs). told: what critics see, (lags, obs). recalled:
        what the value of an attempt sees, (recalled, obs). path: of the row's episode, which is
        brought up to date.
        """
        chooser, spec = self._chooser, self._chooser.spec
        if path.back:
            return path.go_back()
        moment = self._see(told)
        chances = chooser.chances(self._see(recalled)) if spec.margin else None
        if chances is not None and (to := _gives_up(spec, path, chances, rng)) is not None:
            path.turn_back(to)
            return path.go_back()
        rows = np.repeat(history[None], spec.samples, axis=0)
        shown = None if pictures is None else np.repeat(pictures[None], spec.samples, axis=0)
        seeds = rng.integers(2**63, size=spec.samples).tolist()
        said = self._base.chunks(rows, seeds, pictures=shown)[:, : spec.chunk]
        drawn = torch.from_numpy(np.ascontiguousarray(said, np.float32)).clamp(-1.0, 1.0)
        candidates = torch.cat([drawn, chooser.varied(drawn, rng)])
        seen = moment.expand(len(candidates), -1)
        worth = chooser.advantages(chooser.values(seen, candidates)[:, None])[0]
        if not math.isfinite(float(worth.max())):
            raise PolicyError("the critics' values are not finite")
        return path.go(candidates[int(worth.argmax())].numpy(), chances)

    def _see(self, told: Float32Array) -> Tensor:
        """Return what networks are shown (1, lags * obs) of observations (lags, obs)."""
        own = np.ascontiguousarray(self._base.seen.beside(told), np.float32)
        return self._chooser.see(torch.from_numpy(own)[None])


def _gives_up(
    spec: ChooserSpec, path: Path, chances: Float32Array, rng: np.random.Generator
) -> int | None:
    """Return the place to which an attempt goes back that has lost too much of its chance, or None.

    It is compared with every place that it came by, for a chance may fade slowly, and goes back to
    the one that promised most. First it goes on for a while, after each way back for longer: what
    was given up too early is not given up so for ever.
    """
    if path.ahead < max(spec.back, 1) * (1 + path.turned):
        return None
    lost = np.mean(path.values, axis=1) - chances.mean()
    if not math.isfinite(float(lost.sum())):
        raise PolicyError("the values of an attempt are not finite")
    if lost.max() <= spec.margin:
        return None
    if spec.waits and rng.random() < spec.waits:
        path.ahead = 0
        return None
    return int(lost.argmax())
