"""The proxy, where nobody is hostile; `hostile/test_ways_out.py` has the others."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from enpire.model_gateway import proxy as proxies
from enpire.model_gateway.allow_list import Upstream
from enpire.model_gateway.proxy import Proxy
from enpire.model_gateway.usage import Allowance, Usage
from tests.processes import LONG_S, waiting

from .upstream import Api, api

BODY = {"model": "m", "max_tokens": 100}
MOST = 100 + len(json.dumps(BODY)) // 4


@pytest.fixture
def upstream() -> Iterator[Api]:
    with api() as made:
        yield made


class Client(http.client.HTTPConnection):
    """Over the proxy's own socket."""

    def __init__(self, proxy: Proxy) -> None:
        super().__init__("localhost", timeout=LONG_S)
        self._path = str(proxy.socket)

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self._path)


def ask(proxy: Proxy, body: dict[str, Any]) -> tuple[int, bytes]:
    client = Client(proxy)
    client.request("POST", "/model/v1/messages", json.dumps(body))
    answer = client.getresponse()
    status, said = answer.status, answer.read()
    client.close()
    return status, said


def proxy(url: str, used: list[Usage], allowance: Allowance | None = None) -> Proxy:
    model = Upstream("model", url, ("POST /v1/messages",), "authorization", "Bearer ", "k")
    return Proxy((model,), allowance or Allowance(1000), used.append)


def test_request_and_answer_go_through(upstream: Api) -> None:
    used: list[Usage] = []
    with proxy(upstream.url, used) as made:
        status, said = ask(made, BODY)
    assert (status, json.loads(said)["content"]) == (200, "hello")
    path, headers, body = upstream.asked[0]
    assert (path, headers["authorization"], json.loads(body)) == ("/v1/messages", "Bearer k", BODY)
    assert used[0].model == "m"
    assert used[0].tokens == made.allowance.spent == 142


def test_without_a_key_there_is_no_header_for_it(upstream: Api) -> None:
    model = Upstream("model", upstream.url, ("POST /v1/messages",), "authorization", "Bearer ")
    with Proxy((model,), Allowance(1000)) as made:
        assert ask(made, BODY)[0] == 200
    assert "authorization" not in upstream.asked[0][1]


def test_half_a_body_is_none() -> None:
    def answer() -> None:
        client, _ = listening.accept()
        asked = b""
        while not asked.endswith(json.dumps(BODY).encode()):  # what is unread would reset it
            asked += client.recv(65536)
        client.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{")
        client.close()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=answer, daemon=True).start()
        with proxy(f"http://127.0.0.1:{listening.getsockname()[1]}", []) as made:
            status, said = ask(made, BODY)
    assert status == 502
    assert b"IncompleteRead" in said
    assert made.allowance.spent == MOST, "nobody knows what it was"


def test_what_was_not_sent_costs_nothing() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    used: list[Usage] = []
    with proxy(f"http://127.0.0.1:{port}", used) as made:
        status, said = ask(made, BODY)
    assert status == 502
    assert b"cannot be reached" in said
    assert made.allowance.spent == made.allowance.reserved == 0
    assert used[0].status == 0


def test_answer_of_an_overloaded_model_is_passed_on(upstream: Api) -> None:
    used: list[Usage] = []
    with proxy(upstream.url, used) as made:
        status, _ = ask(made, BODY | {"say": "busy"})
    assert status == 529
    assert made.allowance.spent == 0


def test_key_is_not_shown() -> None:
    assert "secret" not in repr(Upstream("model", "http://x", key="secret"))


def test_connection_is_kept(upstream: Api) -> None:
    with proxy(upstream.url, []) as made:
        client = Client(made)
        for _ in range(3):
            client.request("POST", "/model/v1/messages", json.dumps(BODY))
            assert client.getresponse().read()
        client.close()
    assert len(upstream.asked) == 3


def test_reserved_is_not_spent_twice() -> None:
    allowance = Allowance(100)
    assert allowance.reserve(60)
    assert not allowance.reserve(60)
    allowance.settle(60, 10)
    assert allowance.reserve(60)
    allowance.settle(60, None)
    assert allowance.spent == 70


def test_what_is_under_way_at_the_end_is_recorded_before_it_has_closed(
    upstream: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proxies, "GRACE_S", LONG_S)
    used: list[Usage] = []
    with proxy(upstream.url, used) as made:
        client = Client(made)
        client.request("POST", "/model/v1/messages", json.dumps(BODY | {"say": "slow"}))
        assert client.getresponse().readline()
    assert [(one.tokens, one.complete) for one in used] == [(142, True)]
    client.close()


def test_what_does_not_end_is_cut_off_and_recorded(
    upstream: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proxies, "GRACE_S", 0.05)
    used: list[Usage] = []
    with proxy(upstream.url, used) as made:
        client = Client(made)
        client.request("POST", "/model/v1/messages", json.dumps(BODY | {"say": "stall"}))
        answer = client.getresponse()
        while b"message_start" not in answer.readline():
            pass
    assert any(used for _ in waiting())
    assert [(one.tokens, one.complete) for one in used] == [(131, False)]
    client.close()
