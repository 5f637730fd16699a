"""Pushes that hold a script off its course."""

from __future__ import annotations

import numpy as np
import pytest

from enpire.environment.gym_bridge.pushes import LASTS, Pushes

ACTION = np.array([0.5, -1.0, 0.0], np.float32)


def test_without_a_share_nothing_is_pushed() -> None:
    pushes = Pushes(np.random.default_rng(0), 0.0)
    assert all(pushes.changed(ACTION) is ACTION for _ in range(1000))
    assert all(pushes.free)


@pytest.mark.parametrize("share", [0.1, 0.4, 0.9])
def test_pushes_have_their_share_of_the_periods(share: float) -> None:
    pushes = Pushes(np.random.default_rng(0), share)
    done = np.array([pushes.changed(ACTION) for _ in range(50_000)])
    assert np.abs(done).max() <= 1.0
    pushed = ~np.array(pushes.free)
    assert pushed.mean() == pytest.approx(share, abs=0.02)
    np.testing.assert_array_equal((done != ACTION).any(axis=1), pushed)


def test_a_push_lasts_and_is_one_and_the_same() -> None:
    pushes = Pushes(np.random.default_rng(0), 0.05)
    done = np.array([pushes.changed(0.0 * ACTION) for _ in range(50_000)])
    changes = np.flatnonzero((np.diff(done, axis=0) != 0.0).any(axis=1))
    begun = np.flatnonzero(np.diff(np.array(pushes.free, int)) == -1)
    ended = np.flatnonzero(np.diff(np.array(pushes.free, int)) == 1)
    assert set(begun) | set(ended) <= set(changes)
    lasting = ended[: len(begun)] - begun[: len(ended)]
    assert lasting.min() >= LASTS[0]
    np.testing.assert_allclose(done[~np.array(pushes.free)].mean(axis=0), 0.0, atol=0.1)
