"""The page: on this machine, behind its secret; keys come in, pictures go out."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import pytest

from enpire.people import Hands, Page
from enpire.web import limits


@pytest.fixture
def hands() -> Hands:
    return Hands()


@pytest.fixture
def page(hands: Hands) -> Iterator[Page]:
    with Page(hands, lambda: {"line": "station 1 of 1"}) as page:
        yield page


def _connect(page: Page) -> socket.socket:
    port = urlsplit(page.address).port
    assert port is not None
    return socket.create_connection(("127.0.0.1", port), timeout=30)


def test_keys_come_in(page: Page, hands: Hands) -> None:
    body = json.dumps({"held": ["KeyW"], "sticks": [0, 0, 0, 0]}).encode()
    with urlopen(page.address + "hands", body, timeout=30) as answer:
        assert answer.status == 200
    assert hands.twist()[0] == 1.0


def test_it_shows_itself_and_its_state(page: Page) -> None:
    assert page.address.startswith("http://127.0.0.1:")
    with urlopen(page.address, timeout=30) as answer:
        assert b'<img src="view"' in answer.read()
    with urlopen(page.address + "state", timeout=30) as answer:
        assert json.load(answer) == {"line": "station 1 of 1"}


def test_pictures_go_out_as_they_come(page: Page) -> None:
    page.show(b"first")
    with urlopen(page.address + "view", timeout=30) as stream:
        assert stream.readline() == b"--picture\r\n"
        assert b"first" in b"".join(stream.readline() for _ in range(4))
        page.show(b"second")
        assert stream.readline() == b"--picture\r\n"
        assert b"second" in b"".join(stream.readline() for _ in range(4))


@pytest.mark.parametrize("path", ["", "state", "wrong/state", "wrong/view", "wrong/"])
def test_without_the_secret_there_is_nothing(page: Page, path: str) -> None:
    root = page.address.removesuffix(page.secret + "/")
    with pytest.raises(HTTPError) as raised:
        urlopen(root + path, timeout=30)
    assert raised.value.code == 404


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"[]", 400),
        (b"{}", 400),
        (b'{"held": 3}', 400),
        (b"[" * 4000, 400),
        (b'{"held": ' + b"[" * 4000, 400),
        (b"x" * 5000, 413),
    ],
)
def test_what_is_no_hands_is_refused(page: Page, hands: Hands, body: bytes, status: int) -> None:
    with pytest.raises(HTTPError) as raised:
        urlopen(page.address + "hands", body, timeout=30)
    assert raised.value.code == status
    assert not hands.touched


@pytest.mark.parametrize(
    "headers", [{"Host": "evil.example"}, {"Origin": "http://evil.example"}, {"Origin": "null"}]
)
def test_other_pages_in_the_same_browser_are_refused(
    page: Page, hands: Hands, headers: dict[str, str]
) -> None:
    request = Request(page.address + "hands", b'{"held": ["KeyW"]}', headers)
    with pytest.raises(HTTPError) as raised:
        urlopen(request, timeout=30)
    assert raised.value.code in (403, 421)
    assert not hands.touched


@pytest.mark.parametrize("length", ["-1", "209715200"])
def test_no_body_is_read_beyond_what_hands_can_be(page: Page, length: str) -> None:
    where = urlsplit(page.address)
    head = f"POST {where.path}hands HTTP/1.1\r\nHost: {where.netloc}\r\nContent-Length: {length}"
    with _connect(page) as client:
        client.sendall(head.encode() + b"\r\n\r\n")
        assert client.recv(4096).split()[1] in (b"400", b"413")


def test_half_open_connections_take_no_threads_and_end(
    hands: Hands, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "REQUEST_S", 0.2)
    with Page(hands, lambda: {"line": ""}) as page:
        before = set(threading.enumerate())
        clients = [_connect(page) for _ in range(150)]
        assert not set(threading.enumerate()) - before
        for client in clients:
            with client, suppress(ConnectionResetError):
                assert client.recv(1) == b""
        monkeypatch.setattr(limits, "REQUEST_S", 60.0)  # on a busy machine
        with urlopen(page.address + "state", timeout=30) as answer:
            assert answer.status == 200


def test_a_view_ends_with_the_page(hands: Hands) -> None:
    with Page(hands, lambda: {"line": ""}) as page:
        page.show(b"first")
        stream = urlopen(page.address + "view", timeout=30)
        assert stream.readline() == b"--picture\r\n"
    assert b"first" in stream.read()
    stream.close()
    page.show(b"late")


def test_without_the_secret_no_key_is_heard(page: Page, hands: Hands) -> None:
    root = page.address.removesuffix(page.secret + "/")
    with pytest.raises(HTTPError):
        urlopen(root + "wrong/hands", b'{"held": ["KeyW"]}', timeout=30)
    assert not hands.touched
