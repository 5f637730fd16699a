"""Whether `meta/stats.json` was made of a dataset's own numbers; nothing here learns from it."""

from __future__ import annotations

from typing import Any

import numpy as np

from enpire.datasets.folder import Frames
from enpire.json_text import parsed
from enpire.types import FloatArray

STATS = "meta/stats.json"
OFF = 0.05  # of what an entry goes through, by which its lowest and highest may differ
MEANT = 0.1  # of an entry's spread, by which its mean and its spread may differ
ROUNDED = 1e-3  # and what they may differ by anyhow


def told_statistics(frames: Frames, column: str) -> str:
    """Tell where a dataset's statistics are none of a column's numbers.

    Args:
        frames: All frames of the dataset, with this column.
        column: Its name.

    Returns:
        What is told; empty without statistics of it, or where they fit.
    """
    path = frames.folder / STATS
    if not path.is_file():
        return ""
    try:
        said = parsed(path.read_text("utf-8-sig"))
    except (OSError, ValueError) as error:
        return f"without {STATS}, which cannot be read: {error}"
    if not isinstance(said, dict):
        return f"without {STATS}, which holds no table"
    about = said.get(column)
    if not isinstance(about, dict):
        return ""
    values, _ = frames.numbers(column)
    spread = values.std(axis=0)
    for name, there, most in (
        ("min", values.min(axis=0), OFF * np.ptp(values, axis=0)),
        ("max", values.max(axis=0), OFF * np.ptp(values, axis=0)),
        ("mean", values.mean(axis=0), MEANT * spread),
        ("std", spread, MEANT * spread),
    ):
        claimed = _numbers(about.get(name))
        if claimed is None:
            continue
        if claimed.shape != there.shape:
            return f"{STATS} has {claimed.size} entries of {column}, and frames have {there.size}"
        off = ~(abs(claimed - there) <= most + ROUNDED)
        if off.any():
            at = int(np.argmax(off))
            return (
                f"{STATS} has a {name} of {claimed[at]:.3g} for entry {at} of {column}, and the "
                f"frames one of {there[at]:.3g}: made of another dataset?"
            )
    count = _numbers(about.get("count"))
    if count is not None and count.size and (count != len(values)).any():
        return (
            f"{STATS} counts {count.flat[0]:g} frames of {column}, and there are {len(values)}: "
            "made of another dataset, or of a part of this one?"
        )
    return ""


def _numbers(said: Any) -> FloatArray | None:
    """Return a statistic, (n,); None where there is none; no entry where it is none of numbers."""
    if said is None:
        return None
    try:
        return np.asarray(said, np.float64).ravel()
    except (TypeError, ValueError):
        return np.zeros(0)
