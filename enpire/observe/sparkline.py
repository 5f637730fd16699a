"""Rates in a line of text: one character each, as high as the rate."""

from __future__ import annotations

from collections.abc import Sequence

HEIGHTS = "▁▂▃▄▅▆▇█"
MOST = 24  # characters


def sparkline(rates: Sequence[float], most: int = MOST) -> str:
    """Return a character for each rate in [0, 1], the last `most` of them; empty without any."""
    top = len(HEIGHTS) - 1
    return "".join(HEIGHTS[round(min(max(rate, 0.0), 1.0) * top)] for rate in rates[-most:])
