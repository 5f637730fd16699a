"""Targets learned as ways from where things are: what a chunk does is seen relative to its moment.

An error of 1% of a joint's range is millimetres at the hand, and of the way that a chunk goes it is
much less. So targets of joints are taken from where the joints are when the chunk is asked for, as
in pi0 (Black et al. 2024, arXiv 2410.24164).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from torch import Tensor

from enpire.environment import RelativeTarget
from enpire.errors import PolicyError
from enpire.types import Float32Array


def read_relative(said: Any, observation: int, action: int) -> tuple[RelativeTarget, ...]:
    """Return what a policy's file says of its relative targets, a list of tables.

    observation, action: how many entries they have.

    Raises:
        PolicyError: it names entries that there are not, or is something else.
    """
    try:
        targets = tuple(RelativeTarget(**each) for each in said)
        fit = all(_fits(each, observation, action) for each in targets)
        fit = fit and len({each.done for each in targets}) == len(targets)
    except TypeError:
        fit = False
    if not fit:
        raise PolicyError(f"relative {said!r} names no entries of what the policy sees and does")
    return targets


def ways_of[V: (Tensor, Float32Array)](
    targets: tuple[RelativeTarget, ...], history: V, actions: V
) -> V:
    """Return actions (batch, chunk, act) with each target as the way to it from where things are.

    history: what is seen where they begin, observations (batch, history, obs).
    """
    return _shifted(targets, history, actions, -1.0)


def actions_of[V: (Tensor, Float32Array)](
    targets: tuple[RelativeTarget, ...], history: V, ways: V
) -> V:
    """Return the inverse of `ways_of`."""
    return _shifted(targets, history, ways, 1.0)


def _shifted[V: (Tensor, Float32Array)](
    targets: tuple[RelativeTarget, ...], history: V, values: V, sign: float
) -> V:
    if not targets:
        return values
    shifted = values + 0.0  # a copy, of either kind
    for each in targets:
        shifted[..., each.done] += sign * each.scale * history[:, -1:, each.seen]
    return shifted


def _fits(target: RelativeTarget, observation: int, action: int) -> bool:
    whole = type(target.seen) is int and type(target.done) is int
    number = isinstance(target.scale, float) and np.isfinite(target.scale)
    return whole and number and 0 <= target.seen < observation and 0 <= target.done < action
