"""Two samples of starts: one distribution, or two."""

from __future__ import annotations

import numpy as np
import pytest

from enpire.certification.physical_resets import same_starts

COUNT = 200


def starts(shift: float, scale: float, seed: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    drawn = rng.uniform(-1, 1, (COUNT, 3))
    drawn[:, 1] = shift + scale * drawn[:, 1]
    drawn[:, 2] = 0.75
    return list(drawn)


def test_starts_of_one_distribution_are_alike() -> None:
    row = same_starts(starts(0, 1, 1), starts(0, 1, 2))
    assert (row.passed, row.hits, row.trials) == (True, 0, 3)


@pytest.mark.parametrize(("shift", "scale"), [(0.4, 1.0), (0.0, 0.4)])
def test_a_shifted_or_narrower_entry_is_found_and_named(shift: float, scale: float) -> None:
    row = same_starts(starts(0, 1, 1), starts(shift, scale, 2))
    assert (row.passed, row.hits) == (False, 1)
    assert "entry 1," in row.detail


def test_what_friction_leaves_is_not_looked_for() -> None:
    short = [start - np.array([0, 0, 0.005]) for start in starts(0, 1, 2)]
    assert same_starts(starts(0, 1, 1), short).passed is True
    far = [start - np.array([0, 0, 0.1]) for start in starts(0, 1, 2)]
    assert same_starts(starts(0, 1, 1), far).passed is False


def test_no_starts_prove_nothing() -> None:
    assert same_starts([], starts(0, 1, 1)).passed is False
