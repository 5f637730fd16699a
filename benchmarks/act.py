"""What an answer of a policy takes, beside a bare forward pass of the same network in torch.

Ours goes from observations to a chunk of actions as NumPy arrays, row by row, so that an answer
hangs on no other row. The bare pass is the policy's module under `torch.inference_mode`, all rows
together, from a tensor to a tensor. What a flow draws is given to both. `period` is what stations
wait for: the controller's whole work in a control period, most of which go on with their chunk.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch

from benchmarks.turns import OURS, Comparison, compare, take_turns
from enpire.environment.control.sensing import Readings
from enpire.policies import ChunkPolicy, ChunkSpec, FlowPolicy, FlowSpec
from enpire.types import Float32Array

ROWS = 1, 32
SPEC = ChunkSpec("measured", observation=40, action=7)  # as of `pin_box`, about


@dataclass(frozen=True, slots=True)
class ActBench:
    """What was measured. period_s: processor time of a period of so many stations, by work [s].

    calls: answers of a turn.
    """

    compared: tuple[Comparison, ...]
    period_s: dict[str, float]
    calls: int
    blocks: int

    def as_json(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Answer:
    """Both ways to one answer, and the controller that asks for it."""

    ours: Callable[[], Float32Array]
    bare: Callable[[], torch.Tensor]
    period: Callable[[], Float32Array]


def bench_act(calls: int = 200, blocks: int = 5, seed: int = 0) -> ActBench:
    """Measure both kinds of policies with random weights; calls: answers of a turn."""
    compared, period_s = [], {}
    for kind in ("chunk", "flow"):
        for rows in ROWS:
            asked, work = answer(kind, rows, seed), f"{kind}, {rows} rows"
            sides = {OURS: _times(asked.ours, calls), "torch": _times(asked.bare, calls)}
            compared.append(compare(work, sides, blocks))
            taken = take_turns({work: _times(asked.period, calls)}, blocks)[work]
            period_s[work] = taken.processor_s / calls
    return ActBench(tuple(compared), period_s, calls, blocks)


def _times(call: Callable[[], object], calls: int) -> Callable[[], None]:
    def turn() -> None:
        for _ in range(calls):
            call()

    return turn


def answer(kind: str, rows: int, seed: int = 0) -> Answer:
    """Return both ways for a new policy with random weights, seeing random observations."""
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    history = rng.standard_normal((rows, SPEC.history, SPEC.observation), np.float32)
    observations, every = history[:, -1], np.arange(rows)
    seen = torch.from_numpy(history)
    made = FlowPolicy(FlowSpec.of(SPEC)) if kind == "flow" else ChunkPolicy(SPEC)
    policy = made.eval()
    # Station drivers ask any controller like this; ours looks at observations alone.
    controller: Any = policy.controller(None)  # type: ignore[arg-type]
    for row in range(rows):
        controller.begin(row, np.random.default_rng(row), 0.0)

    def period() -> Float32Array:
        acted: Float32Array = controller.act(every, observations, NOTHING_READ)
        return acted

    if isinstance(policy, FlowPolicy):
        size, infer = policy.noise_size, policy.inference()
        drawn = rng.standard_normal((rows, size), np.float32)
        noise = torch.from_numpy(drawn)
        return Answer(
            lambda: infer(history, drawn), lambda: _without_slopes(policy, seen, noise), period
        )
    infer_chunk = policy.inference()
    return Answer(lambda: infer_chunk(history), lambda: _without_slopes(policy, seen), period)


NOTHING_READ: Readings = None  # type: ignore[assignment]  # a policy that sees rows reads no sensor


def _without_slopes(policy: torch.nn.Module, *seen: torch.Tensor) -> torch.Tensor:
    with torch.inference_mode():
        actions: torch.Tensor = policy(*seen)
    return actions
