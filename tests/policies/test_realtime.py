"""Chunks that come late are joined where they come, and nobody waits for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from enpire.errors import PolicyError
from enpire.policies import ChunkPolicy, ChunkSpec
from enpire.policies.realtime import LatePolicy, Schedule, joining, pull

from .test_flow import SPEC as FLOW
from .test_flow import policy as flow_policy

SPEC = ChunkSpec("t", observation=1, action=7, history=1, chunk=12, execute=6, hidden=(8,))
PERIODS = 60


class Line(ChunkPolicy):
    """Its chunks go on from what it sees, one up a period; each is `off` from the last one."""

    def __init__(self, off: float = 0.0) -> None:
        super().__init__(SPEC)
        self.asked: list[float] = []
        self.off = off

    def inference(self) -> Callable[[np.ndarray], np.ndarray]:
        return self.answer

    def answer(self, history: np.ndarray) -> np.ndarray:
        self.asked.append(float(history[0, -1, 0]))
        start = self.asked[-1] + self.off * (len(self.asked) % 2)
        chunk = start + np.arange(SPEC.chunk)
        return np.repeat(chunk[None, :, None], SPEC.action, axis=2).astype(np.float32)


def begin(controller: LatePolicy) -> None:
    controller.begin(0, np.random.default_rng(0), 0.0)


def act(controller: LatePolicy, period: int) -> float:
    seen = np.full((1, 1), period, np.float32)
    return float(controller.act(np.array([0]), seen, None)[0, 0])  # type: ignore[arg-type]


def test_what_is_done_is_kept_and_what_is_meant_fades() -> None:
    weight = pull(3, 8, 12)
    assert (weight[:3] == 1.0).all()
    assert (np.diff(weight[2:9]) < 0.0).all()
    assert (weight[8:] == 0.0).all()


def test_a_chunk_must_last_until_the_next_one_is_there() -> None:
    assert Schedule.of(SPEC, 0) == Schedule(0, 6)
    assert Schedule.of(SPEC, 4) == Schedule(4, 4)
    assert Schedule.of(SPEC, 6) == Schedule(6, 6)
    with pytest.raises(PolicyError, match="14 are needed"):
        Schedule.of(SPEC, 7)


@pytest.mark.parametrize("delay", [0, 3, 6])
def test_aligned_chunks_leave_no_trace_of_the_delay(delay: int) -> None:
    controller = LatePolicy(Line(), delay)
    begin(controller)
    assert [act(controller, period) for period in range(PERIODS)] == list(range(PERIODS))


def test_a_late_chunk_counts_from_when_it_comes_and_joins_smoothly() -> None:
    policy = Line(off=5.0)
    controller = LatePolicy(policy, 4)
    begin(controller)
    done = np.array([act(controller, period) for period in range(PERIODS)])
    assert policy.asked == list(range(0, PERIODS, 4))
    off = done - np.arange(PERIODS)
    np.testing.assert_allclose(off[:8], 5.0)  # the second chunk is there four periods after 4
    assert abs(np.diff(off)).max() < 2.5  # of the 5 by which chunks differ
    assert off[8] < off[7]


def test_plans_are_what_it_would_have_done_period_by_period() -> None:
    planned, asked = (LatePolicy(Line(off=5.0), 4) for _ in range(2))
    begin(planned)
    begin(asked)
    one, other = [], [act(asked, period) for period in range(PERIODS)]
    while len(one) < PERIODS:
        one.append(act(planned, len(one)))
        plan = planned.plan(0)
        planned.saw(0, np.arange(len(one), len(one) + len(plan), dtype=np.float32)[:, None])
        one += plan[:, 0].tolist()
    assert one[:PERIODS] == other


def test_a_flow_is_guided_to_what_is_done_and_stays_itself_beyond() -> None:
    policy = flow_policy(replace(FLOW, chunk=8, steps=10))
    joined = joining(policy)
    seen = np.random.default_rng(1).standard_normal((FLOW.history, FLOW.observation))
    seen = seen.astype(np.float32)
    nothing = np.zeros((0, FLOW.action), np.float32)
    last = joined(seen, np.random.default_rng(2), nothing, 0)
    left = last[2:]

    def off(guided: bool) -> float:
        chunks = [
            joined(seen, np.random.default_rng(seed), left if guided else nothing, 3)
            for seed in range(10, 20)
        ]
        return float(np.mean([abs(chunk[:3] - left[:3]) for chunk in chunks]))

    assert off(True) < 0.5 * off(False)
    again = [joined(seen, np.random.default_rng(3), left, 3) for _ in range(2)]
    np.testing.assert_array_equal(*again)
