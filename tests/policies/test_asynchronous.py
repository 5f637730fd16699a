"""Nobody waits for inference, on however many stations; what comes too late moves nothing."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from enpire.environment.core.controller import VisionController
from enpire.errors import PolicyError, PolicyFault
from enpire.policies import (
    BestOfPolicy,
    Chooser,
    ChooserSpec,
    ChunkPolicy,
    ChunkSpec,
    FlowPolicy,
    FlowSpec,
    PolicyController,
)
from enpire.policies.asynchronous import Asynchronous, live_controller
from enpire.policies.remote import RemotePolicy
from enpire.policies.remote.wire import pack
from enpire.policies.vision import ObservationMask, SeeingController

from .test_flow import SPEC as FLOW
from .test_remote import foreign, listening

SPEC = ChunkSpec("t", observation=1, action=7, history=1, chunk=12, execute=6, hidden=(8,))
LIVE = SimpleNamespace(live=True, name="t", observation_size=1, action_size=7, policy_cameras=None)
PERIODS = 60
PATIENCE_S = 60.0


class Line(ChunkPolicy):
    """Its chunks go on from what it sees, one up a period; each waits until it may be had."""

    def __init__(self) -> None:
        super().__init__(SPEC)
        self.asked: list[float] = []
        self.may = threading.Semaphore(0)
        self.fault: Exception | None = None

    def inference(self) -> Callable[[np.ndarray], np.ndarray]:
        return self.answer

    def answer(self, history: np.ndarray) -> np.ndarray:
        self.asked.append(float(history[0, -1, 0]))
        assert self.may.acquire(timeout=PATIENCE_S)
        if self.fault is not None:
            raise self.fault
        return line(self.asked[-1])


def line(start: float) -> np.ndarray:
    chunk = start + np.arange(SPEC.chunk)
    return np.repeat(chunk[None, :, None], SPEC.action, axis=2).astype(np.float32)


def made(policy: ChunkPolicy, delay: int = 1, rows: int = 1, exploration: float = 0.0):
    controller = Asynchronous(policy, PolicyController(policy), delay)
    for row in range(rows):
        controller.begin(row, np.random.default_rng(row), exploration)
    return controller


def act(controller, period: int, row: int = 0) -> float:
    seen = np.full((1, 1), period, np.float32)
    return float(controller.act(np.array([row]), seen, None)[0, 0])


def computed(controller: Asynchronous, policy: Line) -> None:
    """Let what is being thought about be thought."""
    assert controller._thinking is not None
    stations, answer = controller._thinking
    policy.may.release(len(stations))
    answer.exception(timeout=PATIENCE_S)


def started(policy: Line, controller: Asynchronous, row: int = 0, start: float = 0.0) -> None:
    """The station's first chunk is there."""
    seen = np.full(1, start, np.float32)
    while not controller.decided(row, seen):
        computed(controller, policy)


def test_no_period_waits_for_inference_and_none_shows_it() -> None:
    policy = Line()
    controller = made(policy, delay=4)
    started(policy, controller)
    done = []
    for period in range(PERIODS):
        done.append(act(controller, period))
        if period % 6 == 3 and period > 3:  # three periods after each asking
            computed(controller, policy)
    assert done == list(range(PERIODS))
    assert (controller.missed, controller.periods, controller.slowest) == (0, PERIODS, 4)


def test_what_comes_too_late_is_missed_and_gone_on_with_from_where_it_stands() -> None:
    policy = Line()
    controller = made(policy, delay=2)
    started(policy, controller)
    assert [act(controller, period) for period in range(12)] == list(range(12))
    assert [act(controller, 12) for _ in range(3)] == [0.0] * 3  # nothing moves
    assert controller.missed == 3
    computed(controller, policy)
    assert [act(controller, 12 + i) for i in range(6)] == [12.0 + i for i in range(6)]
    assert (controller.missed, controller.slowest) == (3, 9)


def test_the_first_chunk_is_thought_about_while_others_go_on() -> None:
    policy = Line()
    controller = made(policy, rows=2)
    started(policy, controller)
    seen = np.full(1, 100.0, np.float32)
    assert not controller.decided(1, seen)
    assert [act(controller, period) for period in range(5)] == list(range(5))
    assert not controller.decided(1, seen)
    computed(controller, policy)
    assert controller.decided(1, seen)
    assert act(controller, 100, row=1) == 100.0


def test_stations_are_thought_for_together_and_those_at_rest_not_at_all() -> None:
    policy = Line()
    controller = made(policy, delay=3, rows=3)
    for row in range(3):
        started(policy, controller, row, 100.0 * row)
    policy.asked.clear()
    for period in range(PERIODS):
        rows = (0, 1) if period >= 2 else (0, 1, 2)  # the last one's episode ends
        for row in rows:
            assert act(controller, 100 * row + period, row) == 100.0 * row + period
        if controller._thinking is not None and period % 6 == 1:
            computed(controller, policy)
    if controller._thinking is not None:  # both have been asked for once it is over
        computed(controller, policy)
    assert controller.missed == 0
    of_each = [sum(100 * row <= at < 100 * row + PERIODS for at in policy.asked) for row in (0, 1)]
    assert of_each[0] == of_each[1] <= PERIODS / 6
    assert sum(at >= 200 for at in policy.asked) <= 1


def test_a_fault_ends_the_episodes_that_were_thought_for_and_no_later_one() -> None:
    policy = Line()
    controller = made(policy)
    policy.fault = PolicyFault("it stalls")
    started(policy, controller)
    with pytest.raises(PolicyFault, match="it stalls"):
        act(controller, 0)
    policy.fault = None
    controller.begin(0, np.random.default_rng(1), 0.0)
    started(policy, controller)
    assert act(controller, 0) == 0.0


def test_what_is_explored_is_explored_here_too() -> None:
    policy = Line()
    plain, varied = made(policy), made(policy, exploration=1.0)
    for controller in (plain, varied):
        started(policy, controller)
    seen = np.zeros((1, 1), np.float32)
    off = [(varied.act(np.array([0]), seen, None) - plain.act(np.array([0]), seen, None))[0]]
    off.append((varied.act(np.array([0]), seen, None) - plain.act(np.array([0]), seen, None))[0])
    assert abs(off[0]).max() > 0.0
    np.testing.assert_allclose(off[0], off[1], atol=1e-6)
    policy.may.release(9)


def test_a_policy_on_another_machine_goes_through_the_same() -> None:
    may = threading.Semaphore(0)

    def answer(connection, request) -> None:
        assert may.acquire(timeout=PATIENCE_S)
        connection.send(pack({"actions": line(float(request["observation/state"][0]))[0]}))

    with listening(foreign(answer)) as address:
        controller = live_controller(RemotePolicy.find(f"{address}?execute=6"), LIVE)
        assert isinstance(controller, Asynchronous)
        controller.begin(0, np.random.default_rng(0), 0.0)
        seen = np.zeros(1, np.float32)
        assert not controller.decided(0, seen)
        may.release(2)  # for the trial before the first question, too
        controller._thinking[1].result(PATIENCE_S)
        assert controller.decided(0, seen)
        done = []
        for period in range(PERIODS):
            done.append(act(controller, period))
            if controller._thinking is not None:
                may.release()
                controller._thinking[1].result(PATIENCE_S)
    assert done == list(range(PERIODS))
    assert controller.missed == 0


def test_a_server_that_is_gone_ends_the_run_and_stalls_nobody() -> None:
    with listening(foreign(lambda *_: None)) as address:
        found = RemotePolicy.find(f"{address}?execute=6")
    policy = RemotePolicy(replace(found.spec, patience=0.3, timeout=0.3))
    controller = live_controller(policy, LIVE)
    controller.begin(0, np.random.default_rng(0), 0.0)
    assert not controller.decided(0, np.zeros(1, np.float32))
    controller._thinking[1].exception(PATIENCE_S)
    assert controller.decided(0, np.zeros(1, np.float32))
    with pytest.raises(PolicyError, match="no policy's server"):
        act(controller, 0)


def test_only_where_time_goes_on_and_there_are_chunks() -> None:
    flow = FlowPolicy(FLOW)
    assert isinstance(live_controller(flow, SimpleNamespace(live=True)), Asynchronous)
    assert isinstance(live_controller(flow, SimpleNamespace(live=False)), PolicyController)
    single = ChunkPolicy(ChunkSpec("t", 1, 7, history=1, chunk=1, execute=1, hidden=(8,)))
    assert isinstance(live_controller(single, SimpleNamespace(live=True)), PolicyController)


class Looking(SeeingController):
    """Notes of each inference the observation and the picture that it was shown."""

    def __init__(self) -> None:
        infer = SimpleNamespace(spec=SPEC, spread=torch.zeros(SPEC.action), inference=lambda: None)
        super().__init__(infer, ObservationMask((0,), (0,), 1))
        self.saw: list[tuple[float, int]] = []

    def chunks(self, seen, states) -> np.ndarray:
        pictures = self.shown(states)
        self.saw.append((float(seen[0, -1, 0]), int(pictures[0, -1, 0, 0, 0, 0])))
        return line(self.saw[-1][0])


def test_a_policy_that_sees_is_shown_a_picture_of_when_it_is_asked() -> None:
    looking = Looking()
    controller = Asynchronous(looking, looking, 2)
    controller.begin(0, np.random.default_rng(0), 0.0)

    def shown(period: int) -> bool:
        if due := controller.due(0):
            controller.look(0, np.full((1, 4, 4, 3), period, np.uint8))
        return due

    assert shown(0)
    while not controller.decided(0, np.zeros(1, np.float32)):
        assert not shown(99)  # it stands where it was seen
        controller._thinking[1].exception(timeout=PATIENCE_S)
    asked = []
    for period in range(PERIODS):
        if shown(period):
            asked.append(period)
        act(controller, period)
        if controller._thinking is not None:
            controller.look(0, np.full((1, 4, 4, 3), 77, np.uint8))  # is too late for this one
            controller._thinking[1].exception(timeout=PATIENCE_S)
    assert looking.saw == [(0.0, 0), *((float(period), period) for period in asked)]
    assert 5 <= len(asked) <= PERIODS // 5
    assert isinstance(controller, VisionController)


def test_critics_that_look_back_farther_than_their_base_act_on_arms() -> None:
    chooser = ChooserSpec(
        1, (2, 0), 7, SPEC.execute, (0,), margin=0.1, back=2, attempt_lags=(50, 0)
    )
    torch.manual_seed(0)
    policy = BestOfPolicy(FlowPolicy(FlowSpec.of(SPEC)), Chooser(chooser))
    controller = live_controller(policy, LIVE)
    assert isinstance(controller, Asynchronous)
    controller.begin(0, np.random.default_rng(0), 0.0)
    seen = np.zeros((1, 1), np.float32)
    while not controller.decided(0, seen[0]):
        pass
    done = [controller.act(np.array([0]), seen, None)[0] for _ in range(PERIODS)]
    assert np.isfinite(done).all()
