"""Episodes with pictures, for tests of what learns from them."""

from __future__ import annotations

from typing import Any

import numpy as np

from enpire.types import Episode
from tests.store.samples import episode


def filmed(id: str, length: int, every: int, side: int = 64, **changes: Any) -> Episode:
    """One in so many periods has pictures of two cameras; their first pixel tells the row."""
    pictured = np.arange(0, length, every)
    shape = len(pictured), 2, side, side, 3
    pictures = np.random.default_rng(length).integers(0, 256, shape, "u1")
    pictures[:, :, 0, 0, 0] = pictured[:, None]
    return episode(id, length, **{"pictures": pictures, "pictured": pictured} | changes)
