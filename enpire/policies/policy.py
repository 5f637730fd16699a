"""What a policy is, of whatever kind: it acts on stations, and is kept as tensors and a text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Protocol, Self

from numpy.typing import NDArray

from enpire.environment import Controller, StationBackend


class Spec(Protocol):
    """The shape of a policy, and whatever else its tensors do not say."""

    @property
    def task(self) -> str: ...

    @property
    def observation(self) -> int: ...

    @property
    def action(self) -> int: ...

    def to_json(self) -> str:
        """Return it as text, for a safetensors file's metadata; the policy's `load` reads it."""


class Policy(Protocol):
    """Maps what stations show to actions. What it is made of does not change by acting.

    kind: names its class in the file's metadata (`kinds.KINDS`).
    """

    kind: ClassVar[str]

    @property
    def spec(self) -> Spec: ...

    def tensors(self) -> dict[str, NDArray[Any]]:
        """All that was learned, for a safetensors file."""

    def controller(self, stations: StationBackend) -> Controller:
        """What drives it, as it is now, on any number of these stations.

        Raises:
            PolicyError: it cannot act there.
        """

    @classmethod
    def load(cls, spec: str, tensors: Mapping[str, NDArray[Any]]) -> Self:
        """The policy with this `spec.to_json()` and these `tensors()`; copies them.

        Raises:
            PolicyError: they are not those of a policy of this kind.
        """
