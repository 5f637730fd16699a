"""Entries of an action that know only a few values, as of a gripper that is open or shut.

A network that was shown two values answers with what lies between them: it is unsure, or its noise
moves it. A gripper that is told -0.87 rather than -1 opens by millimetres and drops a pin. So a
policy whose gripper was only ever shown a few values says the nearest of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
import torch
from torch import Tensor

from enpire.errors import PolicyError
from enpire.types import Float32Array

type Levels = tuple[tuple[int, float], ...]
"""Pairs (entry of an action, value that it may have), by entry and value."""

MOST = 4  # values of an entry; one that was shown more of them may have any
SAME = 1e-4  # two values that differ by no more are one


def require_levels(levels: Levels, action: int) -> None:
    """Raise PolicyError unless these are of entries of an action of that size."""
    try:
        fit = all(0 <= entry < action and -1.0 <= value <= 1.0 for entry, value in levels)
    except (TypeError, ValueError):
        fit = False
    if not fit:
        raise PolicyError(f"levels {levels!r} are no pairs of an action's entry and its value")


def levels_shown(actions: Float32Array, entries: Sequence[int]) -> Levels:
    """Return the values of those of the `entries` that have no more than `MOST`.

    actions: (n, act), all that were shown.
    """
    found: list[tuple[int, float]] = []
    for entry in entries:
        values = np.unique(actions[:, entry])
        apart = values[np.diff(values, prepend=-np.inf) > SAME]
        if len(apart) <= MOST:
            found += [(entry, float(value)) for value in apart]
    return tuple(found)


def at_levels(actions: Float32Array, levels: Levels) -> Float32Array:
    """Return actions (..., act) with the nearest value in entries that have levels."""
    if not levels:
        return actions
    settled = actions.copy()
    for entry, values in _by_entry(levels):
        away = abs(actions[..., entry, None] - values)
        settled[..., entry] = values[away.argmin(axis=-1)]
    return settled


def tensor_at_levels(actions: Tensor, levels: Levels) -> Tensor:
    """The same of a tensor. Its gradient passes those entries as if nothing were done there."""
    if not levels:
        return actions
    settled = torch.from_numpy(at_levels(actions.detach().cpu().numpy(), levels)).to(actions)
    return actions + (settled - actions).detach()


@cache  # asked for with every chunk
def _by_entry(levels: Levels) -> tuple[tuple[int, Float32Array], ...]:
    entries = dict.fromkeys(entry for entry, _ in levels)
    return tuple(
        (entry, np.array([value for at, value in levels if at == entry], np.float32))
        for entry in entries
    )
