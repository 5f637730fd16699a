"""Episodes as training examples, against an example worked by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from enpire.environment import Idleness
from enpire.errors import RecipeError
from enpire.improvement.data import MIN_STD, examples, stands_still
from enpire.policies import ChunkSpec
from tests.store.samples import episode

SPEC = ChunkSpec("t", observation=1, action=1, history=2, stride=2, chunk=3)


def counted(id: str, first: int, length: int, **changes: object):  # type: ignore[no-untyped-def]
    """An episode whose observations and actions count on from `first`."""
    numbers = np.arange(first, first + length, dtype=np.float32)[:, None]
    return episode(id, length, observations=numbers, actions=10 * numbers, **changes)


def test_a_hand_worked_example() -> None:
    data = examples([counted("a", 1, 4), counted("b", 5, 2)], SPEC)
    assert len(data) == 6
    assert data.rows[:, 0].tolist() == [1, 2, 3, 4, 5, 6]
    # two periods back and now; never before the episode's own start
    assert data.window.tolist() == [[0, 0], [0, 1], [0, 2], [1, 3], [4, 4], [4, 5]]
    # now and two ahead; past the end the last action stands in, and does not count
    assert data.actions[:, :, 0].tolist() == [
        [10, 20, 30],
        [20, 30, 40],
        [30, 40, 40],
        [40, 40, 40],
        [50, 60, 60],
        [60, 60, 60],
    ]
    assert data.valid.tolist() == [
        [True, True, True],
        [True, True, True],
        [True, True, False],
        [True, False, False],
        [True, True, False],
        [True, False, False],
    ]
    assert data.weight.tolist() == [1.0] * 6
    assert data.action_mean.tolist() == [35.0]
    assert data.action_std.item() == pytest.approx(np.std([10, 20, 30, 40, 50, 60]))


def test_weights_are_per_episode_and_of_mean_one() -> None:
    data = examples([counted("a", 1, 4), counted("b", 5, 2)], SPEC, weights=[1.0, 4.0])
    assert data.weight.mean().item() == pytest.approx(1.0)
    assert data.weight.tolist() == pytest.approx([0.5] * 4 + [2.0] * 2)


def test_an_episode_shorter_than_a_chunk() -> None:
    data = examples([counted("a", 7, 1)], SPEC)
    assert data.actions.flatten().tolist() == [70, 70, 70]
    assert data.valid.tolist() == [[True, False, False]]


def test_an_empty_episode_adds_nothing() -> None:
    alone = examples([counted("a", 1, 4)], SPEC)
    data = examples([counted("e", 0, 0), counted("a", 1, 4), counted("f", 0, 0)], SPEC)
    assert data.window.tolist() == alone.window.tolist()
    assert data.weight.tolist() == alone.weight.tolist()


def test_an_action_that_never_varies_has_a_spread() -> None:
    still = episode("a", 5, observations=np.ones((5, 1), np.float32), actions=np.ones((5, 1), "f4"))
    assert examples([still], SPEC).action_std.item() == pytest.approx(MIN_STD)


def test_no_episodes() -> None:
    with pytest.raises(RecipeError, match="no episode to learn from"):
        examples([], SPEC)


@pytest.mark.parametrize("wrong", ["observations", "actions"])
def test_shapes_that_do_not_fit(wrong: str) -> None:
    bad = counted("bad", 0, 3)
    bad = episode(
        "bad",
        3,
        **{
            "observations": bad.observations,
            "actions": bad.actions,
            wrong: np.zeros((3, 2), np.float32),
        },
    )
    with pytest.raises(RecipeError, match=r"episode bad: .*do not fit"):
        examples([counted("a", 1, 4), bad], SPEC)


def test_who_stands_still_for_so_many_periods_is_told_from_who_slows_down() -> None:
    steps = [1.0, 0.1, 1.0, 0.1, 0.2, 0.1, 1.0, 0.0]
    actions = np.zeros((8, 7), np.float32)
    actions[:, 1], actions[:, 3], actions[:, 6] = steps, 1.0, -1.0  # 3 moves nothing, 6 closes
    idle = Idleness(0.25, (0, 1, 2))
    assert stands_still(actions, idle, 2).tolist() == [0, 0, 0, 1, 1, 0, 0, 1]
    assert stands_still(actions, idle, 1).tolist() == [0, 1, 0, 1, 1, 1, 0, 1]


def test_a_chunk_ends_where_a_helper_let_go() -> None:
    helped = np.array([0, 1, 1, 1, 0, 0, 1, 1], bool)
    data = examples([counted("a", 1, 8, intervened=helped)], replace(SPEC, chunk=4))
    valid = data.valid.numpy()
    np.testing.assert_array_equal(valid[1], [1, 1, 1, 0])
    np.testing.assert_array_equal(valid[3], [1, 0, 0, 0])
    np.testing.assert_array_equal(valid[6], [1, 1, 0, 0])
    np.testing.assert_array_equal(valid[0], [1, 1, 1, 1], "not the helper's: as it was carried out")
