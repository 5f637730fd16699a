"""Values: what an ensemble is sure of, and in which units it is shown observations."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from enpire.improvement.value import LIMIT, Normaliser, lower_confidence_bound, regress, returns
from enpire.types import Episode
from tests.improvement.walking import walk


@pytest.fixture(scope="module")
def episodes() -> list[Episode]:
    return [walk(seed) for seed in range(150)]


def test_what_is_surely_better_by_hand() -> None:
    """Twice the ensemble's deviation of 1 is taken from what it says on average."""
    more = torch.tensor([[3.0, 0.0, 4.0], [4.0, 0.0, -4.0], [5.0, 0.0, 3.0]])
    sure = lower_confidence_bound(more, 2.0)
    assert sure[:2].tolist() == pytest.approx([2.0, 0.0])
    assert sure[2] < -7.0  # they do not agree which of the two is better


def test_that_all_agree_how_good_a_moment_is_does_not_matter() -> None:
    own, other = torch.tensor([[-9.0], [9.0]]), torch.tensor([[-8.0], [10.0]])
    assert lower_confidence_bound(other - own, 5.0).item() == pytest.approx(1.0)


def test_what_lies_far_off_leaves_what_is_near_apart() -> None:
    """Normal observations are in standard deviations, a few outliers change nothing."""
    generator = torch.Generator().manual_seed(0)
    usual = 3.0 + 0.5 * torch.randn(4000, 2, generator=generator)
    clean = Normaliser.of(usual)
    torch.testing.assert_close(clean.middle, torch.full((2,), 3.0), atol=0.05, rtol=0.0)
    torch.testing.assert_close(clean.unit, torch.full((2,), 0.5), atol=0.03, rtol=0.0)
    dropped = torch.full((200, 2), 90.0)
    found = Normaliser.of(torch.cat([usual, dropped]))
    torch.testing.assert_close(found.middle, clean.middle, atol=0.1, rtol=0.0)
    assert (found.unit > 1.0).all()  # no less than a tenth of the deviation, 18
    assert found(dropped).unique().tolist() == [LIMIT]


def test_what_hardly_ever_changes_has_a_unit() -> None:
    rare = torch.zeros(1000, 1)
    rare[:20] = 1.0
    assert Normaliser.of(rare).unit.item() == pytest.approx(0.014, abs=1e-3)
    assert Normaliser.of(torch.ones(10, 1)).unit.item() == pytest.approx(0.01)


def test_returns_are_discounted_from_the_end_and_zero_in_a_failure(episodes: list[Episode]) -> None:
    good = next(e for e in episodes if e.success)
    bad = next(e for e in episodes if not e.success)
    values = returns([good, bad], 0.5)
    assert values[19] == 1.0
    assert values[17] == 0.25
    assert not values[20:].any()


def test_value_falls_with_the_distance_from_the_goal(episodes: list[Episode]) -> None:
    rows = torch.from_numpy(np.concatenate([e.observations for e in episodes]))
    normalise = Normaliser.of(rows)
    targets = torch.from_numpy(returns(episodes, 0.95))
    torch.manual_seed(0)
    seen = normalise(rows)
    value = regress(lambda i: seen[i], targets, 32, 2, 300, torch.Generator().manual_seed(0))
    near, far = value.chance(normalise(torch.tensor([[0.0], [1.5]]))).tolist()
    assert near > far + 0.3


def test_members_of_an_ensemble_are_networks_of_their_own() -> None:
    rows = torch.linspace(-1, 1, 200)[:, None]
    torch.manual_seed(0)
    targets = (rows[:, 0] > 0).float()
    fitted = regress(lambda i: rows[i], targets, 16, 3, 50, torch.Generator().manual_seed(0))
    together = fitted(rows)
    assert together.shape == (3, 200)
    assert not torch.allclose(together[0], together[1])
    apart = fitted(torch.stack([rows, 0 * rows, rows]))
    torch.testing.assert_close(apart[[0, 2]], together[[0, 2]])
    assert not torch.allclose(apart[1], together[1])
