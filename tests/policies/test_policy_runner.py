"""The driver: what the network sees, which of its actions are carried out, with what noise."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from enpire.policies import ChunkPolicy, ChunkSpec, PolicyController
from enpire.policies.variation import AXES

SPEC = ChunkSpec("t", observation=1, action=2, history=3, stride=2, chunk=4, execute=3, hidden=(8,))


class Seen(ChunkPolicy):
    """Keeps what it saw; its actions count upwards, so that each is known again."""

    def __init__(self, spec: ChunkSpec = SPEC) -> None:
        super().__init__(spec)
        self.seen: list[np.ndarray] = []

    def inference(self) -> Callable[[np.ndarray], np.ndarray]:
        return self.answer

    def answer(self, history: np.ndarray) -> np.ndarray:
        self.seen.append(history[:, :, 0].copy())
        number = 100 * len(self.seen) + np.arange(self.spec.chunk)
        shape = (len(history), self.spec.chunk, self.spec.action)
        return np.broadcast_to(number[None, :, None], shape).astype(np.float32).copy()


def begin(
    controller: PolicyController, row: int = 0, seed: int = 0, exploration: float = 0
) -> None:
    controller.begin(row, np.random.default_rng(seed), exploration)


def act(controller: PolicyController, value: float, *rows: int) -> np.ndarray:
    chosen = np.array(rows or (0,))
    observations = np.full((len(chosen), SPEC.observation), value, np.float32)
    return controller.act(chosen, observations, None)


def test_history_is_padded_with_the_first_observation() -> None:
    policy = Seen()
    controller = PolicyController(policy)
    begin(controller)
    for value in range(7, 14):
        act(controller, value)
    first, second, third = (list(seen[0]) for seen in policy.seen)
    assert first == [7, 7, 7]
    assert second == [7, 8, 10]
    assert third == [9, 11, 13]


def test_a_chunk_is_carried_out_in_order() -> None:
    controller = PolicyController(Seen())
    begin(controller)
    carried_out = [act(controller, 0.0)[0, 0] for _ in range(7)]
    assert carried_out == [100, 101, 102, 200, 201, 202, 300]


def test_an_episode_forgets_the_last_one() -> None:
    policy = Seen()
    controller = PolicyController(policy)
    begin(controller)
    for value in range(4):
        act(controller, value)
    begin(controller)
    act(controller, 50)
    assert list(policy.seen[-1][0]) == [50, 50, 50]


def test_stations_that_need_a_chunk_share_one_inference() -> None:
    policy = Seen()
    controller = PolicyController(policy)
    for row in range(3):
        begin(controller, row)
    act(controller, 1.0, 0, 2)
    act(controller, 2.0, 0, 1, 2)
    assert [len(seen) for seen in policy.seen] == [2, 1]
    act(controller, 3.0, 0, 1, 2)
    act(controller, 4.0, 0, 1, 2)
    assert [len(seen) for seen in policy.seen] == [2, 1, 2]


def random_policy() -> ChunkPolicy:
    tensors = ChunkPolicy(SPEC).tensors()
    rng = np.random.default_rng(3)
    tensors = {k: rng.normal(0, 0.5, v.shape).astype(np.float32) for k, v in tensors.items()}
    tensors["std"] = abs(tensors["std"]) + 0.5
    tensors["spread"] = np.array([0.5, 0.0], np.float32)
    return ChunkPolicy.from_tensors(SPEC, tensors)


def roll(rows: list[int], exploration: float, seed: int = 0) -> dict[int, np.ndarray]:
    """Actions of 12 periods by row, each row with observations and a seed of its own."""
    controller = PolicyController(random_policy())
    for row in rows:
        begin(controller, row, seed + row, exploration)
    actions = []
    for period in range(12):
        observations = np.array([[np.sin(period + row)] for row in rows], np.float32)
        actions.append(controller.act(np.array(rows), observations, None))
    return {row: np.array(actions)[:, i] for i, row in enumerate(rows)}


@pytest.mark.parametrize("exploration", [0.0, 0.4])
def test_a_batch_of_stations_equals_single_ones(exploration: float) -> None:
    together = roll([0, 1, 3], exploration)
    for row in (0, 1, 3):
        alone = roll([row], exploration)
        np.testing.assert_array_equal(alone[row], together[row])


def test_without_exploration_nothing_is_random() -> None:
    np.testing.assert_array_equal(roll([0], 0.0, seed=1)[0], roll([0], 0.0, seed=2)[0])


def test_exploration_repeats_by_its_seed() -> None:
    plain, varied, same, other = (
        roll([0], size, seed)[0] for size, seed in ((0.0, 3), (1.0, 3), (1.0, 3), (1.0, 4))
    )
    np.testing.assert_array_equal(varied, same)
    assert abs(varied - other)[:, 0].max() > 0.01
    assert abs(varied - plain)[:, 0].max() > 0.01


def test_axes_that_nobody_moves_are_not_explored() -> None:
    noise = roll([0], 1.0)[0] - roll([0], 0.0)[0]
    assert noise[:, 0].any()
    assert not noise[:, 1].any()


class Zero(Seen):
    """Would hold still."""

    def answer(self, history: np.ndarray) -> np.ndarray:
        return np.zeros((len(history), self.spec.chunk, self.spec.action), np.float32)


def offsets(exploration: float, chunks: int) -> np.ndarray:
    """What a policy that would hold still does, a row a chunk."""
    controller = PolicyController(Zero())
    begin(controller, 0, 5, exploration)
    actions = np.array([act(controller, 0.0)[0] for _ in range(chunks * SPEC.execute)])
    by_chunk = actions.reshape(chunks, SPEC.execute, SPEC.action)
    np.testing.assert_array_equal(by_chunk, by_chunk[:, :1].repeat(SPEC.execute, axis=1))
    return by_chunk[:, 0]


def test_a_variation_shifts_whole_chunks_for_as_long_as_the_policy_looked_ahead() -> None:
    moved = offsets(1.0, 400)
    lasts = -(-SPEC.chunk // SPEC.execute)
    held = moved.reshape(-1, lasts, SPEC.action)
    np.testing.assert_array_equal(held, held[:, :1].repeat(lasts, axis=1))
    assert len(np.unique(held[:, 0], axis=0)) > 70  # of 200: in two of three, no axis takes part


@pytest.mark.parametrize("exploration", [0.1, 0.5])
def test_exploration_is_the_chance_that_a_chunk_is_varied(exploration: float) -> None:
    moved = offsets(exploration, 8000)[:, 0] != 0.0
    assert moved.mean() == pytest.approx(exploration * AXES, rel=0.15)


def test_actions_that_were_handed_over_are_left_alone() -> None:
    controller = PolicyController(Seen())
    begin(controller, 0, 5, 1.0)
    first = act(controller, 0.0)
    kept = first.copy()
    for _ in range(2 * SPEC.execute):
        act(controller, 0.0)
    np.testing.assert_array_equal(first, kept)
