"""Policies that take their time: the next chunk is computed while the last one runs.

Real-time chunking (Black, Galliker and Levine 2025, arXiv 2506.07339). A chunk that is asked for
now can be used `delay` periods later, and until then the last one goes on. What it will have done
by then is known: the new chunk is held to it there, and drawn towards what it meant to do next,
less and less. A flow is guided, at each of its steps, by the gradient of what it leads to (the
paper's equations 2 to 5), unless it has learned to go on from what is pending; of any other chunk
the parts that overlap are faded, period by period, one into the other.

`LatePolicy` says on twins what comes of a delay, the same to the last bit each time; `asynchronous`
is the real thing.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from enpire.environment.control.sensing import Readings
from enpire.errors import PolicyError
from enpire.policies.flow import FlowPolicy
from enpire.policies.levels import at_levels
from enpire.policies.policy_runner import Chunked, PolicyState
from enpire.policies.spec import ChunkSpec
from enpire.twin.twin import Rows
from enpire.types import Float32Array, FloatArray

GUIDANCE = 5.0  # the most that a flow is guided by, the paper's beta


@dataclass(frozen=True, slots=True)
class Schedule:
    """delay: periods from asking for a chunk to its use. every: periods from asking to asking.

    A late policy is asked again as soon as it has answered: what it sees is old enough by then.
    """

    delay: int
    every: int

    @classmethod
    def of(cls, spec: ChunkSpec, delay: int) -> Schedule:
        """The schedule for a policy with chunks that are long enough.

        Raises:
            PolicyError: they are not: a chunk is used until the one after it is there.
        """
        if 2 * delay > spec.chunk:
            raise PolicyError(
                f"a chunk of {spec.chunk} periods is over before the next one is there, {delay} "
                f"periods after it was asked for: {2 * delay} are needed"
            )
        return cls(delay, delay or spec.execute)


def pull(delay: int, overlap: int, chunk: int) -> FloatArray:
    """How much each action of a new chunk is to be that of the last one, (chunk,), from 1 to 0.

    delay: of them will have been done. overlap: for so many the last one says something.
    """
    fading = fade(delay, overlap, chunk)
    return np.where(fading < 1.0, fading * np.expm1(fading) / math.expm1(1.0), 1.0)


def fade(delay: int, overlap: int, chunk: int) -> FloatArray:
    """The same, going down evenly."""
    i = np.arange(chunk)
    left = np.clip((overlap - i) / (overlap - delay + 1.0), 0.0, 1.0)
    return np.where(i < delay, 1.0, left)


Joined = Callable[[Float32Array, np.random.Generator, Float32Array, int], Float32Array]
"""A chunk (chunk, act) for a history (history, obs), that goes on from what the last one has left,
(n, act), of which so many periods will have been done."""


def joining(policy: Chunked) -> Joined:
    """How chunks of this policy, with its weights as they are now, are joined."""
    if isinstance(policy, FlowPolicy):
        return _Pending(policy) if policy.spec.pending else _Guided(policy)
    infer = policy.inference()

    def joined(
        seen: Float32Array, rng: np.random.Generator, left: Float32Array, delay: int
    ) -> Float32Array:
        return faded(infer(seen[None])[0], left, delay)

    return joined


def faded(new: Float32Array, left: Float32Array, delay: int) -> Float32Array:
    """A chunk, (chunk, act), into which what the last one has left, (n, act), fades."""
    both = min(len(left), len(new))
    weight = fade(delay, len(left), both)[:, None].astype(np.float32)
    joined = new.copy()
    joined[:both] += weight * (left[:both] - new[:both])
    return joined


class _Pending:
    """Inference of a flow policy that has learned to go on from what is pending."""

    def __init__(self, policy: FlowPolicy) -> None:
        self._infer, self._size = policy.inference(), policy.noise_size
        self._most = policy.spec.pending

    def __call__(
        self, seen: Float32Array, rng: np.random.Generator, left: Float32Array, delay: int
    ) -> Float32Array:
        drawn = rng.standard_normal(self._size, np.float32)[None]
        chunk: Float32Array = self._infer(seen[None], drawn, left[None, : min(delay, self._most)])[
            0
        ]
        return chunk


class _Guided:
    """A flow policy's inference, guided; one chunk at a time, so that rows do not mix."""

    def __init__(self, policy: FlowPolicy) -> None:
        self._policy = copy.deepcopy(policy).eval().requires_grad_(False)
        self._free = policy.inference()
        spec = policy.spec  # what torch loads at the first gradient takes longer than any after it
        seen = np.zeros((spec.history, spec.observation), np.float32)
        self(seen, np.random.default_rng(0), np.zeros((1, spec.action), np.float32), 1)

    def __call__(
        self, seen: Float32Array, rng: np.random.Generator, left: Float32Array, delay: int
    ) -> Float32Array:
        policy, spec = self._policy, self._policy.spec
        drawn = rng.standard_normal(policy.noise_size, np.float32)[None]
        if not len(left):
            free: Float32Array = self._free(seen[None], drawn)[0]
            return free
        weight = torch.from_numpy(pull(delay, len(left), spec.chunk)).float()
        weight = weight[:, None].expand(-1, spec.action).reshape(1, -1)
        history = torch.from_numpy(np.array(seen[None]))
        known = torch.zeros(1, spec.chunk, spec.action)
        known[:, : len(left)] = torch.from_numpy(np.array(left))
        wanted = policy.in_units(known, history)  # those beyond `left` have no weight
        eyes = policy.see(history)
        x = policy.chosen(eyes, torch.from_numpy(drawn))
        for step in range(spec.steps):
            time = step / spec.steps
            x = x.detach().requires_grad_(True)
            velocity = policy.velocity(eyes, x, torch.full((1, 1), time))
            end = x + (1.0 - time) * velocity
            error = weight * (wanted - end.detach())
            (towards,) = torch.autograd.grad(end, x, error)
            x = x + (velocity + _strength(time) * towards) / spec.steps
        actions: Float32Array = policy.actions(x.detach(), history)[0].numpy()
        return at_levels(actions, spec.levels)


def _strength(time: float) -> float:
    """The strength of the guidance at a time of the flow, from noise at 0 to a chunk at 1."""
    if not time:
        return GUIDANCE
    spread = (1.0 - time) ** 2 / (time**2 + (1.0 - time) ** 2)
    return min(GUIDANCE, (1.0 - time) / (time * spread))


@dataclass(slots=True)
class _LateEpisode:
    state: PolicyState
    left: Float32Array  # of the last chunk, from the period in which the next one is asked for
    plan: Float32Array


class LatePolicy:
    """A policy on twins whose chunks are there some periods after they were asked for.

    An episode's first chunk is awaited at rest. Nothing is explored.
    """

    def __init__(self, policy: Chunked, delay: int) -> None:
        """delay: in control periods; raises PolicyError if chunks are too short for it."""
        self._spec, self._schedule = policy.spec, Schedule.of(policy.spec, delay)
        self._joined = joining(policy)
        self._stations: dict[int, _LateEpisode] = {}

    def begin(self, row: int, rng: np.random.Generator, exploration: float) -> None:
        """Forget the last episode on this station."""
        nothing = np.zeros((0, self._spec.action), np.float32)
        self._stations[row] = _LateEpisode(PolicyState.of(self._spec, rng), nothing, nothing)

    def act(self, rows: Rows, observations: Float32Array, readings: Readings) -> Float32Array:
        """The next action of each station; where the plan is over, another chunk is asked for."""
        actions = np.empty((len(rows), self._spec.action), np.float32)
        for i, row in enumerate(rows.tolist()):
            station = self._stations[row]
            station.state.see(observations[i])
            if not len(station.plan):
                self._ask(station)
            actions[i], station.plan = station.plan[0], station.plan[1:]
        return actions

    def plan(self, row: int) -> Float32Array:
        """What is carried out until the next chunk is asked for."""
        station = self._stations[row]
        rest, station.plan = station.plan, station.plan[:0]
        return rest

    def saw(self, row: int, observations: Float32Array) -> None:
        """Remember what was seen while a plan was carried out."""
        for observation in observations:
            self._stations[row].state.see(observation)

    def _ask(self, station: _LateEpisode) -> None:
        delay, every = self._schedule.delay, self._schedule.every
        state, left = station.state, station.left
        chunk = self._joined(state.history(self._spec), state.rng, left, delay)
        going_on = left[:delay]
        station.plan = np.concatenate([going_on, chunk[len(going_on) : every]])
        station.left = chunk[every:]
