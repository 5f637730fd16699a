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


def places(targets: tuple[RelativeTarget, ...], history: Tensor, action: int) -> Tensor:
    """Return where things are as actions that would leave them there, (batch, 1, action).

    Of what is no relative target it is 0. history: observations (batch, history, obs).
    """
    there = history.new_zeros(len(history), 1, action)
    for each in targets:
        there[:, 0, each.done] = each.scale * history[:, -1, each.seen]
    return there


def places_of(
    targets: tuple[RelativeTarget, ...], history: Float32Array, action: int
) -> Float32Array:
    """Return the same as `places`, of arrays."""
    there = np.zeros((len(history), 1, action), np.float32)
    for each in targets:
        there[:, 0, each.done] = np.float32(each.scale) * history[:, -1, each.seen]
    return there


def _fits(target: RelativeTarget, observation: int, action: int) -> bool:
    whole = type(target.seen) is int and type(target.done) is int
    number = isinstance(target.scale, float) and np.isfinite(target.scale)
    return whole and number and 0 <= target.seen < observation and 0 <= target.done < action
