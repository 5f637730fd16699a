"""Policies on arms: time goes on while they think, so the next chunk is computed meanwhile.

As `realtime` has it on twins, with inference in a thread of its own, or behind `ws://` in another
process. It takes as long as it takes, and a station whose next chunk is late holds still.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

from enpire.environment import Controller, StationBackend
from enpire.environment.control.sensing import Readings
from enpire.packs.finder import sets_joints
from enpire.policies.chunk import ChunkPolicy
from enpire.policies.flow import FlowPolicy
from enpire.policies.policy import Policy
from enpire.policies.policy_runner import ChunkRequest, PolicyController, PolicyState
from enpire.policies.realtime import faded, joining
from enpire.policies.remote.policy import RemoteController
from enpire.policies.vision import SeeingController
from enpire.twin.twin import Rows
from enpire.types import Float32Array, FloatArray, Image

REMEMBERED = 10  # inferences, the slowest of which says how long the next one may take


Infer = Callable[[Sequence[ChunkRequest]], Sequence[Float32Array]]
"""The chunks, (chunk, act), that are asked for; each goes on from what is left of the last one."""


def live_controller(policy: Policy, stations: StationBackend) -> Controller:
    """What has a policy act on stations; where time goes on meanwhile, without anybody waiting.

    One that answers with single actions has none to go on with, and is waited for.

    Raises:
        PolicyError: it cannot act there.
    """
    controller = policy.controller(stations)
    if not stations.live or not isinstance(controller, PolicyController):
        return controller
    spec = controller.spec
    return controller if spec.chunk == spec.execute == 1 else Asynchronous(policy, controller)


def inferring(policy: Policy, controller: PolicyController) -> Infer:
    """How chunks of a policy are computed and joined: as it knows to, or else faded."""
    if isinstance(policy, ChunkPolicy | FlowPolicy):
        joined = joining(policy)
        return lambda asked: [joined(a.seen, a.state.rng, a.left, a.delay) for a in asked]
    if isinstance(controller, RemoteController) and controller.joins:
        return lambda asked: list(controller.joined(asked))

    def infer(requests: Sequence[ChunkRequest]) -> Sequence[Float32Array]:
        chunks = controller.chunks(
            np.array([a.seen for a in requests]), [a.state for a in requests]
        )
        return [faded(new, a.left, a.delay) for new, a in zip(chunks, requests, strict=True)]

    return infer


@dataclass(slots=True, eq=False)
class _AsyncEpisode:
    """An episode; `now` is its newest period, and `since` the one of the chunk's first action."""

    state: PolicyState
    begun: Future[None]
    chunk: Float32Array
    offset: FloatArray
    now: int = -1
    since: int = 0
    asked: int = 0  # the period of the newest observation that is being thought about
    held: int = 0  # periods since then in which there was nothing to do
    waited: int = 0  # for the first chunk
    error: BaseException | None = None  # what inference raised
    awake: bool = False  # it has acted since it was last asked for

    @property
    def at(self) -> int:
        """The place in the chunk that its newest period has."""
        return self.now - self.since

    @property
    def left(self) -> Float32Array:
        """The rest of the chunk, from the newest period on."""
        return self.chunk[max(self.at, 0) :]


class Asynchronous:
    """A policy on any number of stations in real time, `AsyncController`.

    One inference at a time, for all stations that are due for a chunk or would be before it is
    over. It is taken to last as long as the slowest of the last ones. A station whose chunk is over
    holds still: grippers hold what they hold, and the next chunk is gone on with from where the
    last one ended.

    periods: of all stations so far; missed: those of them in which a station held still. slowest:
    periods from asking for a chunk to its use, the most so far.
    """

    def __init__(self, policy: Policy, controller: PolicyController, delay: int = 1) -> None:
        """controller: the policy's own. delay: that the first inferences are taken to have."""
        self._controller, self._spec = controller, controller.spec
        self._looks = controller.looks if isinstance(controller, SeeingController) else 0
        self._infer = inferring(policy, controller)
        self._delays: deque[int] = deque([delay], maxlen=REMEMBERED)
        self._thread = ThreadPoolExecutor(1, "inference")  # ends with this object
        self._stations: dict[int, _AsyncEpisode] = {}
        self._thinking: tuple[list[_AsyncEpisode], Future[Sequence[Float32Array]]] | None = None
        self.periods = self.missed = self.slowest = 0

    def begin(self, row: int, rng: np.random.Generator, exploration: float) -> None:
        """Forget the last episode; what is still being computed for it is for nobody."""
        begun = self._thread.submit(self._controller.begin, row, rng, exploration)
        nothing = np.zeros((0, self._spec.action), np.float32)
        state = self._controller.new_episode(rng, exploration)
        self._stations[row] = _AsyncEpisode(state, begun, nothing, state.offset)

    def look(self, row: int, pictures: Image) -> None:
        """See `VisionController`."""
        self._stations[row].state.look(pictures)

    def due(self, row: int) -> bool:
        """See `VisionController`: in the period in which it will be asked, if nobody is by then.

        One that looks back to more than one picture is shown one in each period.
        """
        station = self._stations[row]
        if not self._looks or not station.state.pictures:
            return bool(self._looks)
        if not len(station.chunk):  # it stands where it was seen
            return False
        if self._looks > 1:
            return True
        if self._thinking is not None:
            stations, answer = self._thinking
            if station in stations or not answer.done():
                return False
        return self._periods_left(station, max(self._delays)) <= 1

    def decided(self, row: int, observation: Float32Array) -> bool:
        """See `AsyncController`."""
        station = self._stations[row]
        if not station.state.seen:
            station.state.see(observation)
        station.awake = True
        self._take()
        self._ask()
        going = len(station.chunk) > 0 or station.error is not None
        station.waited += not going
        return going

    def act(self, rows: Rows, observations: Float32Array, readings: Readings) -> Float32Array:
        """The actions of this period, (m, act); only an episode's first is waited for."""
        stations = [self._stations[row] for row in rows.tolist()]
        for station, observation in zip(stations, observations, strict=True):
            station.state.see(observation)
            station.now += 1
            station.awake = True
        self._take()
        self._ask()
        for station in stations:
            while not len(station.chunk) and station.error is None:
                self._wait()
            if station.error is not None:
                raise station.error
        return np.array([self._next(station) for station in stations])

    def as_json(self) -> dict[str, int]:
        """How it went; see the class."""
        return {"periods": self.periods, "missed": self.missed, "slowest": self.slowest}

    def _next(self, station: _AsyncEpisode) -> Float32Array:
        self.periods += 1
        if station.at < len(station.chunk):
            action: Float32Array = (station.chunk[station.at] + station.offset).astype(np.float32)
            return action
        self.missed += 1
        station.held += 1
        still: Float32Array = station.chunk[-1].copy()
        if not sets_joints(self._spec.task):
            still = np.zeros_like(still)
            still[6::7] = station.chunk[-1, 6::7]
        return still

    def _wait(self) -> None:
        if self._thinking is not None:
            self._thinking[1].exception()
        self._take()
        self._ask()

    def _take(self) -> None:
        """Hand out the chunks, if they are there."""
        if self._thinking is None or not self._thinking[1].done():
            return
        (stations, answer), self._thinking = self._thinking, None
        error = answer.exception()
        for station in stations:  # theirs began before
            station.error = station.begun.exception() or error
        if error is not None:
            return
        self._delays.append(max(1, *(_delay(station) for station in stations)))
        self.slowest = max(self.slowest, self._delays[-1])
        for station, chunk in zip(stations, answer.result(), strict=True):
            self._go_on(station, chunk)

    def _go_on(self, station: _AsyncEpisode, chunk: Float32Array) -> None:
        station.since = station.asked + station.held if len(station.chunk) else 0
        station.chunk, execute = chunk, min(self._spec.execute, len(chunk))
        varied = station.state.vary(-(-len(chunk) // execute))
        station.offset = self._controller.spread * varied

    def _ask(self) -> None:
        """Ask for all that are due, or soon will be, unless somebody is being thought for."""
        if self._thinking is not None:
            return
        delay = max(self._delays)
        awake = [station for station in list(self._stations.values()) if station.awake]
        if not any(self._periods_left(station, delay) <= 0 for station in awake):
            return
        soon = [station for station in awake if self._periods_left(station, delay) <= delay]
        asked = []
        for station in soon:
            station.awake, station.asked = False, station.now
            station.held = station.waited = 0
            seen, left = station.state.history(self._spec), station.left
            pictures = deque(station.state.pictures, self._looks)  # as of now: others will come
            state = replace(station.state, pictures=pictures, seen=station.state.seen.copy())
            asked.append(ChunkRequest(state, seen, left, min(delay, len(left))))
        self._thinking = soon, self._thread.submit(self._infer, asked)

    def _periods_left(self, station: _AsyncEpisode, delay: int) -> int:
        """Periods until a station is due for a chunk."""
        length = len(station.chunk)
        if not length:
            return 0
        delay = min(delay, length // 2)
        return max(delay, min(self._spec.execute, length - delay)) - station.at


def _delay(station: _AsyncEpisode) -> int:
    """Periods from asking for a station's chunk, which has just come, to its use."""
    return station.waited if station.now < 0 else station.now - station.asked
