"""The processes that are stations: started, held against one another, and renewed when lost."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from enpire import errors
from enpire.cluster.connection import STATION, Cluster, first_line
from enpire.cluster.host import About, Failed, Host
from enpire.cluster.survey import require_version
from enpire.environment import Order
from enpire.errors import EnpireError, EnvironmentFault, UsageError
from enpire.version import __version__

OPEN_S = 300.0  # until all stations are there
BACK_S = 60.0  # that is waited for a process in place of a lost one when no station is left
LOSSES = 3  # of a station one after the other, without an episode in between, that are mended


@dataclass(slots=True)
class _Seat:
    """A station: the process that it is, or that is to be it.

    actor: Ray's handle. coming: its `About`, awaited. about: once it is there. node: its node's id.
    losses: of its processes since the last episode.
    """

    actor: Any
    coming: Any
    about: About | None = None
    node: str = ""
    losses: int = 0


class Seats:
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
        self._seats = [self._started() for _ in range(stations)]
        try:
            self.first = self._all_there()
        except BaseException:
            self.close()
            raise

    def __len__(self) -> int:
        return len(self._seats)

    def is_there(self, row: int) -> bool:
        """Whether a station has a process."""
        return self._seats[row].about is not None

    def actor(self, row: int) -> Any:
        """Ray's handle of a station."""
        return self._seats[row].actor

    def node(self, row: int) -> str:
        """Where a station is, for a person."""
        node = self._seats[row].node
        return self._cluster.name_of(node) if node else "that is not there"

    @property
    def hopeful(self) -> bool:
        """Whether all are lost, and some may be back soon."""
        left = any(seat.about for seat in self._seats)
        return bool(self.coming) and not left and time.monotonic() < self._hope_until

    def worked(self, row: int) -> None:
        """A station has run an episode."""
        self._seats[row].losses = 0

    def lost(self, row: int, error: BaseException) -> str:
        """A station's process is gone: ask for another; returns what is to be said of it."""
        seat = self._seats[row]
        what = "its process was" if self._cluster.is_alive(seat.node) else "it was"
        reason = f"node {self.node(row)}: {what} lost ({first_line(error)})"
        seat.about = None
        seat.losses += 1
        if seat.losses < LOSSES:
            self.ask_for(row)
        return reason

    def ask_for(self, row: int) -> None:
        """Have a process started in place of a lost one, unless it is already asked for."""
        self._hope_until = time.monotonic() + BACK_S
        if row in self.coming.values():
            return
        seat = self._seats[row]
        self._ray.kill(seat.actor)
        self._seats[row] = self._started()
        self._seats[row].losses = seat.losses
        self.coming[self._seats[row].coming] = row

    def arrived(self, reference: Any) -> tuple[int, str]:
        """A station is there in place of a lost one: which; and why it is no good, or nothing."""
        row = self.coming.pop(reference)
        try:
            about = self._take(row, self._ray.get(reference))
            require_same(about, self.first)
        except self._ray.exceptions.RayError as error:
            return row, self.lost(row, error)
        except EnpireError as error:
            self._seats[row].about = None
            return row, str(error)
        return row, ""

    def close(self) -> None:
        """End the processes."""
        for seat in self._seats:
            self._ray.kill(seat.actor)

    def _started(self) -> _Seat:
        actor = (
            self._ray.remote(Host)
            .options(
                num_cpus=0,  # what a station needs of its node is what a `station` stands for
                resources={STATION: 1},
                scheduling_strategy="SPREAD",
                max_concurrency=4,  # one runs; others ask how far it is, or stop it
            )
            .remote()
        )
        return _Seat(actor, actor.open.remote(self._order))

    def _all_there(self) -> About:
        """Wait for all; they must be of one kind, that of the first."""
        coming = {seat.coming: row for row, seat in enumerate(self._seats)}
        end = time.monotonic() + OPEN_S
        abouts: dict[int, About] = {}
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
                abouts[row] = self._take(row, self._ray.get(ready[0]))
            except self._ray.exceptions.RayError as error:
                raise EnvironmentFault(
                    f"station {row} does not start: {first_line(error)}"
                ) from error
        for about in abouts.values():
            require_same(about, abouts[0])
        return abouts[0]

    def _take(self, row: int, about: About | Failed) -> About:
        """A process has said what it is."""
        seat = self._seats[row]
        seat.node = self._ray.get(seat.actor.node.remote())
        if isinstance(about, Failed):
            raise raised(about, f"node {self.node(row)}")
        require_version(self.node(row), about.version, __version__)
        seat.about = about
        return about


def require_same(other: About, first: About) -> None:
    """Raise UsageError unless two stations differ in nothing that an episode depends on."""
    for what, here, there in (
        ("packs", first.packs, other.packs),
        ("eyes", first.verified_by, other.verified_by),
        ("observations", first.observation_size, other.observation_size),
        ("actions", first.action_size, other.action_size),
        ("a control period", first.period, other.period),
    ):
        if here != there:
            raise UsageError(
                f"node {other.node} has other {what} than node {first.node}: {there}, and {here}"
            )


def raised(failed: Failed, where: str) -> EnpireError:
    """The error of ours that was raised there."""
    kind: Callable[[str], EnpireError] = getattr(errors, failed.kind, EnvironmentFault)
    return kind(f"{where}: {failed.text}")
