"""What the layers above need of stations, be they a twin's or somebody else's environment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from enpire.environment.control.cartesian_control import ActionSpec
from enpire.environment.core.controller import Controller
from enpire.environment.core.jobs import Job
from enpire.environment.core.policy_cameras import PolicyCameras
from enpire.environment.core.task import Parameter, Task
from enpire.types import Episode


class StationBackend(Protocol):
    """Stations that run jobs: `Stations` or `GymStations`, which say more on each member.

    `enpire.cluster` has either of them on other machines.

    period: of control [s]. packs: what an episode's outcome depends on, by name. aside: stations
    that take no more jobs, and why; a station may be put in. lose: one that is busy is lost, which
    sets it aside; `recover` takes it back. policy_cameras: what policies see by cameras; None: they
    see what a tracker says. live: time goes on there while a policy thinks.
    """

    @property
    def period(self) -> float: ...

    @property
    def packs(self) -> dict[str, str]: ...

    @property
    def aside(self) -> dict[int, str]: ...

    def __len__(self) -> int: ...

    @property
    def name(self) -> str: ...

    @property
    def verified_by(self) -> str: ...

    @property
    def observation_size(self) -> int: ...

    @property
    def action_size(self) -> int: ...

    @property
    def policy_cameras(self) -> PolicyCameras | None: ...

    @property
    def repeatable(self) -> bool: ...

    @property
    def live(self) -> bool: ...

    @property
    def steps_done(self) -> int: ...

    @property
    def starter(self) -> tuple[str, Controller]: ...

    @property
    def parameters(self) -> tuple[Parameter, ...]: ...

    @property
    def idle(self) -> list[int]: ...

    @property
    def busy(self) -> bool: ...

    def begin(self, row: int, job: Job) -> None: ...

    def recover(self, row: int) -> None: ...

    def lose(self, row: int, reason: str) -> Episode: ...

    def abort(self, reason: str) -> list[Episode]: ...

    def tick(self, ahead: int = 0) -> list[Episode]: ...


@runtime_checkable
class Tasked(StationBackend, Protocol):
    """Stations of a task pack, wherever they are.

    execute_periods: of control, that an execution has at most.
    """

    task: Task
    execute_periods: int


@runtime_checkable
class DeclaredSpaces(StationBackend, Protocol):
    """Stations of an environment that declares what it shows, and what it takes.

    observation_keys: of a dictionary whose values an observation has, in this order; empty where
    it is none. action_low, action_high: what an action of -1 and of 1 is, in its own units.
    """

    observation_keys: tuple[str, ...]
    action_low: tuple[float, ...]
    action_high: tuple[float, ...]


def instruction(stations: StationBackend) -> str:
    """What is to be done there, in words; the name of what has no words."""
    return stations.task.instruction if isinstance(stations, Tasked) else stations.name


def grippers(stations: StationBackend) -> tuple[int, ...]:
    """Return the entries of an action there that open and close hands."""
    return stations.task.policy_actions.grippers if isinstance(stations, Tasked) else ()


def hand_moves(stations: StationBackend) -> tuple[int, ...]:
    """Return the entries of an action there that move hands, as far as the task lets them."""
    actions = stations.task.policy_actions if isinstance(stations, Tasked) else None
    if not isinstance(stations, Tasked) or not isinstance(actions, ActionSpec):
        return ()
    scale = np.pad(actions.scale[:, :3], ((0, 0), (0, 4)))  # as an action has them
    fixed = stations.task.fixed_action_dims
    return tuple(entry for entry in np.flatnonzero(scale).tolist() if entry not in fixed)


@dataclass(frozen=True, slots=True)
class StationEvent:
    """Something worth a line in the ledger: of which kind, on which station, in words."""

    kind: str
    station: int
    text: str


@runtime_checkable
class Eventful(Protocol):
    """Stations on which things happen that are no episode's alone: stops, faults of their wires."""

    def new_events(self, last: bool = False) -> list[StationEvent]:
        """What has, since it was asked last; last: also what is not over."""
