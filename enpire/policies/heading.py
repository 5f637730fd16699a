"""Seeing and acting along the axes of an object, so that it does not matter how it is turned.

A push against a face of a block is the same push wherever the block points to. A network that sees
and acts along the world's axes has to learn it for every direction; along the block's it learns it
once. Networks that are equivariant by construction come to the same (Wang et al. 2024, Equivariant
Diffusion Policy, arXiv 2407.01812), and need layers of their own.

A whole history is seen along the axes of its newest moment, and a whole chunk is done along them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from enpire.environment import Heading
from enpire.errors import PolicyError
from enpire.twin.native import compiled
from enpire.types import Float32Array

TINY = 1e-6  # length of a cosine and a sine that say nothing: the object is taken as not turned


def read_heading(said: Any, observation: int, action: int) -> Heading | None:
    """Return what a policy's file says of its heading, a table or nothing.

    observation, action: how many entries they have.

    Raises:
        PolicyError: it names entries that there are not, or is something else.
    """
    if said is None:
        return None
    try:
        heading = Heading(**said)
        seen = [heading.cosine, heading.sine, *_entries(heading.seen)]
        fits = _within(seen, observation) and _within(_entries(heading.done), action)
    except (TypeError, ValueError):
        fits = False
    if not fits:
        raise PolicyError(f"heading {said!r} names no entries of what the policy sees and does")
    return heading


def history_along(heading: Heading | None, history: Tensor) -> Tensor:
    """Return observations (batch, history, obs) along the object's axes."""
    if heading is None:
        return history
    cosine, sine = _direction(heading, history)
    return _turned(history, heading.seen, cosine, -sine)


def actions_along(heading: Heading | None, history: Tensor, actions: Tensor) -> Tensor:
    """Return actions (batch, chunk, act) along the object's axes.

    history: what is seen where they begin, (batch, history, obs), along whichever axes.
    """
    if heading is None:
        return actions
    cosine, sine = _direction(heading, history)
    return _turned(actions, heading.done, cosine, -sine)


def actions_back(heading: Heading | None, history: Tensor, actions: Tensor) -> Tensor:
    """Return the inverse of `actions_along`."""
    if heading is None:
        return actions
    cosine, sine = _direction(heading, history)
    return _turned(actions, heading.done, cosine, sine)


class CompiledHeading:
    """The same of arrays, compiled, row by row."""

    def __init__(self, heading: Heading) -> None:
        """Take the entries from `heading`."""
        self._cosine, self._sine = heading.cosine, heading.sine
        self._seen = _planes(heading.seen)
        self._done = _planes(heading.done)

    def history(self, history: Float32Array) -> Float32Array:
        """Return observations (batch, history, obs) along the object's axes."""
        seen = np.array(history, np.float32)
        turn(seen, self._seen, *self._direction(history, -1.0))
        return seen

    def actions(self, history: Float32Array, actions: Float32Array, back: bool) -> Float32Array:
        """Return actions (batch, chunk, act) along the object's axes; back: along the world's."""
        done = np.array(actions, np.float32)
        turn(done, self._done, *self._direction(history, 1.0 if back else -1.0))
        return done

    def _direction(self, history: Float32Array, way: float) -> tuple[Float32Array, Float32Array]:
        cosine, sine = history[:, -1, self._cosine], history[:, -1, self._sine]
        length = np.hypot(cosine, sine)
        says = length > TINY
        length = np.where(says, length, 1.0)
        turned = np.where(says, cosine / length, 1.0), np.where(says, way * sine / length, 0.0)
        return turned[0].astype(np.float32), turned[1].astype(np.float32)


@compiled
def turn(
    values: Float32Array, planes: NDArray[np.int64], cosine: Float32Array, sine: Float32Array
) -> None:
    """Turn entries x and y, (n, 2), of `values` (rows, m, entries) where they are, each row."""
    for row in range(len(values)):
        for k in range(values.shape[1]):
            for x, y in planes:
                along, across = values[row, k, x], values[row, k, y]
                values[row, k, x] = cosine[row] * along - sine[row] * across
                values[row, k, y] = sine[row] * along + cosine[row] * across


def _entries(planes: tuple[tuple[int, int], ...]) -> list[int]:
    """Return the entries of planes; raises ValueError where one has not two."""
    return [at for x, y in planes for at in (x, y)]


def _within(entries: list[int], size: int) -> bool:
    return all(type(at) is int and 0 <= at < size for at in entries)


def _planes(planes: tuple[tuple[int, int], ...]) -> NDArray[np.int64]:
    return np.array(planes, np.int64).reshape(-1, 2)


def _direction(heading: Heading, history: Tensor) -> tuple[Tensor, Tensor]:
    """Return cosine and sine, (batch, 1) each, of the object's yaw at the newest moment."""
    newest = history[:, -1]
    cosine, sine = newest[:, heading.cosine, None], newest[:, heading.sine, None]
    length = torch.hypot(cosine, sine)
    says = length > TINY
    length = torch.where(says, length, 1.0)
    return torch.where(says, cosine / length, 1.0), torch.where(says, sine / length, 0.0)


def turn_plane(values: Tensor, plane: tuple[int, int], cosine: Tensor, sine: Tensor) -> None:
    """Turn entries x and y of `values` (batch, m, n) where they are; cosine, sine: (batch, 1)."""
    x, y = values[..., plane[0]].clone(), values[..., plane[1]].clone()
    values[..., plane[0]] = cosine * x - sine * y
    values[..., plane[1]] = sine * x + cosine * y


def _turned(
    values: Tensor, planes: tuple[tuple[int, int], ...], cosine: Tensor, sine: Tensor
) -> Tensor:
    """Return `values` (batch, m, entries) with entries x and y turned; cosine, sine: (batch, 1)."""
    turned = values.clone()
    for plane in planes:
        turn_plane(turned, plane, cosine, sine)
    return turned
