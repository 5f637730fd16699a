"""The processes that are stations: started, held against one another, and renewed when lost."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from enpire import errors
from enpire.cluster.connection import STATION, Cluster, first_line
from enpire.cluster.station_actor import RemoteFailure, StationActor, StationDescription
from enpire.cluster.survey import require_version
from enpire.environment import Order
from enpire.errors import EnpireError, EnvironmentFault, UsageError
from enpire.version import __version__

OPEN_S = 300.0  # until all stations are there
BACK_S = 60.0  # that is waited for a process in place of a lost one when no station is left
LOSSES = 3  # of a station one after the other, without an episode in between, that are mended


@dataclass(slots=True)
class _StationWorker:
    """A station: the process that it is, or that is to be it."""

    actor: Any  # Ray's handle
    coming: Any  # its `StationDescription`, awaited
    description: StationDescription | None = None  # once it is there
    node: str = ""  # its node's id
    losses: int = 0  # of its processes since the last episode


class StationWorkers:
    """All stations of a fleet. coming: Ray's references of those in place of lost ones."""

    def __init__(self, cluster: Cluster, order: Order, stations: int) -> None:
        """Have the cluster start so many, wherever there is room.

        Raises:
            UsageError: they do not start in time, or differ from one another.
            EnvironmentFault: a process is lost at once.
            EnpireError: what a station raised when it was made; all name the node.
        """
        self._cluster, self._ray, self._order = cluster, cluster.ray, order
        self._hope_until = 0.0  # on the monotonic clock
        self.coming: dict[Any, int] = {}
        self._workers = [self._start() for _ in range(stations)]
        try:
            self.first = self._wait_for_all()
        except BaseException:
            self.close()
            raise

    def __len__(self) -> int:
        return len(self._workers)

    def is_there(self, row: int) -> bool:
        """Whether a station has a process."""
        return self._workers[row].description is not None

    def actor(self, row: int) -> Any:
        """Ray's handle of a station."""
        return self._workers[row].actor

    def node(self, row: int) -> str:
        """The node where a station is, for a person."""
        node = self._workers[row].node
        return self._cluster.name_of(node) if node else "that is not there"

    @property
    def may_come_back(self) -> bool:
        """Whether all are lost, and some may be back soon."""
        left = any(worker.description for worker in self._workers)
        return bool(self.coming) and not left and time.monotonic() < self._hope_until

    def reset_losses(self, row: int) -> None:
        """A station has run an episode."""
        self._workers[row].losses = 0

    def replace_lost(self, row: int, error: BaseException) -> str:
        """A station's process is gone: ask for another; returns what is to be said of it."""
        worker = self._workers[row]
        what = "its process was" if self._cluster.is_alive(worker.node) else "it was"
        reason = f"node {self.node(row)}: {what} lost ({first_line(error)})"
        worker.description = None
        worker.losses += 1
        if worker.losses < LOSSES:
            self.ask_for(row)
        return reason

    def ask_for(self, row: int) -> None:
        """Have a process started in place of a lost one, unless it is already asked for."""
        self._hope_until = time.monotonic() + BACK_S
        if row in self.coming.values():
            return
        worker = self._workers[row]
        self._ray.kill(worker.actor)
        self._workers[row] = self._start()
        self._workers[row].losses = worker.losses
        self.coming[self._workers[row].coming] = row

    def take_replacement(self, reference: Any) -> tuple[int, str]:
        """A station is there in place of a lost one: which; and why it is no good, or nothing."""
        row = self.coming.pop(reference)
        try:
            description = self._accept(row, self._ray.get(reference))
            require_same(description, self.first)
        except self._ray.exceptions.RayError as error:
            return row, self.replace_lost(row, error)
        except EnpireError as error:
            self._workers[row].description = None
            return row, str(error)
        return row, ""

    def close(self) -> None:
        """End the processes."""
        for worker in self._workers:
            self._ray.kill(worker.actor)

    def _start(self) -> _StationWorker:
        actor = (
            self._ray.remote(StationActor)
            .options(
                num_cpus=0,  # what a station needs of its node is what a `station` stands for
                resources={STATION: 1},
                scheduling_strategy="SPREAD",
                max_concurrency=4,  # one runs; others ask how far it is, or stop it
            )
            .remote()
        )
        return _StationWorker(actor, actor.open.remote(self._order))

    def _wait_for_all(self) -> StationDescription:
        """Wait for all; they must be of one kind, that of the first."""
        coming = {worker.coming: row for row, worker in enumerate(self._workers)}
        end = time.monotonic() + OPEN_S
        descriptions: dict[int, StationDescription] = {}
        while coming:
            left = max(end - time.monotonic(), 0.0)
            ready, _ = self._ray.wait(list(coming), timeout=left)
            if not ready:
                raise UsageError(
                    f"{len(coming)} of {len(self)} stations did not start within {OPEN_S:g} s: "
                    "others may hold the cluster's (see ray status)"
                )
            row = coming.pop(ready[0])
            try:
                descriptions[row] = self._accept(row, self._ray.get(ready[0]))
            except self._ray.exceptions.RayError as error:
                raise EnvironmentFault(
                    f"station {row} does not start: {first_line(error)}"
                ) from error
        for description in descriptions.values():
            require_same(description, descriptions[0])
        return descriptions[0]

    def _accept(
        self, row: int, description: StationDescription | RemoteFailure
    ) -> StationDescription:
        """A process has said what it is."""
        worker = self._workers[row]
        worker.node = self._ray.get(worker.actor.node.remote())
        if isinstance(description, RemoteFailure):
            raise error_of(description, f"node {self.node(row)}")
        require_version(self.node(row), description.version, __version__)
        worker.description = description
        return description


def require_same(other: StationDescription, first: StationDescription) -> None:
    """Raise UsageError unless two stations differ in nothing that an episode depends on."""
    for what, here, there in (
        ("packs", first.packs, other.packs),
        ("verifiers", first.verified_by, other.verified_by),
        ("observations", first.observation_size, other.observation_size),
        ("actions", first.action_size, other.action_size),
        ("a control period", first.period, other.period),
    ):
        if here != there:
            raise UsageError(
                f"node {other.node} has other {what} than node {first.node}: {there}, and {here}"
            )


def error_of(failed: RemoteFailure, where: str) -> EnpireError:
    """The error of ours that was raised there."""
    kind: Callable[[str], EnpireError] = getattr(errors, failed.kind, EnvironmentFault)
    return kind(f"{where}: {failed.text}")
