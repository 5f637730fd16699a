"""Variations: a few axes at a time, from timid to bold."""

from __future__ import annotations

import numpy as np

from enpire.policies import variations
from enpire.policies.variation import AXES, DECADES


def test_a_few_axes_take_part() -> None:
    offsets = variations(np.random.default_rng(0), (200, 30), 14)
    assert offsets.shape == (200, 30, 14)
    assert abs((offsets != 0).mean() - AXES) < 0.01


def test_sizes_are_spread_evenly_over_the_decades() -> None:
    offsets = variations(np.random.default_rng(1), (1000,), 4000)
    sizes = np.log10(np.sqrt((offsets**2).sum(axis=-1) / (offsets != 0).sum(axis=-1)))
    counts, _ = np.histogram(sizes, np.linspace(*DECADES, 5))
    assert counts.min() > 200
    assert counts.max() < 300


def test_they_repeat_by_their_seed() -> None:
    one, same, other = (variations(np.random.default_rng(s), (3,), 5) for s in (2, 2, 3))
    np.testing.assert_array_equal(one, same)
    assert (one != other).any()
