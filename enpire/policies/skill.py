"""A task's skill script with values for its parameters: code as a policy, a few numbers learned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from enpire.environment import (
    Demonstrator,
    MovesHands,
    Readings,
    StationBackend,
    Task,
    Tasked,
)
from enpire.errors import PolicyError
from enpire.policies.description import JsonSpec
from enpire.twin.twin import Rows
from enpire.types import Float32Array, FloatArray

VALUES = "values"  # the tensor


@dataclass(frozen=True, slots=True)
class SkillSpec(JsonSpec):
    """What the values are of: the script of `task` and its parameters, by name."""

    what: ClassVar[str] = "a skill"
    task: str
    observation: int
    action: int
    names: tuple[str, ...]


class SkillPolicy:
    """The values (n,), float64, in the units of the parameters."""

    kind: ClassVar[str] = "skill"

    def __init__(self, spec: SkillSpec, values: FloatArray) -> None:
        """Raise PolicyError unless there is a value for each of the spec's names."""
        if values.shape != (len(spec.names),):
            raise PolicyError(f"{values.shape} values for {len(spec.names)} parameters of a skill")
        self.spec = spec
        self.values = values

    def tensors(self) -> dict[str, NDArray[Any]]:
        """The values."""
        return {VALUES: self.values.copy()}

    @classmethod
    def load(cls, spec: str, tensors: Mapping[str, NDArray[Any]]) -> Self:
        """See `Policy.load`."""
        if set(tensors) != {VALUES}:
            raise PolicyError(f"a skill has one tensor, {VALUES!r}, not {sorted(tensors)}")
        return cls(SkillSpec.from_json(spec), np.array(tensors[VALUES], np.float64))

    def controller(self, stations: StationBackend) -> SkillController:
        """Runs the script of the stations' task; raises PolicyError if it has no such one."""
        names = tuple(parameter.name for parameter in stations.parameters)
        if not isinstance(stations, Tasked) or names != self.spec.names:
            raise PolicyError(
                f"the policy is values of {', '.join(self.spec.names)} of the skill script of "
                f"{self.spec.task}; that of {stations.name} has {', '.join(names) or 'none'}"
            )
        values = dict(zip(names, self.values.tolist(), strict=True))
        return SkillController(stations.task, values)


class SkillController(MovesHands):
    """The script, once for each episode. It explores nothing: a search varies the values."""

    def __init__(self, task: Task, values: Mapping[str, float]) -> None:
        """Run the script of `task` with these values, by name."""
        self._task, self._values = task, values
        self._scripts: dict[int, Demonstrator] = {}

    def begin(self, row: int, rng: np.random.Generator, exploration: float) -> None:
        """The script from its start."""
        self._scripts[row] = self._task.skill(self._values)

    def act(self, rows: Rows, observations: Float32Array, readings: Readings) -> Float32Array:
        """Each script's own action."""
        actions = [self._scripts[row].act(readings.row(i)) for i, row in enumerate(rows.tolist())]
        return self.told(rows, actions, readings)
