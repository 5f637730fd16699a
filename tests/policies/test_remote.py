"""Policies over openpi's websocket protocol: the same actions, and no stall that hangs.

Servers that are slightly wrong are in `tests/inputs/servers.py`.
"""

from __future__ import annotations

import re
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from enpire.cli import main
from enpire.environment import Job, PolicyCameras, Stations, build_stations
from enpire.environment.core.policy_watch import PolicyWatch
from enpire.errors import PolicyError, UsageError
from enpire.observe import policy_loading
from enpire.policies import (
    BestOfPolicy,
    Chooser,
    ChooserSpec,
    ChunkPolicy,
    ChunkSpec,
    Correction,
    CorrectionSpec,
    FlowPolicy,
    FlowSpec,
    PicturePolicy,
    PictureSpec,
    Quick,
    ResidualPolicy,
    SpecialistPolicy,
    SpecialistSpec,
    load,
    metadata,
)
from enpire.policies.asynchronous import inferring
from enpire.policies.policy_runner import ChunkRequest, PolicyState
from enpire.policies.realtime import joining
from enpire.policies.remote import RemotePolicy, RemoteSpec, is_address
from enpire.policies.remote.client import HANG_UPS
from enpire.policies.remote.server import ChunkServer, access_to, server_of
from enpire.policies.remote.wire import pack, unpack
from enpire.types import SERVER, Image, Outcome, Purpose
from enpire.web.access import Access
from enpire.web.serving import bound, in_thread
from tests.environment.reach import reach_stations

msgpack = pytest.importorskip("msgpack")
connect = pytest.importorskip("websockets.sync.client").connect
serve = pytest.importorskip("websockets.sync.server").serve


@pytest.fixture(scope="module")
def stations() -> Stations:
    return build_stations("pick_cube", 2, threads=1)


def spec(stations: Stations) -> ChunkSpec:
    sizes = stations.observation_size, stations.action_size
    return ChunkSpec("pick_cube", *sizes, history=3, stride=2, chunk=8, execute=6, hidden=(16,))


@contextmanager
def listening(server) -> Iterator[str]:
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"ws://127.0.0.1:{server.socket.getsockname()[1]}"
    finally:
        server.shutdown()
        thread.join(10)


@contextmanager
def served(chunks: ChunkServer, port: int = 0, access: Access | None = None) -> Iterator[str]:
    """A server of ours, and where it is."""
    at = bound("127.0.0.1", port)
    with in_thread(server_of(chunks, access or access_to("127.0.0.1", False)), at):
        yield f"ws://127.0.0.1:{at.getsockname()[1]}"


@contextmanager
def later(chunks: ChunkServer, port: int | None, after: float) -> Iterator[None]:
    """A server of ours that comes after some seconds, and ends with the block."""
    over = threading.Event()

    def come() -> None:
        with served(chunks, port or 0):
            over.wait()

    timer = threading.Timer(after, come)
    timer.start()
    try:
        yield
    finally:
        over.set()
        timer.join()


def foreign(answer: Callable[[Any, dict], None], said: dict | None = None):
    """A server that is none of ours; answer: what it does about a request."""

    def talk(connection) -> None:
        connection.send(msgpack.packb(said or {}))
        for data in connection:
            answer(connection, unpack(data))

    return serve(talk, "127.0.0.1", 0, compression=None)


def answers(*shape: int) -> Callable[[Any, dict], None]:
    return lambda connection, _: connection.send(pack({"actions": np.zeros(shape, np.float32)}))


def episode(stations: Stations, controller, seed: int = 3, exploration: float = 0.0):
    job = Job(seed, Purpose.EVALUATION, controller, "p", exploration=exploration)
    stations.begin(0, job)
    done = []
    while stations.busy:
        done += stations.tick()
    return done[0]


def test_messages_are_openpis() -> None:
    message = {
        "actions": np.arange(6, dtype=np.float32).reshape(2, 3),
        "image": np.zeros((2, 2, 3), np.uint8),
        "count": np.int64(3),
        "prompt": "pick up the cube",
    }
    data = pack(message)
    theirs = msgpack.unpackb(data, strict_map_key=False)
    assert theirs["actions"] == {
        b"__ndarray__": True,
        b"data": message["actions"].tobytes(),
        b"dtype": "<f4",
        b"shape": [2, 3],
    }
    assert theirs["count"] == {b"__npgeneric__": True, b"data": 3, b"dtype": "<i8"}
    back = unpack(data)
    assert back["actions"].dtype == np.float32
    np.testing.assert_array_equal(back["actions"], message["actions"])
    assert back["image"].shape == (2, 2, 3)
    assert back["count"] == 3
    assert back["prompt"] == message["prompt"]


@pytest.mark.parametrize(
    "array",
    [
        {b"__ndarray__": True, b"data": b"\x80\x04.", b"dtype": "|O", b"shape": [1]},
        {b"__ndarray__": True, b"data": b"1234", b"dtype": "<f4", b"shape": [2]},
        {b"__ndarray__": True, b"data": b"1234", b"dtype": "<f4", b"shape": [-1, -1]},
        {b"__ndarray__": True, b"data": b"1234", b"dtype": "nonsense", b"shape": [1]},
        {b"__ndarray__": True, b"data": b"1234", b"shape": [1]},
        {b"__npgeneric__": True, b"data": 1, b"dtype": "|V8"},
    ],
)
def test_arrays_of_anything_but_numbers_are_refused(array) -> None:
    with pytest.raises(PolicyError):
        unpack(msgpack.packb({"actions": array}))
    with pytest.raises(PolicyError):
        pack({"a": np.array([object()])})


@pytest.mark.parametrize("data", [b"", b"\xc1", b"\x93\x01\x02\x03", b"text"])
def test_what_is_no_message_is_refused(data) -> None:
    with pytest.raises(PolicyError):
        unpack(data)


def test_a_policy_acts_over_the_wire_as_it_does_here(stations) -> None:
    policy = ChunkPolicy(spec(stations))
    with served(ChunkServer(policy, stations, "abc")) as address:
        found = RemotePolicy.find(address)
        assert found.spec.policy == "abc"
        assert found.spec.execute == 6
        kept = load(metadata(found), found.tensors())
        assert kept == found
        here = episode(stations, policy.controller(stations))
        there = episode(stations, kept.controller(stations))
        assert len(here) == len(there)
        np.testing.assert_array_equal(here.actions, there.actions)
        varied = episode(stations, kept.controller(stations), exploration=1.0)
        assert not np.array_equal(varied.actions[:6], here.actions[:6])
        with urllib.request.urlopen(address.replace("ws", "http", 1) + "/healthz") as reply:
            assert reply.read() == b"OK\n"


def test_what_a_policy_draws_comes_from_the_episodes_seed(stations) -> None:
    policy = FlowPolicy(FlowSpec.of(spec(stations)))
    with served(ChunkServer(policy, stations, "abc")) as address:
        controller = RemotePolicy.find(f"{address}?timeout=120").controller(stations)
        first, second = (episode(stations, controller).actions for _ in range(2))
        np.testing.assert_array_equal(first, second)
        other = episode(stations, controller, seed=4).actions
        assert not np.array_equal(first[:6], other[:6])


def test_a_chunk_goes_on_from_the_last_one_as_it_does_here(stations) -> None:
    policy = FlowPolicy(FlowSpec.of(spec(stations)))
    rng = np.random.default_rng(7)
    seen = rng.standard_normal((3, stations.observation_size)).astype(np.float32)
    left = rng.uniform(-1, 1, (5, stations.action_size)).astype(np.float32)
    with served(ChunkServer(policy, stations, "abc")) as address:
        found = RemotePolicy.find(f"{address}?timeout=120")
        assert found.spec.joins
        infer = inferring(found, found.controller(stations))
        there = [
            infer(
                [ChunkRequest(PolicyState(np.random.default_rng(1)), seen, each, min(2, len(each)))]
            )[0]
            for each in (left, left[:0])
        ]
    drawn = int(np.random.default_rng(1).integers(2**63))
    for each, chunk in zip((left, left[:0]), there, strict=True):
        here = joining(policy)(seen, np.random.default_rng(drawn), each, 2)
        np.testing.assert_array_equal(chunk, here)
    assert not np.array_equal(*there)


def test_a_server_of_others_is_asked_as_openpis_client_does(stations) -> None:
    asked: list[dict] = []

    def answer(connection, request: dict) -> None:
        asked.append(request)
        answers(5, stations.action_size)(connection, request)

    with listening(foreign(answer, {"model": "pi0"})) as address:
        found = policy_loading.load(f"{address}?execute=2&state=state")
        policy_loading.require_fit(found.policy, stations, found.name)
        controller = found.policy.controller(stations)
        rng = np.random.default_rng(0)
        controller.begin(0, rng, 0.0)
        controller.begin(1, rng, 0.0)
        observations = np.ones((2, stations.observation_size), np.float32)
        for _ in range(3):
            controller.act(np.array([0, 1]), observations, None)
    assert len(asked) == 5, "a try, then a chunk of two, twice, of two stations"
    assert not asked[0]["state"].any()
    assert set(asked[0]) == {"state", "prompt"}
    assert asked[0]["state"].shape == (stations.observation_size,)
    assert asked[0]["prompt"] == stations.task.instruction


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (answers(5, 3), r"shape \(5, 3\); an array of shape \(5, 7\) is needed"),
        (answers(4, 7), r"shape \(4, 7\); an array of shape \(5, 7\) is needed"),
        (lambda c, _: c.send(pack({"actions": np.full((5, 7), np.nan)})), "action 0 is nan"),
        (lambda c, _: c.send("ValueError: no such key"), "no such key"),
        (lambda c, _: c.close(), "gone"),
    ],
)
def test_what_is_no_answer_later_makes_the_episode_invalid(stations, answer, said) -> None:
    """It is the server's fault and no failure; the next episode is one again."""
    good = answers(5, 7)
    asked: list[bool] = []

    def turns(connection, request: dict) -> None:
        asked.append(True)
        (answer if 2 < len(asked) < 3 + HANG_UPS else good)(connection, request)

    with listening(foreign(turns)) as address:
        controller = RemotePolicy.find(address).controller(stations)
        done = episode(stations, controller)
        assert (done.verdict.outcome, done.verdict.stage) == (Outcome.INVALID, SERVER)
        assert re.search(said, done.verdict.reason), done.verdict.reason
        asked += [True] * HANG_UPS
        assert episode(stations, controller).verdict.outcome is Outcome.FAILURE


def test_actions_that_are_clipped_are_told(stations, caplog: pytest.LogCaptureFixture) -> None:
    def degrees(connection, request: dict) -> None:
        connection.send(pack({"actions": np.full((5, 7), 57.3, np.float64)}))

    with listening(foreign(degrees)) as address:
        controller = RemotePolicy.find(address).controller(stations)
        episode(stations, controller)
    assert controller.watch.share == 1.0
    assert "100% of its" in controller.watch.text
    assert len([r for r in caplog.records if "up to 57.3, and are clipped" in r.message]) == 1


def test_a_few_beyond_are_no_news() -> None:
    counted = PolicyWatch("p")
    counted.count(np.array([[0.0, 1.2]] * 9 + [[0.5, -1.0]] * 100))
    assert counted.text == ""
    assert counted.share == pytest.approx(9 / 109)


def test_actions_that_are_all_tiny_are_told() -> None:
    """As of a policy that answers in metres."""
    counted = PolicyWatch("p")
    drawn = np.random.default_rng(0).uniform(-0.002, 0.002, (60, 4)).astype(np.float32)
    counted.count(drawn)
    assert "none of its 60 actions is larger than 0.002" in counted.text
    counted.count(np.full((1, 4), 0.5, np.float32))
    assert counted.text == ""


def test_actions_that_are_all_the_same_are_told() -> None:
    counted = PolicyWatch("p")
    counted.count(np.zeros((1, 49, 2)))
    assert counted.text == "", "too few to say so"
    counted.count(np.zeros((1, 5, 2)))
    assert counted.text == ("p: all of its 54 actions are the same, (0, 0), whatever it is shown")
    counted.count(np.array([[0.0, 0.1]]))
    counted.count(np.zeros((1, 50, 2)))
    assert counted.text == ""


def test_a_server_that_starts_anew_in_the_middle_is_waited_for(stations) -> None:
    """It is away for a second; the question is asked again of the one that comes."""
    chunks = ChunkServer(ChunkPolicy(spec(stations)), stations, "abc")
    with bound("127.0.0.1", 0) as kept:  # from others, while nobody listens there
        port = kept.getsockname()[1]
        with served(chunks, port) as address:
            controller = RemotePolicy.find(f"{address}?timeout=60").controller(stations)
            controller.begin(0, np.random.default_rng(0), 0.0)
        with later(chunks, port, 1.0):
            observation = np.ones((1, stations.observation_size), np.float32)
            acted = controller.act(np.array([0]), observation, None)
    assert acted.shape == (1, stations.action_size)


def test_a_server_that_stalls_is_a_fault_and_not_a_hang(stations) -> None:
    over = threading.Event()

    def stall(connection, request: dict) -> None:
        over.wait(60)

    try:
        with listening(foreign(stall)) as address:
            controller = RemotePolicy.find(f"{address}?timeout=0.3").controller(stations)
            controller._tried = True
            began = time.monotonic()
            done = episode(stations, controller)
            assert time.monotonic() - began < 30
            assert done.verdict.outcome is Outcome.INVALID
            assert "stalls: no answer within 0.3 s" in done.verdict.reason
            over.set()
    finally:
        over.set()


def test_a_lost_connection_is_made_again(stations) -> None:
    hung_up: list[bool] = []

    def answer(connection, request: dict) -> None:
        if not hung_up:
            hung_up.append(True)
            connection.close()
            return
        answers(5, stations.action_size)(connection, request)

    with listening(foreign(answer)) as address:
        controller = RemotePolicy.find(address).controller(stations)
        controller.begin(0, np.random.default_rng(0), 0.0)
        observation = np.ones((1, stations.observation_size), np.float32)
        assert controller.act(np.array([0]), observation, None).shape == (1, stations.action_size)


def test_a_server_that_is_not_there_ends_the_run_and_is_waited_for(stations) -> None:
    with bound("127.0.0.1", 0) as kept:  # from others, while nobody listens there
        port = kept.getsockname()[1]
        address = f"ws://127.0.0.1:{port}?patience=0.3"
        with pytest.raises(PolicyError, match="no policy's server"):
            RemotePolicy.find(address)
        policy = RemotePolicy(RemoteSpec(f"ws://127.0.0.1:{port}", patience=60.0))
        controller = policy.controller(stations)
        with later(ChunkServer(ChunkPolicy(spec(stations)), stations, ""), port, 0.5):
            controller.begin(0, np.random.default_rng(0), 0.0)


def test_another_policy_in_the_same_place_is_found_out(stations) -> None:
    policy = ChunkPolicy(spec(stations))
    with served(ChunkServer(policy, stations, "new")) as address:
        found = RemotePolicy.find(address)
        old = RemotePolicy(replace(found.spec, policy="old"))
        with pytest.raises(PolicyError, match="another policy"):
            old.controller(stations).begin(0, np.random.default_rng(0), 0.0)


def test_our_server_tells_what_is_wrong_with_a_request(stations) -> None:
    policy = ChunkPolicy(spec(stations))
    with served(ChunkServer(policy, stations, "")) as address:
        seen = {"state": np.zeros(stations.observation_size)}
        left = np.zeros((3, stations.action_size))
        for request in (
            {},
            {"state": np.zeros(3)},
            {"state": np.full((3, 21), np.nan)},
            {**seen, "left": left[:, 1:]},
            {**seen, "left": left, "delay": 4},
            {**seen, "left": np.full_like(left, np.nan)},
        ):
            with connect(address, compression=None) as connection:
                assert unpack(connection.recv(30))["kind"] == "chunk"
                connection.send(pack(request))
                assert "PolicyError" in connection.recv(30)
        with connect(address, compression=None) as connection:
            connection.recv(30)
            connection.send(pack({"state": np.zeros(stations.observation_size)}))
            answer = unpack(connection.recv(30))
            assert answer["actions"].shape == (8, stations.action_size)
            assert answer["server_timing"]["infer_ms"] >= 0


def test_many_clients_at_once_get_each_their_own(stations) -> None:
    policy = FlowPolicy(FlowSpec.of(spec(stations)))
    chunks = ChunkServer(policy, stations, "")
    rng = np.random.default_rng(0)
    size = stations.observation_size
    requests = [
        {
            "state": rng.standard_normal(size if n % 4 else 3),
            "seed": n,
            **({"left": left} if n % 3 else {}),
        }
        for n, left in enumerate(rng.uniform(-1, 1, (12, 2, stations.action_size)))
    ]
    alone = [
        None if not n % 4 else chunks.infer(each)["actions"] for n, each in enumerate(requests)
    ]
    with served(chunks) as address:

        def ask(request: dict[str, Any]) -> Any:
            with connect(address, compression=None) as connection:
                connection.recv(60)
                connection.send(pack(request))
                return connection.recv(60)

        with ThreadPoolExecutor(12) as clients:
            answers = list(clients.map(ask, requests))
    for answer, expected in zip(answers, alone, strict=True):
        if expected is None:
            assert "PolicyError" in answer
        else:
            np.testing.assert_array_equal(unpack(answer)["actions"], expected)


def test_together_they_are_worked_out_as_in_a_training(stations) -> None:
    policy = FlowPolicy(FlowSpec.of(spec(stations)))
    seen = np.ones((3, stations.observation_size), np.float32)
    served = ChunkServer(policy, stations, "", together=True)
    chunk = served.infer({"state": seen, "seed": 3})["actions"]
    drawn = int(np.random.default_rng(3).integers(2**63))
    np.testing.assert_array_equal(chunk, policy.sampler("").many(seen[None], [drawn])[0])


@pytest.mark.parametrize("kind", ["critics", "residual"])
def test_what_stands_on_a_base_is_served_with_chunks_as_long_as_it_says(
    stations, kind: str
) -> None:
    base = ChunkPolicy(replace(spec(stations), execute=4))
    seen, acts, history = base.spec.observation, base.spec.action, base.spec.history
    made = {
        "residual": lambda: ResidualPolicy(
            base, Correction(CorrectionSpec(seen, acts, history, 4, 1.0))
        ),
        "critics": lambda: BestOfPolicy(
            base,
            # Of what was longer ago than a request tells, its oldest observation stands.
            Chooser(ChooserSpec(seen, (4, 0), acts, 4, (0,), margin=0.1, attempt_lags=(50, 0))),
        ),
    }
    policy = made[kind]()
    with served(ChunkServer(policy, stations, "abc")) as address:
        found = RemotePolicy.find(address)
        assert found.spec.chunk == 4 < base.spec.chunk
        there = episode(stations, found.controller(stations))
    assert np.isfinite(there.actions).all()
    if kind == "residual":  # draws nothing
        here = episode(stations, policy.controller(stations))
        np.testing.assert_array_equal(here.actions, there.actions)


def test_who_goes_on_from_period_to_period_is_not_served(stations) -> None:
    base = ChunkPolicy(spec(stations))
    quick = replace(base.spec, execute=1)
    together = SpecialistSpec(every=6, late=0, pending=2, quick=quick)
    with pytest.raises(PolicyError, match="no chunks to answer single requests"):
        ChunkServer(SpecialistPolicy(base, Quick(together)), stations, "")
    residual = Correction(CorrectionSpec(base.spec.observation, base.spec.action, 3, 6, 1.0))
    corrected = ResidualPolicy(base, residual)
    ChunkServer(corrected, stations, "")
    with pytest.raises(PolicyError, match="leave --together out"):
        ChunkServer(corrected, stations, "", together=True)


@pytest.mark.parametrize(
    "reference",
    [
        "ws://",
        "ws://h:1?exec=2",
        "ws://h:1?execute=0",
        "ws://h:1?execute=1e3",
        "ws://h:1?state=",
        "ws://h:1?timeout=x",
        "ws://h:1?timeout=nan",
        "ws://h:1?patience=inf",
        "ws://[",
        "ws://h:99999999",
    ],
)
def test_an_address_is_looked_at(reference) -> None:
    assert is_address(reference)
    with pytest.raises(UsageError):
        RemotePolicy.find(reference)
    assert not is_address("runs/ws")


@pytest.mark.parametrize("token", [" abc", "abc\r\n", "caf\u00e9"])
def test_a_token_that_is_none_is_not_told(token, monkeypatch) -> None:
    monkeypatch.setenv("ENPIRE_POLICY_TOKEN", token)
    with pytest.raises(UsageError, match="ENPIRE_POLICY_TOKEN has a space") as refused:
        RemotePolicy.find("ws://127.0.0.1:1?patience=1")
    assert token.strip() not in str(refused.value)


def test_more_actions_than_a_chunk_has_are_not_carried_out(stations) -> None:
    with (
        served(ChunkServer(ChunkPolicy(spec(stations)), stations, "abc")) as address,
        pytest.raises(UsageError, match="100 actions of a chunk, and its chunks have 8"),
    ):
        policy_loading.load(f"{address}?execute=100")


def test_eval_takes_an_address(stations, capsys) -> None:
    policy = ChunkPolicy(spec(stations))
    asked = ["eval", "--episodes", "2", "--robots", "2", "--seed", "1", "--policy"]
    with served(ChunkServer(policy, stations, "abc")) as address:
        assert main([*asked, address]) == 0
        assert address.removeprefix("ws://") in capsys.readouterr().out
    with listening(foreign(answers(5, stations.action_size))) as address:
        assert main([*asked, address]) == 2
        assert "--task" in capsys.readouterr().err


# Pictures

CAMERAS = ("front", "side")


class Snaps:
    """Pictures of noise, a new one each period."""

    policy_cameras = PolicyCameras(CAMERAS, 16, (1,))

    def __init__(self, stations: Stations) -> None:
        self._stations = stations

    def begin(self, row: int, rng: np.random.Generator) -> None:
        pass

    def capture(self, row: int) -> Future[Image]:
        rng = np.random.default_rng(len(self._stations._running[row].actions))
        answer: Future[Image] = Future()
        answer.set_result(rng.integers(0, 256, (2, 16, 16, 3), np.uint8))
        return answer


@pytest.fixture
def seeing() -> Stations:
    made = reach_stations()
    made.frame_capture = Snaps(made)
    return made


def picture_policy(stations: Stations) -> PicturePolicy:
    torch.manual_seed(0)
    shape = PictureSpec(
        "reach",
        stations.observation_size,
        stations.action_size,
        hidden=(16,),
        cameras=("side",),
        size=16,
        felt=(1,),
        channels=(4, 6),
    )
    return PicturePolicy(shape)


def test_a_policy_that_sees_acts_over_the_wire_as_it_does_here(seeing) -> None:
    policy = picture_policy(seeing)
    with served(ChunkServer(policy, seeing, "abc")) as address:
        found = RemotePolicy.find(address)
        assert (found.spec.cameras, found.spec.size, found.spec.observation) == (("side",), 16, 1)
        assert policy_loading.images(found) == 16
        policy_loading.require_fit(found, seeing, "p")
        kept = load(metadata(found), found.tensors())
        assert kept == found
        with pytest.raises(PolicyError, match="--images 16"):
            kept.controller(reach_stations())
        there = episode(seeing, kept.controller(seeing))
        once, again = there, episode(seeing, kept.controller(seeing))
        np.testing.assert_array_equal(once.actions, again.actions)
        seen = {"observation/state": np.zeros((3, 1), np.float32), "seed": 3}
        picture = np.zeros((16, 16, 3), np.uint8)
        with connect(address, compression=None) as connection:
            connection.recv(30)
            for each in (picture, picture + 255):
                connection.send(pack({**seen, "observation/side": each}))
            dark, light = (unpack(connection.recv(30))["actions"] for _ in range(2))
            assert not np.array_equal(dark, light)
            state = PolicyState(np.random.default_rng(3))
            state.pictures.append(np.zeros((2, 16, 16, 3), np.uint8))
            whole = np.zeros((1, 3, seeing.observation_size), np.float32)
            here = policy.controller(seeing).chunks(whole, [state])[0]
            np.testing.assert_array_equal(dark, here)
            connection.send(pack({**seen, "observation/side": picture[:8]}))
            assert "'observation/side' of uint8" in connection.recv(30)


def test_a_server_of_others_is_sent_pictures_as_openpis_client_does(seeing) -> None:
    asked: list[dict] = []

    def answer(connection, request: dict) -> None:
        asked.append(request)
        answers(4, seeing.action_size)(connection, request)

    with listening(foreign(answer)) as address:
        for named in ("", "&cameras=front:observation/image,side"):
            found = RemotePolicy.find(f"{address}?images=16{named}")
            assert load(metadata(found), {}) == found
            done = episode(seeing, found.controller(seeing))
            assert set(done.pictured) >= set(range(0, len(done), 4))
        tried, first, other = asked[0], asked[1], asked[-1]
        assert set(tried) == set(first)
        assert not tried["observation/side"].any()
        assert set(first) == {
            "observation/state",
            "prompt",
            "observation/front",
            "observation/side",
        }
        assert set(other) == {
            "observation/state",
            "prompt",
            "observation/image",
            "observation/side",
        }
        assert first["observation/state"].shape == (1,), "what an arm feels"
        expected = np.random.default_rng(0).integers(0, 256, (2, 16, 16, 3), np.uint8)
        np.testing.assert_array_equal(first["observation/side"], expected[1])
        assert first["observation/side"].dtype == np.uint8
    with pytest.raises(UsageError, match="images=N"):
        RemotePolicy.find("ws://h:1?cameras=front")
