"""What one station's process does on its node: it runs episodes whole, one after the other.

An actor is this class, in a process that Ray has started.
"""

from __future__ import annotations

import os
import socket
import threading
from dataclasses import dataclass
from typing import Any

from enpire.cluster.serialization import PackedController, RecentCache, unpack
from enpire.environment import (
    Controller,
    Job,
    Order,
    Parameter,
    StationBackend,
    Tasked,
    open_stations,
)
from enpire.errors import EnpireError, PolicyError
from enpire.types import Episode
from enpire.version import __version__

AHEAD = 32  # control periods that the station runs ahead of what it has told
ASKED_S = 10.0  # that who asks how far it is waits at most
ROW = 0  # the station's number in its own process


@dataclass(frozen=True, slots=True)
class StationDescription:
    """A station on its node: what a `StationBackend` says of itself, and its version."""

    node: str  # its machine's name and the process there, for a person
    version: str
    name: str
    period: float
    packs: dict[str, str]
    verified_by: str
    observation_size: int
    action_size: int
    repeatable: bool
    parameters: tuple[Parameter, ...]


@dataclass(frozen=True, slots=True)
class RemoteFailure:
    """What went wrong on a node, as an error of ours by name, and its message."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class EndedEpisode:
    """An episode that has ended."""

    episode: Episode
    periods: int  # of control that it took
    aside: str  # why the station takes no more jobs, or empty
    steps: int  # of its simulation


class StationActor:
    """One station."""

    def __init__(self) -> None:
        """A process that has no station yet."""
        self._stations: StationBackend | None = None
        self._change = threading.Condition()
        self._ticket = self._periods = 0  # of the episode under way, and how far it is
        self._lasted = 0  # periods after which it was not over
        self._over = False  # whether it has ended
        self._stops: dict[int, str] = {}

    def open(self, order: Order) -> StationDescription | RemoteFailure:
        """Make the station."""
        import torch

        torch.set_num_threads(1)  # the other cores are other stations'
        try:
            stations = open_stations(order, 1, threads=1)
        except EnpireError as error:
            return RemoteFailure(type(error).__name__, str(error))
        task = stations.task if isinstance(stations, Tasked) else None
        self._stations = stations
        self._controllers = RecentCache[PackedController, Controller](
            lambda version: unpack(version, task)
        )
        return StationDescription(
            f"{socket.gethostname()} (process {os.getpid()})",
            __version__,
            stations.name,
            stations.period,
            stations.packs,
            stations.verified_by,
            stations.observation_size,
            stations.action_size,
            stations.repeatable,
            stations.parameters,
        )

    def node(self) -> str:
        """The id of the node that this process is on."""
        import ray

        found: str = ray.get_runtime_context().get_node_id()
        return found

    def run(
        self, ticket: int, settings: dict[str, Any], version: PackedController
    ) -> EndedEpisode | RemoteFailure:
        """Run an episode: that of a job with these `settings_of` it, under a controller.

        ticket: what it is called by in `stop` and `passed`; later ones have greater numbers.
        """
        if self._stations is None:
            raise RuntimeError("no station yet: open it first")
        stations, before = self._stations, self._stations.steps_done
        try:
            try:
                controller = self._controllers.get(version, version.sha256)
            except PolicyError as error:
                return RemoteFailure("PolicyError", f"policy {settings['policy']!r}: {error}")
            with self._change:
                self._ticket, self._periods, self._lasted, self._over = ticket, 0, 0, False
            stations.begin(ROW, Job(controller=controller, **settings))
            episode = self._until_over(stations, ticket)
        except EnpireError as error:
            stations.abort(str(error))
            return RemoteFailure(type(error).__name__, str(error))
        finally:
            with self._change:
                self._over = True
                self._change.notify_all()
        steps = stations.steps_done - before
        return EndedEpisode(episode, self._periods, stations.aside.get(ROW, ""), steps)

    def stop(self, ticket: int, reason: str) -> None:
        """End the episode with this ticket as soon as may be; from another thread."""
        with self._change:
            self._stops[ticket] = reason

    def passed(self, ticket: int, periods: int) -> int:
        """Return for how many periods an episode has gone on, once that is enough, or it is over.

        The period in which it ended is not among them: until the episode has come, who asks must
        not take others of that period for all there are. Or after a while, if it takes long; from
        another thread.
        """

        def there() -> bool:
            mine = self._ticket == ticket and (self._over or self._lasted >= periods)
            return mine or self._ticket > ticket

        with self._change:
            self._change.wait_for(there, ASKED_S)
            return self._lasted if self._ticket == ticket else 0

    def recover(self) -> None:
        """Somebody has set the scene up."""
        if self._stations is not None:
            self._stations.recover(ROW)

    def _until_over(self, stations: StationBackend, ticket: int) -> Episode:
        while True:
            done = stations.tick(AHEAD)
            with self._change:
                self._periods += 1
                reason = self._stops.pop(ticket, None)
                if not done:
                    self._lasted = self._periods
                    self._change.notify_all()
            if not done and reason is not None:
                done = stations.abort(reason)
            if done:
                return done[0]
