"""Stations on the nodes of a cluster, each a process of its own: `StationBackend` over Ray.

An actor is one station: it holds one `{"station": 1}` of its node's resources, takes one job at a
time, runs it whole under the controller that came with it, and gives the episode back.

The fleet's clock is that of the stations, as on one machine, and what a tick returns is the same:
an episode is told when every station has come as far. So a run has the same episodes in the same
order, however fast the machines are; those that have ended wait for the slowest to catch up
(conservative synchronisation: Chandy and Misra, "Distributed simulation", 1979). Stations in real
time are never apart.

A station whose process is lost, with its node or alone, is set aside with the reason, and its
episode is over: invalid, with nothing seen. A new process is asked for at once; the station is back
when any node has room for it.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from enpire.cluster.clock import (
    CommonClock,
    RunningEpisode,
    lagging_episodes,
    silent_episodes,
)
from enpire.cluster.connection import STATION, Cluster
from enpire.cluster.serialization import RecentCache, pack, settings_of
from enpire.cluster.station_actor import EndedEpisode, RemoteFailure
from enpire.cluster.workers import StationWorkers, error_of
from enpire.environment import (
    DEMONSTRATOR,
    Controller,
    Demonstrations,
    Job,
    Order,
    PolicyCameras,
    RandomActions,
    Task,
    load_task,
)
from enpire.errors import UsageError
from enpire.packs import find
from enpire.packs.finder import GYM, Kind
from enpire.types import LOST, Episode, Outcome, Times, Verdict

LOOK_S = 0.2  # without news, until the fleet is asked whether to go on
STOP_S = 15.0  # that a node has to hand over what is under way
ASK_S = 30.0  # without news of an episode, until its station is asked whether it gets on
SILENT_S = 300.0  # that it is asked in vain, until the station counts as lost


class RayStations:
    """n stations anywhere in a cluster; see `StationBackend`.

    clock: of these stations, for the fleet.
    """

    def __init__(self, cluster: Cluster, order: Order, stations: int) -> None:
        """Have the cluster start `stations` of what is ordered.

        Raises:
            UsageError: fewer than one station, no room for so many, or nodes that differ from this
                machine or from one another.
            PackError: a node cannot make the station; the message names the node.
        """
        if stations < 1:
            raise UsageError(f"{stations} stations cannot run anything: at least 1")
        self._cluster, self._order = cluster, order
        self._ray = cluster.ray
        self.aside: dict[int, str] = {}
        self.steps_done = 0
        self._running: dict[int, RunningEpisode] = {}  # by station, in the order that they began
        self._tickets = 0
        self._packed = RecentCache[Controller, Any](lambda made: self._ray.put(pack(made)))
        cluster.require_room(stations)
        cluster.require_alike(cluster.room(STATION), self._seals())
        cluster.require_room(stations)  # still
        self._workers = StationWorkers(cluster, order, stations)
        about = self._workers.first
        self.name, self.verified_by, self.packs = about.name, about.verified_by, about.packs
        self.observation_size, self.action_size = about.observation_size, about.action_size
        self.parameters = about.parameters
        self.repeatable = about.repeatable  # on nodes with the same processor
        self.live = False
        self.policy_cameras: PolicyCameras | None = None  # no pictures go over the network
        self.period = about.period
        self.clock = CommonClock(self.period)

    def __len__(self) -> int:
        return len(self._workers)

    @property
    def starter(self) -> tuple[str, Controller]:
        """Nobody shows how it is done: random actions."""
        return "random", RandomActions(self.action_size)

    @property
    def idle(self) -> list[int]:
        """Stations without an episode that can take one."""
        taken = self._running.keys() | self.aside.keys()
        return [r for r in range(len(self)) if r not in taken and self._workers.is_there(r)]

    @property
    def busy(self) -> bool:
        """Whether an episode is under way, or all are lost and some may soon be back."""
        return bool(self._running) or self._workers.may_come_back

    def begin(self, row: int, job: Job) -> None:
        """Send a job to an idle station.

        Raises:
            PolicyError: its controller cannot be carried there.
        """
        self._tickets += 1
        version = self._packed.get(job.controller, id(job.controller))
        actor = self._workers.actor(row)
        coming = actor.run.remote(self._tickets, settings_of(job), version)
        self._running[row] = RunningEpisode(row, job, self._tickets, coming, self.clock.periods)

    def recover(self, row: int) -> None:
        """Take a station back that was set aside: somebody has set its scene up, or its node."""
        self.aside.pop(row, None)
        if self._workers.is_there(row):
            self._workers.actor(row).recover.remote()
        else:
            self._workers.ask_for(row)

    def lose(self, row: int, reason: str) -> Episode:
        """A station is lost in the middle of its episode: that ends, and the station is aside."""
        (episode,) = self._cut_short([row], Verdict(Outcome.INVALID, stage=LOST, reason=reason))
        self.aside[row] = reason
        return episode

    def abort(self, reason: str) -> list[Episode]:
        """End every episode under way, labelled aborted; returns them."""
        return self._cut_short(list(self._running), Verdict(Outcome.ABORTED, reason=reason))

    def tick(self, ahead: int = 0) -> list[Episode]:
        """Let the clock go on as far as every station has got; the episodes that end there.

        Where none has got further, wait for news for a moment. Nothing is run `ahead` of that.

        Raises:
            EnpireError: what a station raised that ends a run, as `Stations.tick` does; the message
                names the station and its node.
        """
        if not self.clock.due(self._running.values()):
            self._ask()
            self._receive(LOOK_S)
        return [self._hand_over(running) for running in self.clock.due(self._running.values())]

    def close(self) -> None:
        """End the processes."""
        self._workers.close()

    def _seals(self) -> dict[tuple[Kind, str], str]:
        """Packs of ours that every node must have."""
        return {}

    def _ask(self) -> None:
        """Ask stations that others wait for, or that are silent, to say when they have got on."""
        running = self._running.values()
        due = dict([*silent_episodes(running, ASK_S), *lagging_episodes(running)])
        for row, periods in due.items():
            episode = self._running[row]
            if episode.asked is None:
                actor = self._workers.actor(episode.row)
                episode.asked = actor.passed.remote(episode.ticket, periods)
            episode.waited = episode.waited or time.monotonic()
            if time.monotonic() - episode.waited > SILENT_S:
                self._mark_lost(episode, TimeoutError(f"it has not got on for {SILENT_S:g} s"))

    def _receive(self, within: float) -> None:
        """Take in what has come, waiting `within` so many seconds for the first of it."""
        episodes = {u.coming: u for u in self._running.values() if u.until is None}
        asked = {u.asked: u for u in self._running.values() if u.asked is not None}
        awaited = [*episodes, *asked, *self._workers.coming]
        if not awaited:
            time.sleep(within)
            return
        first, _ = self._ray.wait(awaited, timeout=within)
        ready: list[Any] = []
        if first:
            ready, _ = self._ray.wait(awaited, num_returns=len(awaited), timeout=0)
        for reference in ready:
            if reference in episodes:
                self._receive_episode(episodes[reference])
            elif reference in asked:
                self._receive_progress(asked[reference])
            else:
                self._receive_worker(reference)

    def _receive_episode(self, running: RunningEpisode) -> None:
        """An episode has come, or why there is none."""
        try:
            ended: EndedEpisode | RemoteFailure = self._ray.get(running.coming)
        except self._ray.exceptions.RayTaskError:
            raise  # a fault of ours
        except self._ray.exceptions.RayError as error:
            self._mark_lost(running, error)
            return
        if isinstance(ended, RemoteFailure):
            raise error_of(
                ended, f"station {running.row} on node {self._workers.node(running.row)}"
            )
        self._accept(running, ended)

    def _accept(self, running: RunningEpisode, ended: EndedEpisode) -> None:
        """What a station has handed over; it is told once the clock is there."""
        self._workers.reset_losses(running.row)
        self.steps_done += ended.steps
        if ended.aside:
            self.aside[running.row] = ended.aside
        running.until = running.began + ended.periods
        running.result = replace(ended.episode, station=running.row)

    def _receive_progress(self, running: RunningEpisode) -> None:
        """A station has said how far it is; what has become of a lost one, its episode will say."""
        try:
            passed: int = self._ray.get(running.asked)
        except self._ray.exceptions.RayError:
            passed = 0
        if passed > running.passed:
            running.passed, running.waited, running.heard = passed, None, time.monotonic()
        running.asked = None

    def _hand_over(self, running: RunningEpisode) -> Episode:
        """An episode that has ended; its station is free."""
        del self._running[running.row]
        if running.result is None:
            raise RuntimeError(f"{running.job.id} ends without an episode")
        return running.result

    def _mark_lost(self, running: RunningEpisode, error: BaseException) -> None:
        """A process is gone, and with it what its station had seen."""
        reason = self.aside[running.row] = self._workers.replace_lost(running.row, error)
        running.until = self.clock.periods
        running.result = self._without_record(
            running, Verdict(Outcome.INVALID, stage=LOST, reason=reason)
        )

    def _without_record(self, running: RunningEpisode, verdict: Verdict) -> Episode:
        """An episode of which nothing was handed over.

        Which phase it was in nobody knows: its time counts as that of a reset.
        """
        job, periods = running.job, self.clock.periods - running.began
        return Episode(
            **job.labels,
            task=self.name,
            station=running.row,
            verdict=verdict,
            times=Times(reset=self.period * periods),
            observations=np.zeros((0, self.observation_size), np.float32),
            actions=np.zeros((0, self.action_size), np.float32),
            stamps=np.zeros(0),
            rewards=np.zeros(0, np.float32),
            packs=self.packs,
        )

    def _receive_worker(self, reference: Any) -> None:
        """There is a process in place of a lost one: its station is back, if it is as before."""
        row, wrong = self._workers.take_replacement(reference)
        if wrong:
            self.aside[row] = wrong
        else:
            self.aside.pop(row, None)

    def _cut_short(self, rows: Sequence[int], verdict: Verdict) -> list[Episode]:
        """End the episodes of these stations, whatever has come of them, with this verdict."""
        mine = [self._running.pop(row) for row in rows]
        going_on = [running for running in mine if running.until is None]
        for running in going_on:
            self._workers.actor(running.row).stop.remote(running.ticket, verdict.reason)
        if going_on:
            coming = [running.coming for running in going_on]
            self._ray.wait(coming, num_returns=len(coming), timeout=STOP_S)
        for running in going_on:
            self._end(running)
        return [self._with_verdict(running, verdict) for running in mine]

    def _end(self, running: RunningEpisode) -> None:
        """What a station has of its episode, told to end; one that does not answer is lost."""
        try:
            ended: EndedEpisode | RemoteFailure = self._ray.get(running.coming, timeout=0)
        except self._ray.exceptions.RayError as error:
            self.aside[running.row] = self._workers.replace_lost(running.row, error)
        else:
            if isinstance(ended, EndedEpisode):
                self._accept(running, ended)

    def _with_verdict(self, running: RunningEpisode, verdict: Verdict) -> Episode:
        """An episode with another verdict than it came to, if it came to any."""
        if running.result is None:
            return self._without_record(running, verdict)
        return replace(
            running.result, verdict=verdict, rewards=np.zeros_like(running.result.rewards)
        )


class RayTaskStations(RayStations):
    """Stations of a task of ours, which nodes must have the same packs of; see `Tasked`."""

    def __init__(self, cluster: Cluster, order: Order, stations: int) -> None:
        """As for `RayStations`; raises what `find` and `load_task` do, here, too."""
        self._pack = find("tasks", order.task)
        self.task: Task = load_task(self._pack)
        super().__init__(cluster, order, stations)
        self.execute_periods = round(self.task.time_limit / self.period)

    @property
    def starter(self) -> tuple[str, Controller]:
        """Who shows how it is done, by name."""
        return DEMONSTRATOR, Demonstrations(self.task)

    def _seals(self) -> dict[tuple[Kind, str], str]:
        others = (find("robots", self.task.robot), find("sim", self.task.world))
        named: dict[tuple[Kind, str], str] = {("tasks", self._order.task): self._pack.sha256}
        return named | {(pack.kind, pack.name): pack.sha256 for pack in others}


def open_ray_stations(cluster: Cluster, order: Order, stations: int) -> RayStations:
    """Stations of a task of ours, or of the Gymnasium environment `gym:ID`."""
    of_ours = not order.task.startswith(GYM)
    return (RayTaskStations if of_ours else RayStations)(cluster, order, stations)
