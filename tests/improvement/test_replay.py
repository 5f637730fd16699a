"""Chunks as transitions, priorities and shaping, against numbers worked by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from enpire.errors import RecipeError
from enpire.improvement.replay import Transitions, transitions
from enpire.policies import ChunkSpec
from enpire.types import Episode, Outcome, Verdict
from tests.store.samples import episode

SPEC = ChunkSpec("t", observation=1, action=1, history=2, stride=1, chunk=3, execute=2)


def counted(id: str, first: int, length: int, won: bool) -> Episode:
    """An episode whose observations and actions count on from `first`."""
    numbers = np.arange(first, first + length, dtype=np.float32)[:, None]
    verdict = Verdict(Outcome.SUCCESS if won else Outcome.FAILURE)
    return episode(id, length, observations=numbers, actions=10 * numbers, verdict=verdict)


def some(n: int) -> Transitions:
    rows = torch.arange(n, dtype=torch.float32)
    history = rows.view(n, 1, 1)
    return Transitions(history, history, rows, torch.ones(n), history, rows)


def test_a_hand_worked_example() -> None:
    data = transitions([counted("a", 1, 4, won=True), counted("b", 5, 3, won=False)], SPEC, 0.5)
    assert data.history[..., 0].tolist() == [[1, 1], [1, 2], [2, 3], [3, 4], [5, 5], [5, 6], [6, 7]]
    assert data.actions[..., 0].tolist() == [
        [10, 20],
        [20, 30],
        [30, 40],
        [40, 40],
        [50, 60],
        [60, 70],
        [70, 70],
    ]
    # A success pays at its last row: at once in a chunk of it alone, a period later one earlier.
    assert data.reward.tolist() == [0, 0, 0.5, 1, 0, 0, 0]
    assert data.followed.tolist() == [0.125, 0.25, 0.5, 1, 0, 0, 0]
    # Two periods later there is more to come, unless the episode is over by then.
    assert data.discount.tolist() == [0.25, 0.25, 0, 0, 0.25, 0, 0]
    on = data.discount > 0
    assert data.later[on][..., 0].tolist() == [[2, 3], [3, 4], [6, 7]]


def test_returns_are_what_rewards_add_up_to() -> None:
    data = transitions([counted("a", 0, 7, won=True)], SPEC, 0.9)
    for at in range(5):
        step = data.reward[at] + data.discount[at] * data.followed[at + 2]
        assert step.item() == pytest.approx(data.followed[at].item())


def test_no_episode() -> None:
    with pytest.raises(RecipeError, match="no episode"):
        transitions([], SPEC, 0.9)


def test_all_are_drawn_alike() -> None:
    drawn = some(4).sample(4000, torch.Generator().manual_seed(0))
    assert torch.bincount(drawn.reward.long(), minlength=4).min() > 900
