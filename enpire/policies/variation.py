"""Variations of a chunk: what stations try out, and what a recipe weighs.

A variation shifts all actions of a chunk by one offset, along a few axes at a time, from timid to
bold. It lasts as long as a chunk, which is long enough to take a hand somewhere else: white noise
only shakes it. The boldest take it as far as its actions go: back from where it is stuck, which no
demonstration may have shown. A recipe that asks about the same variations as the stations tried out
asks about what it has seen.
"""

from __future__ import annotations

import numpy as np

from enpire.types import FloatArray

AXES = 0.2  # chance that an axis takes part
DECADES = (-0.6, 1.0)  # the sizes are spread evenly between these powers of ten


def variations(rng: np.random.Generator, shape: tuple[int, ...], size: int) -> FloatArray:
    """Offsets (*shape, size), in units of the actions' own spread."""
    direction = rng.standard_normal((*shape, size)) * (rng.random((*shape, size)) < AXES)
    result: FloatArray = direction * 10.0 ** rng.uniform(*DECADES, (*shape, 1))
    return result
