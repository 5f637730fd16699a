"""Stations on the nodes of a cluster, each a process of its own: `Workcells` over Ray.

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
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from enpire import __version__, errors
from enpire.cluster.carrying import Remembered, pack, settings_of
from enpire.cluster.connection import STATION, Cluster, first_line
from enpire.cluster.host import About, Ended, Failed, Host, Order
from enpire.cluster.survey import require_version
from enpire.environment import (
    Controller,
    Demonstrations,
    Job,
    Parameter,
    RandomActions,
    Task,
    load_task,
)
from enpire.errors import EnpireError, EnvironmentFault, UsageError
from enpire.packs import find
from enpire.packs.finder import GYM, Kind
from enpire.types import LOST, Episode, Outcome, Times, Verdict

LOOK_S = 0.2  # without news, until the fleet is asked whether to go on
OPEN_S = 300.0  # until all stations are there
BACK_S = 60.0  # that is waited for a process in place of a lost one when no station is left
STOP_S = 15.0  # that a node has to hand over what is under way
SILENT_S = 300.0  # without a control period, while others wait, until a station counts as lost
LOSSES = 3  # of a station one after the other, without an episode in between, that are mended


@dataclass(slots=True)
class _Seat:
    """A station: the process that it is, or that is to be it.

    actor: Ray's handle. coming: its `About`, awaited. about: once it is there. node: its node's id.
    """

    actor: Any
    coming: Any
    about: About | None = None
    node: str = ""
    losses: int = 0


@dataclass(slots=True)
class _Under:
    """An episode under way, as far as is known here.

    coming: Ray's reference. began: on the clock, in periods, as `passed` since and `until`, where
    it has ended. asked: the reference of how far it is, awaited. heard: when it was known to have
    got further, on the monotonic clock. came: what came of it.
    """

    row: int
    job: Job
    ticket: int
    coming: Any
    began: int
    heard: float
    passed: int = 0
    until: int | None = None
    asked: Any = None
    came: Episode | None = None

    @property
    def bound(self) -> int:
        """Until when, on the clock, nothing is to come of it that is not known."""
        return self.began + self.passed if self.until is None else self.until


class Common:
    """The clock of stations on many machines, in control periods; `enpire.rollout.clock.Clock`."""

    def __init__(self, period: float) -> None:
        """Periods of so many seconds."""
        self.periods = 0
        self._period, self._before = period, 0.0

    @property
    def now(self) -> float:
        """See `Clock`."""
        return self._before + self._period * self.periods

    def goes_on_from(self, now: float) -> None:
        """An earlier start of the run got to `now` [s]."""
        self._before = now - self._period * self.periods

    def tick(self, period: float) -> None:
        """Nothing: `ClusterCells.tick` moves it."""

    def wait(self, seconds: float) -> None:
        """Nobody has anything to do."""
        time.sleep(seconds)


class ClusterCells:
    """n stations anywhere in a cluster; see `Workcells`.

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
        self._under: dict[int, _Under] = {}  # by station, in the order that they began
        self._coming: dict[Any, int] = {}  # stations in place of lost ones, by Ray's reference
        self._tickets = 0
        self._hope_until = 0.0  # on the monotonic clock
        self._versions = Remembered[Controller, Any](lambda made: self._ray.put(pack(made)))
        cluster.require_room(stations)
        cluster.require_alike(cluster.room(STATION), self._seals())
        self._seats = [self._started() for _ in range(stations)]
        try:
            self._all_there()
        except BaseException:
            self.close()
            raise
        self._about = self._described(0)
        self.period = self._about.period
        self.clock = Common(self.period)
        self.packs = self._about.packs

    def __len__(self) -> int:
        return len(self._seats)

    @property
    def name(self) -> str:
        """The task's."""
        return self._about.name

    @property
    def verified_by(self) -> str:
        """What verdicts are come by with, for a person."""
        return self._about.verified_by

    @property
    def observation_size(self) -> int:
        """Entries of an observation."""
        return self._about.observation_size

    @property
    def action_size(self) -> int:
        """Entries of an action."""
        return self._about.action_size

    @property
    def repeatable(self) -> bool:
        """Whether the same seed gives the same episode, on nodes with the same processor."""
        return self._about.repeatable

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Of the task's skill script."""
        return self._about.parameters

    @property
    def starter(self) -> tuple[str, Controller]:
        """Nobody shows how it is done: random actions."""
        return "random", RandomActions(self.action_size)

    @property
    def nodes(self) -> list[str]:
        """Where each station is, by its node's id; empty where it is lost."""
        return [seat.node if seat.about else "" for seat in self._seats]

    @property
    def idle(self) -> list[int]:
        """Stations without an episode that can take one."""
        taken = self._under.keys() | self.aside.keys()
        seats = enumerate(self._seats)
        return [row for row, seat in seats if seat.about and row not in taken]

    @property
    def busy(self) -> bool:
        """Whether an episode is under way, or all are lost and some may soon be back."""
        if self._under:
            return True
        left = any(seat.about for seat in self._seats)
        return bool(self._coming) and not left and time.monotonic() < self._hope_until

    def begin(self, row: int, job: Job) -> None:
        """Send a job to an idle station.

        Raises:
            PolicyError: its controller cannot be carried there.
        """
        self._tickets += 1
        version = self._versions.get(job.controller, id(job.controller))
        actor = self._seats[row].actor
        coming = actor.run.remote(self._tickets, settings_of(job), version)
        began, now = self.clock.periods, time.monotonic()
        self._under[row] = _Under(row, job, self._tickets, coming, began, now)

    def recover(self, row: int) -> None:
        """Take a station back that was set aside: somebody has set its scene up, or its node."""
        self.aside.pop(row, None)
        seat = self._seats[row]
        if seat.about:
            seat.actor.recover.remote()
        else:
            self._hope_until = time.monotonic() + BACK_S
            if row not in self._coming.values():
                self._ask_for_another(row)

    def lose(self, row: int, reason: str) -> Episode:
        """A station is lost in the middle of its episode: that ends, and the station is aside."""
        (episode,) = self._cut_short([row], Verdict(Outcome.INVALID, stage=LOST, reason=reason))
        self.aside[row] = reason
        return episode

    def abort(self, reason: str) -> list[Episode]:
        """End every episode under way, labelled aborted; returns them."""
        return self._cut_short(list(self._under), Verdict(Outcome.ABORTED, reason=reason))

    def tick(self, ahead: int = 0) -> list[Episode]:
        """Let the clock go on as far as every station has got; the episodes that end there.

        Where none has got further, wait for news for a moment. Nothing is run `ahead` of that.

        Raises:
            EnpireError: what a station raised that ends a run, as `Stations.tick` does; the message
                names the station and its node.
        """
        if not self._due():
            self._ask_those_behind()
            self._hear(LOOK_S)
        return [self._told(under) for under in self._due()]

    def close(self) -> None:
        """End the processes."""
        for seat in self._seats:
            self._ray.kill(seat.actor)

    # Processes

    def _started(self) -> _Seat:
        """A process that is to be a station, wherever there is room for one."""
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

    def _all_there(self) -> None:
        """Wait for all stations; they must be of one kind."""
        coming = {seat.coming: row for row, seat in enumerate(self._seats)}
        end = time.monotonic() + OPEN_S
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
                self._take(row, self._ray.get(ready[0]))
            except self._ray.exceptions.RayError as error:
                raise EnvironmentFault(
                    f"station {row} does not start: {first_line(error)}"
                ) from error
        for row in range(1, len(self)):
            self._require_same(self._described(row), self._described(0))

    def _take(self, row: int, about: About | Failed) -> None:
        """A process has said what it is."""
        seat = self._seats[row]
        seat.node = self._ray.get(seat.actor.node.remote())
        if isinstance(about, Failed):
            raise _raised(about, f"node {self._cluster.name_of(seat.node)}")
        require_version(about.node, about.version, __version__)
        seat.about = about

    def _described(self, row: int) -> About:
        about = self._seats[row].about
        if about is None:
            raise EnvironmentFault(f"station {row} is not there")
        return about

    def _require_same(self, other: About, first: About) -> None:
        """Raise UsageError unless two stations differ in nothing that an episode depends on."""
        for what, here, there in (
            ("packs", first.packs, other.packs),
            ("verification", first.verified_by, other.verified_by),
            ("observations", first.observation_size, other.observation_size),
            ("actions", first.action_size, other.action_size),
            ("control period", first.period, other.period),
        ):
            if here != there:
                raise UsageError(
                    f"node {other.node} has other {what} than node {first.node}: {there} and {here}"
                )

    def _seals(self) -> dict[tuple[Kind, str], str]:
        """Packs of ours that every node must have."""
        return {}

    # What comes from them

    def _due(self) -> list[_Under]:
        """Episodes that end by now, where now is as late as it can be."""
        bound = min((under.bound for under in self._under.values()), default=0)
        self.clock.periods = max(self.clock.periods, bound)
        now = self.clock.periods
        return [u for u in self._under.values() if u.until is not None and u.until <= now]

    def _ask_those_behind(self) -> None:
        """Ask stations that others wait for to say when they have caught up."""
        ended = [under.until for under in self._under.values() if under.until is not None]
        first = min(ended, default=0)
        for under in list(self._under.values()):
            if under.bound >= first:
                continue
            if under.asked is None:
                actor = self._seats[under.row].actor
                under.asked = actor.passed.remote(under.ticket, first - under.began)
            if time.monotonic() - under.heard > SILENT_S:
                silent = TimeoutError(f"it has not got on for {SILENT_S:g} s")
                self._lost(under, silent)

    def _hear(self, within: float) -> None:
        """Take in what has come, waiting `within` so many seconds for the first of it."""
        unders = {u.coming: u for u in self._under.values() if u.until is None}
        asked = {u.asked: u for u in self._under.values() if u.asked is not None}
        awaited = [*unders, *asked, *self._coming]
        if not awaited:
            time.sleep(within)
            return
        first, _ = self._ray.wait(awaited, timeout=within)
        ready: list[Any] = []
        if first:
            ready, _ = self._ray.wait(awaited, num_returns=len(awaited), timeout=0)
        for reference in ready:
            if reference in unders:
                self._over(unders[reference])
            elif reference in asked:
                self._passed(asked[reference])
            else:
                self._arrived(self._coming.pop(reference), reference)

    def _over(self, under: _Under) -> None:
        """An episode has come, or why there is none."""
        try:
            ended: Ended | Failed = self._ray.get(under.coming)
        except self._ray.exceptions.RayTaskError:
            raise  # a fault of ours
        except self._ray.exceptions.RayError as error:
            self._lost(under, error)
            return
        if isinstance(ended, Failed):
            raise _raised(ended, self._called(under.row))
        self._take_in(under, ended)

    def _take_in(self, under: _Under, ended: Ended) -> None:
        """What a station has handed over; it is told once the clock is there."""
        self._seats[under.row].losses = 0
        self.steps_done += ended.steps
        if ended.aside:
            self.aside[under.row] = ended.aside
        under.until = under.began + ended.periods
        under.came = replace(ended.episode, station=under.row)

    def _passed(self, under: _Under) -> None:
        """A station has said how far it is; what has become of a lost one, its episode will say."""
        try:
            passed: int = self._ray.get(under.asked)
        except self._ray.exceptions.RayError:
            passed = 0
        if passed > under.passed:
            under.passed, under.heard = passed, time.monotonic()
        under.asked = None

    def _told(self, under: _Under) -> Episode:
        """An episode that has ended; its station is free."""
        del self._under[under.row]
        return under.came or self._unseen(under, Verdict(Outcome.INVALID, stage=LOST))

    def _lost(self, under: _Under, error: BaseException) -> None:
        """A process is gone, and with it what its station had seen."""
        reason = self._mend(under.row, error)
        under.until = self.clock.periods
        under.came = self._unseen(under, Verdict(Outcome.INVALID, stage=LOST, reason=reason))

    def _unseen(self, under: _Under, verdict: Verdict) -> Episode:
        """An episode of which nothing was handed over.

        Which phase it was in nobody knows: its time counts as that of a reset.
        """
        job, periods = under.job, self.clock.periods - under.began
        return Episode(
            id=job.id,
            task=self.name,
            station=under.row,
            verdict=verdict,
            times=Times(reset=self.period * periods),
            observations=np.zeros((0, self.observation_size), np.float32),
            actions=np.zeros((0, self.action_size), np.float32),
            stamps=np.zeros(0),
            rewards=np.zeros(0, np.float32),
            packs=self.packs,
            **{name: getattr(job, name) for name in _KEPT_OF_JOB},
        )

    def _mend(self, row: int, error: BaseException) -> str:
        """Set a station aside whose process is gone, and ask for another; returns the reason."""
        seat = self._seats[row]
        what = "its process was" if self._cluster.is_alive(seat.node) else "it was"
        name = self._cluster.name_of(seat.node) if seat.node else "of none"
        reason = f"node {name}: {what} lost ({first_line(error)})"
        self.aside[row] = reason
        self._hope_until = time.monotonic() + BACK_S
        seat.about = None
        seat.losses += 1
        if seat.losses < LOSSES:
            self._ask_for_another(row)
        return reason

    def _ask_for_another(self, row: int) -> None:
        losses = self._seats[row].losses
        self._ray.kill(self._seats[row].actor)
        self._seats[row] = replace(self._started(), losses=losses)
        self._coming[self._seats[row].coming] = row

    def _arrived(self, row: int, reference: Any) -> None:
        """There is a process in place of a lost one: its station is back, if it is as before."""
        try:
            self._take(row, self._ray.get(reference))
            self._require_same(self._described(row), self._about)
        except self._ray.exceptions.RayError as error:
            self._mend(row, error)
        except EnpireError as error:
            self._seats[row].about = None
            self.aside[row] = str(error)
        else:
            self.aside.pop(row, None)

    def _cut_short(self, rows: Sequence[int], verdict: Verdict) -> list[Episode]:
        """End the episodes of these stations, whatever has come of them, with this verdict."""
        mine = [self._under.pop(row) for row in rows]
        going_on = [under for under in mine if under.until is None]
        for under in going_on:
            self._seats[under.row].actor.stop.remote(under.ticket, verdict.reason)
        if going_on:
            coming = [under.coming for under in going_on]
            self._ray.wait(coming, num_returns=len(coming), timeout=STOP_S)
        for under in going_on:
            self._cut(under)
        return [self._judged(under, verdict) for under in mine]

    def _cut(self, under: _Under) -> None:
        """What a station has of its episode, told to end; one that does not answer is lost."""
        try:
            ended: Ended | Failed = self._ray.get(under.coming, timeout=0)
        except self._ray.exceptions.RayError as error:
            self._mend(under.row, error)
        else:
            if isinstance(ended, Ended):
                self._take_in(under, ended)

    def _judged(self, under: _Under, verdict: Verdict) -> Episode:
        """An episode with another verdict than it came to, if it came to any."""
        if under.came is None:
            return self._unseen(under, verdict)
        return replace(under.came, verdict=verdict, rewards=np.zeros_like(under.came.rewards))

    def _called(self, row: int) -> str:
        """A station for a person, with its node."""
        return f"station {row} on node {self._cluster.name_of(self._seats[row].node)}"


class TaskCells(ClusterCells):
    """Stations of a task of ours, which nodes must have the same packs of; see `Tasked`."""

    def __init__(self, cluster: Cluster, order: Order, stations: int) -> None:
        """As for `ClusterCells`; raises what `find` and `load_task` do, here, too."""
        self._pack = find("tasks", order.task)
        self.task: Task = load_task(self._pack)
        super().__init__(cluster, order, stations)
        self.execute_periods = round(self.task.time_limit / self.period)

    @property
    def starter(self) -> tuple[str, Controller]:
        """Who shows how it is done, by name."""
        return "demonstrator", Demonstrations(self.task)

    def _seals(self) -> dict[tuple[Kind, str], str]:
        others = (find("robots", self.task.robot), find("sim", self.task.world))
        named: dict[tuple[Kind, str], str] = {("tasks", self._order.task): self._pack.sha256}
        return named | {(pack.kind, pack.name): pack.sha256 for pack in others}


def open_cells(cluster: Cluster, order: Order, stations: int) -> ClusterCells:
    """Stations of a task of ours, or of the Gymnasium environment `gym:ID`."""
    of_ours = not order.task.startswith(GYM)
    return (TaskCells if of_ours else ClusterCells)(cluster, order, stations)


_KEPT_OF_JOB = (
    "seed",
    "purpose",
    "policy",
    "round",
    "exploration",
    "variant",
    "forked",
    "staleness",
)
"""Of a job, what its episode says too."""


def _raised(failed: Failed, where: str) -> EnpireError:
    """The error of ours that was raised there."""
    kind: Callable[[str], EnpireError] = getattr(errors, failed.kind, EnvironmentFault)
    return kind(f"{where}: {failed.text}")
