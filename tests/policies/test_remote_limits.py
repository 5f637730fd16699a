"""What who reaches a policy's server may do to it, and what a server may do to its client."""

from __future__ import annotations

import socket
import threading
import tracemalloc
from collections.abc import Iterator
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest

from enpire.environment import build_stations
from enpire.errors import PolicyError, StoreError, UsageError
from enpire.observe import policy_loading
from enpire.policies import ChunkPolicy
from enpire.policies.remote import RemotePolicy, RemoteSpec
from enpire.policies.remote.client import TOKEN
from enpire.policies.remote.server import ChunkServer, access_to
from enpire.policies.remote.wire import LONGEST, pack, unpack
from enpire.web import limits, websocket

from .test_remote import answers, foreign, listening, served, spec

msgpack = pytest.importorskip("msgpack")
client = pytest.importorskip("websockets.sync.client")
exceptions = pytest.importorskip("websockets.exceptions")

SECRET = "a-token-of-some-length"
PATIENCE_S = 30.0


@pytest.fixture(scope="module")
def chunks() -> ChunkServer:
    stations = build_stations("pick_cube", 1, threads=1)
    return ChunkServer(ChunkPolicy(spec(stations)), stations, "abc")


@pytest.fixture
def address(chunks: ChunkServer) -> Iterator[str]:
    with served(chunks) as address:
        yield address


@pytest.fixture
def locked(chunks: ChunkServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A server that asks for a token; its clients have none yet."""
    monkeypatch.setenv(TOKEN, SECRET)
    access = access_to("127.0.0.1", True)
    monkeypatch.delenv(TOKEN)
    with served(chunks, access=access) as address:
        yield address


def answered(address: str) -> bool:
    with client.connect(address, compression=None) as connection:
        return unpack(connection.recv(PATIENCE_S))["kind"] == "chunk"


def status(address: str, headers: dict[str, str]) -> int:
    """What a handshake with these headers is answered with."""
    where = urlsplit(address)
    sent = {
        "Host": where.netloc,
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
        "Sec-WebSocket-Version": "13",
    } | headers
    with socket.create_connection((where.hostname, where.port), timeout=PATIENCE_S) as connection:
        lines = "".join(f"{name}: {value}\r\n" for name, value in sent.items())
        connection.sendall(f"GET / HTTP/1.1\r\n{lines}\r\n".encode())
        return int(connection.recv(4096).split()[1])


@pytest.mark.parametrize(
    ("headers", "said"),
    [
        ({}, 101),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Host": "evil.example"}, 421),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
    ],
)
def test_pages_of_a_browser_on_this_machine_are_refused(
    address: str, headers: dict[str, str], said: int
) -> None:
    assert status(address, headers) == said


@pytest.mark.parametrize(
    ("shown", "said"),
    [
        ({}, 401),
        ({"Authorization": "Bearer "}, 401),
        ({"Authorization": f"Basic {SECRET}"}, 401),
        ({"Authorization": f"Bearer {SECRET}x"}, 401),
        ({"Authorization": f"Bearer {SECRET}"}, 101),
        ({"Authorization": f"Api-Key {SECRET}"}, 101),
    ],
)
def test_a_token_is_asked_for(locked: str, shown: dict[str, str], said: int) -> None:
    assert status(locked, shown) == said


def test_a_client_shows_its_token_and_says_at_once_that_it_is_wrong(
    locked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for wrong in ("", "another"):
        monkeypatch.setenv(TOKEN, wrong)
        with pytest.raises(PolicyError, match=f"missing or wrong.*{TOKEN}"):
            RemotePolicy.find(f"{locked}?patience=600")
    monkeypatch.setenv(TOKEN, SECRET)
    found = RemotePolicy.find(locked)
    assert found.spec.policy == "abc"
    assert SECRET not in found.spec.to_json()


def test_other_machines_need_a_token(monkeypatch: pytest.MonkeyPatch) -> None:
    for host in ("0.0.0.0", "::", "10.0.0.3", "gpu"):
        with pytest.raises(UsageError, match="--token"):
            access_to(host, False)
        assert access_to(host, True).token
    for said, why in (("guess", "short"), ("a token of some length", "has a space")):
        monkeypatch.setenv(TOKEN, said)
        with pytest.raises(UsageError, match=why):
            access_to("0.0.0.0", True)


def test_idle_connections_take_no_threads_and_are_few(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "CONNECTIONS", 20)
    before = threading.active_count()
    where = urlsplit(address)
    idle = [socket.create_connection((where.hostname, where.port)) for _ in range(300)]
    for each in idle[20:]:
        each.settimeout(PATIENCE_S)
        with suppress(ConnectionResetError):
            assert each.recv(1) == b""
    assert threading.active_count() <= before + 1
    for each in idle:
        each.close()
    assert answered(address)


def test_a_handshake_that_does_not_arrive_ends_and_a_client_that_waits_does_not(
    chunks: ChunkServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "REQUEST_S", 1.0)
    with served(chunks) as address, client.connect(address, compression=None) as waiting:
        waiting.recv(PATIENCE_S)
        where = urlsplit(address)
        with socket.create_connection((where.hostname, where.port), PATIENCE_S) as half:
            half.sendall(b"GET / HTTP/1.1\r\nUpgrade: websocket\r\n")
            with suppress(ConnectionResetError):
                assert half.recv(1) == b""
        waiting.send(pack({"state": np.zeros(chunks.metadata["observation"])}))
        assert "actions" in unpack(waiting.recv(PATIENCE_S))


def test_a_message_beyond_what_a_request_can_be_is_not_read(
    address: str, chunks: ChunkServer
) -> None:
    assert chunks.longest < 2**20
    with client.connect(address, compression=None) as connection:
        connection.recv(PATIENCE_S)
        connection.send(b"\x00" * (chunks.longest + 1))
        with pytest.raises(exceptions.ConnectionClosed, match="1009"):
            connection.recv(PATIENCE_S)
    assert answered(address)


def test_who_does_not_read_is_cut_off(chunks: ChunkServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(websocket, "TAKE_S", 0.2)
    monkeypatch.setattr(chunks, "infer", lambda _: {"actions": np.zeros(2**20)})
    lost = threading.Event()
    connection_lost = websocket.LimitedWebSocket.connection_lost

    def tell(*lost_by: Any) -> None:
        connection_lost(*lost_by)
        lost.set()

    monkeypatch.setattr(websocket.LimitedWebSocket, "connection_lost", tell)
    with served(chunks) as address, client.connect(address, compression=None, max_queue=1) as deaf:
        deaf.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        deaf.recv(PATIENCE_S)
        for _ in range(4):
            deaf.send(pack({}))
        assert lost.wait(PATIENCE_S)


@pytest.mark.parametrize(
    "data",
    [
        b"\xdd" + (LONGEST - 5).to_bytes(4, "big") + b"\x80" * (LONGEST - 5),
        b"\xdd" + (LONGEST - 5).to_bytes(4, "big") + b"\x90" * (LONGEST - 5),
        (b"\xdc\xff\xff" + b"\x80" * 65535) * 100,
        b"\x91" * LONGEST,
        b"\x81\x01" * 1000,
        b"\xdf\xff\xff\xff\xff",
        b"\xc6\xff\xff\xff\xff",
    ],
    ids=["maps", "lists", "lists of maps", "deep", "deep maps", "a long map", "long bytes"],
)
def test_a_small_message_that_stands_for_much_is_refused(data: bytes) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(PolicyError):
            unpack(data)
        assert tracemalloc.get_traced_memory()[1] < 4 * LONGEST
    finally:
        tracemalloc.stop()


def test_a_message_of_too_many_lists_is_refused_though_it_is_well_formed() -> None:
    assert unpack(pack({"lists": [[]] * 900})) == {"lists": [[]] * 900}
    with pytest.raises(PolicyError, match="more than 1000 maps and lists"):
        unpack(pack({"lists": [[]] * 1000}))


@pytest.mark.parametrize(
    "wrong",
    [
        {"history": 400_000_000},
        {"history": 0},
        {"stride": -1},
        {"chunk": 10**9},
        {"chunk": float("inf")},
        {"observation": 10**5, "history": 1000},
        {"action": 10**4, "chunk": 10**4},
        {"size": 4096, "looks": 64, "cameras": ["a", "b"]},
        {"size": 10**6},
        {"spread": [0.1] * 3},
        {"spread": [float("nan")] * 7},
        {"execute": -5},
        {"task": ["a"], "history": "many"},
    ],
)
def test_a_server_that_says_what_no_policy_is_like_is_refused(wrong: dict[str, object]) -> None:
    numbers = {"observation": 21, "action": 7, "history": 3, "stride": 2, "chunk": 8, "execute": 6}
    said = {"enpire": 1, "task": "t", "policy": "", "spread": [0.1] * 7, **numbers}
    RemoteSpec("ws://h:1", spread=(0.1,) * 7, **numbers)
    with listening(foreign(answers(8, 7), said | wrong)) as address, pytest.raises(PolicyError):
        RemotePolicy.find(address)


def test_a_task_that_a_server_names_by_a_path_is_not_run(tmp_path: object) -> None:
    numbers = {"observation": 21, "action": 7, "history": 3, "stride": 2, "chunk": 8, "execute": 6}
    said = {"enpire": 1, "task": f"{tmp_path}/evil", "policy": "", "spread": [], **numbers}
    with listening(foreign(answers(8, 7), said)) as address:
        found = policy_loading.load(address)
    with pytest.raises(StoreError, match="--trust"):
        found.require_trusted(found.task, False)
    found.require_trusted("pick_cube", False)
    found.require_trusted(found.task, True)
