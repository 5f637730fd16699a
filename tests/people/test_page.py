"""The page: on this machine, behind its secret; keys come in, pictures go out."""

from __future__ import annotations

import json
from collections.abc import Iterator
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from enpire.people import Hands, Page


@pytest.fixture
def hands() -> Hands:
    return Hands()


@pytest.fixture
def page(hands: Hands) -> Iterator[Page]:
    with Page(hands, lambda: {"line": "station 1 of 1"}) as page:
        yield page


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


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"held": 3}', b"x" * 5000])
def test_what_is_no_hands_is_refused(page: Page, hands: Hands, body: bytes) -> None:
    with pytest.raises(HTTPError) as raised:
        urlopen(page.address + "hands", body, timeout=30)
    assert raised.value.code == 400
    assert not hands.touched


def test_without_the_secret_no_key_is_heard(page: Page, hands: Hands) -> None:
    root = page.address.removesuffix(page.secret + "/")
    with pytest.raises(HTTPError):
        urlopen(root + "wrong/hands", b'{"held": ["KeyW"]}', timeout=30)
    assert not hands.touched
