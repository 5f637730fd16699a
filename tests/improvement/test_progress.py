"""Progress between start and goal, and what a potential leaves as it is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from enpire.errors import RecipeError
from enpire.improvement.progress import hop, learn_progress
from enpire.improvement.replay import Transitions, shaped
from enpire.types import Episode, Outcome, Verdict
from tests.store.samples import episode

CELLS, GAMMA = 6, 0.9


def way(name: str, length: int, won: bool = True) -> Episode:
    """From -1 to 1 in so many rows, with a second observation that says nothing; lost ones stay."""
    rng = np.random.default_rng(list(name.encode()))
    verdict = Verdict(Outcome.SUCCESS if won else Outcome.FAILURE)
    made = episode(name, length, verdict=verdict)
    place = np.linspace(-1, 1 if won else -0.9, length)
    seen = np.stack([place, rng.standard_normal(length)], axis=1)
    seen = seen.astype(np.float32)
    seen.flags.writeable = False  # as what is read from a run
    return replace(made, observations=seen)


def test_hops_by_hand() -> None:
    before = torch.tensor([0.0, 0.5, 0.5, 0.8, 1.0, 0.3])
    after = torch.tensor([0.4, 0.75, 0.25, 0.0, 0.6, 0.3])
    # Half of what was to go; half of what was done, back; all of it; nothing.
    torch.testing.assert_close(
        hop(before, after), torch.tensor([0.4, 0.5, -0.5, -1.0, -0.4, 0.0]), atol=1e-6, rtol=0.0
    )


def test_hops_add_up_within_start_and_goal() -> None:
    rng = torch.Generator().manual_seed(0)
    progress = torch.tensor(0.5)
    for size in torch.empty(200).uniform_(-1, 1, generator=rng):
        progress = progress + size * ((1 - progress) if size >= 0 else progress)
        assert 0.0 <= progress <= 1.0


@pytest.mark.filterwarnings("error")
def test_progress_is_by_place_and_not_by_time() -> None:
    torch.manual_seed(0)
    episodes = [way(f"w{i}", 20 + 4 * (i % 5)) for i in range(20)]
    progress = learn_progress(
        [*episodes, way("lost", 30, won=False)], 400, torch.Generator().manual_seed(0)
    )
    place = torch.linspace(-1, 1, 9)
    found = progress(torch.stack([place, torch.zeros(9)], dim=1))
    assert (found.diff() > 0).all()
    torch.testing.assert_close(found, (place + 1) / 2, atol=0.15, rtol=0.0)


def test_no_success_shows_no_way() -> None:
    with pytest.raises(RecipeError, match="no episode succeeded"):
        learn_progress([way("lost", 9, won=False)], 3, torch.Generator())


def corridor() -> Transitions:
    """A step left or right in every cell, with a goal right of the last and a pit left of it."""
    cell = torch.arange(CELLS, dtype=torch.float32).repeat(2)
    move = torch.tensor([1.0, -1.0]).repeat_interleave(CELLS)
    then = cell + move
    over = (then == CELLS) | (then < 0)
    return Transitions(
        history=cell.view(-1, 1, 1),
        actions=move.view(-1, 1, 1),
        reward=torch.where(then == CELLS, 1.0, torch.where(then < 0, 0.8, 0.0)),
        discount=torch.where(over, 0.0, GAMMA),
        later=then.clamp(0, CELLS - 1).view(-1, 1, 1),
        followed=torch.zeros(len(cell)),
    )


def best(data: Transitions) -> torch.Tensor:
    """The value (2, cells) of each step when all later ones are the best, by value iteration."""
    q = torch.zeros(2, CELLS)
    for _ in range(200):
        later = q.max(dim=0).values[data.later.flatten().long()]
        q = (data.reward + data.discount * later).view(2, CELLS)
    return q


@pytest.mark.parametrize("seed", range(5))
def test_shaping_leaves_the_best_policy_as_it_is(seed: int) -> None:
    """However wrong the potential; values change by that of where they begin."""
    data = corridor()
    potential = 3 * torch.randn(CELLS, generator=torch.Generator().manual_seed(seed))
    now, then = (potential[h.flatten().long()] for h in (data.history, data.later))
    plain, changed = best(data), best(shaped(data, now, then))
    assert torch.equal(plain.argmax(dim=0), changed.argmax(dim=0))
    assert set(plain.argmax(dim=0).tolist()) == {0, 1}, "both ways are best somewhere"
    torch.testing.assert_close(changed, plain - potential)


def test_a_reward_that_is_no_difference_does_not() -> None:
    """Paid for progress as it is, one would rather go on making it."""
    data = corridor()
    there = data.history.flatten() / CELLS
    paid = best(replace(data, reward=data.reward + there))
    assert not torch.equal(paid.argmax(dim=0), best(data).argmax(dim=0))
