"""A candidate's controller whose nonsense costs itself its episodes, and nobody else theirs."""

from __future__ import annotations

import numpy as np

from enpire.environment import Controller, Readings
from enpire.environment.core.controller import ChunkedController, show
from enpire.environment.stations.action_selector import checked
from enpire.errors import PolicyError, PolicyFault
from enpire.twin.twin import Rows
from enpire.types import Float32Array, Image


class ActionGuard:
    """Has a controller act; what is no action is a `PolicyFault`, which ends its own episodes."""

    def __init__(self, inner: Controller, name: str, size: int) -> None:
        """name: of the policy. size: of an action."""
        self._inner, self._name, self._size = inner, name, size

    def begin(self, row: int, rng: np.random.Generator, exploration: float) -> None:
        """See `Controller`."""
        self._inner.begin(row, rng, exploration)

    def look(self, row: int, pictures: Image) -> None:
        """See `VisionController`."""
        show(self._inner, row, pictures)

    def act(self, rows: Rows, observations: Float32Array, readings: Readings) -> Float32Array:
        """See `Controller`; raises PolicyFault for what is no action."""
        try:
            return checked(self._inner.act(rows, observations, readings), len(rows), self._size)
        except PolicyError as error:
            raise PolicyFault(f"{self._name}: {error}") from error


class ChunkActionGuard(ActionGuard):
    """An `ActionGuard` of one that decides for several periods at once."""

    def __init__(self, inner: ChunkedController, name: str, size: int) -> None:
        """As `ActionGuard`."""
        super().__init__(inner, name, size)
        self._planner = inner

    def plan(self, row: int) -> Float32Array:
        """See `ChunkedController`; raises PolicyFault as `act`."""
        plan = self._planner.plan(row)
        try:
            return checked(plan, len(plan), self._size)
        except PolicyError as error:
            raise PolicyFault(f"{self._name}: {error}") from error

    def saw(self, row: int, observations: Float32Array) -> None:
        """See `ChunkedController`."""
        self._planner.saw(row, observations)


def guard_actions(inner: Controller, name: str, size: int) -> Controller:
    """The controller of a policy that nobody knows yet."""
    if isinstance(inner, ChunkedController):
        return ChunkActionGuard(inner, name, size)
    return ActionGuard(inner, name, size)
