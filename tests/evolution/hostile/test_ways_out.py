"""Acts against the proxy: to reach somebody else, to get at the key, to spend what is not given."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from enpire.model_gateway.allow_list import Upstream
from enpire.model_gateway.proxy import Proxy
from enpire.model_gateway.usage import Allowance, Usage
from enpire.sandbox import bubblewrap
from enpire.sandbox.sandbox import Sandbox
from tests.model_gateway.upstream import Api, api

from .arena import KEY, needs_sandbox

pytestmark = [needs_sandbox, pytest.mark.medium]
ASKED = {"model": "m", "max_tokens": 100, "messages": [{"role": "user", "content": "hello"}]}
TOOL = {"name": "look", "input_schema": {"type": "object", "properties": {"url": {}}}}
CLIENT = """
import http.client, json, socket, sys, threading
given = json.loads(sys.argv[1])
c = http.client.HTTPConnection("127.0.0.1", 8791, timeout=60)
body = given["body"] if isinstance(given["body"], str) else json.dumps(given["body"])
c.request(given["method"], given["target"], body or None, given["headers"])
answer = c.getresponse()
print(json.dumps([answer.status, answer.read().decode(), dict(answer.getheaders())]))
"""


@dataclass
class Way:
    """A sandbox with a way out to an API on loopback."""

    api: Api
    proxy: Proxy
    used: list[Usage]
    notes: list[str]

    @property
    def sandbox(self) -> Sandbox:
        return Sandbox(model=self.proxy.socket)

    def ask(
        self,
        body: Any = ASKED,
        target: str = "/model/v1/messages",
        method: str = "POST",
        headers: dict[str, str] | None = None,
    ) -> tuple[int, str, dict[str, str]]:
        """From inside; the status, the body, the headers."""
        given = {"method": method, "target": target, "body": body, "headers": headers or {}}
        ended = self.run(CLIENT, given)
        status, text, came = json.loads(ended)
        return status, text, came

    def run(self, script: str, given: Any) -> str:
        python = [bubblewrap.python(), "-I", "-S", "-c", script, json.dumps(given)]
        ended = self.sandbox.run(python)
        assert ended.code == 0, ended.err.decode()
        return ended.out.decode()

    def settled(self, count: int) -> list[Usage]:
        """What was recorded, once it is so much."""
        end = time.monotonic() + 60
        while len(self.used) < count:
            assert time.monotonic() < end
            time.sleep(0.01)
        return self.used


@pytest.fixture
def way() -> Iterator[Way]:
    used: list[Usage] = []
    notes: list[str] = []
    with api() as upstream:
        allowed = ("POST /v1/messages", "GET /v1/models")
        model = Upstream("model", upstream.url, allowed, key=KEY)
        shut = Upstream("shut", upstream.url, (), key=KEY)
        with Proxy((model, shut), Allowance(10_000), used.append, notes.append) as proxy:
            yield Way(upstream, proxy, used, notes)


@dataclass(frozen=True)
class Request:
    """What is asked for, and why it does not leave; the control leaves one thing out."""

    name: str
    why: str
    body: Any = field(default_factory=lambda: ASKED)
    target: str = "/model/v1/messages"
    method: str = "POST"

    def __str__(self) -> str:
        return self.name


def tool(**kind: Any) -> dict[str, Any]:
    return ASKED | {"tools": [TOOL, kind]}


def content(**part: Any) -> dict[str, Any]:
    return ASKED | {"messages": [{"role": "user", "content": [part]}]}


SEARCH = {"type": "web_search"}
TWICE = json.dumps(ASKED)[:-1] + ', "tools": [{"type": "web_search"}], "tools": []}'
REFUSED = (
    Request("another-host", "not allowed", target="http://192.0.2.1/v1/messages"),
    Request("another-api", "not allowed", target="/other/v1/messages"),
    Request("another-path", "not allowed", target="/model/v1/files"),
    Request("another-path-by-dots", "not allowed", target="/model/v1/messages/../files"),
    Request("another-path-in-disguise", "not allowed", target="/model/v1/%66iles"),
    Request("another-method", "not allowed", "", method="GET"),
    Request("an-api-with-an-empty-list", "not allowed", target="/shut/v1/messages"),
    Request("a-search-of-the-web", "web_search", tool(type="web_search_20250305", name="s")),
    Request("a-fetch-from-the-web", "web_fetch", tool(type="web_fetch_20250910", name="f")),
    Request("code-run-elsewhere", "code_execution", tool(type="code_execution_20250522", name="c")),
    Request("a-tool-of-somebody-s-server", "mcp", tool(type="mcp", server_url="http://192.0.2.1")),
    Request("a-search-by-another-word", "googleSearch", tool(googleSearch={}, name="s")),
    Request("a-search-in-a-group", "web_search", tool(type="namespace", name="n", tools=[SEARCH])),
    Request("a-search-in-a-message", "web_search", ASKED | {"input": [{"tools": [SEARCH]}]}),
    Request("a-server-of-somebody-s", "mcp_servers", ASKED | {"mcp_servers": [{"url": "x"}]}),
    Request(
        "a-picture-to-be-fetched",
        "url is not allowed",
        content(type="image", source={"type": "url", "url": "http://192.0.2.1/?secret"}),
    ),
    Request(
        "a-picture-to-be-fetched-by-another-word",
        "image_url is not allowed",
        content(type="image_url", image_url={"url": "http://192.0.2.1/?secret"}),
    ),
    Request(
        "a-file-to-be-fetched-in-a-message",
        "file_url is not allowed",
        ASKED | {"input": [{"content": [{"file_url": "http://192.0.2.1/?secret"}]}]},
    ),
    Request("more-than-is-left", "budget", ASKED | {"max_tokens": 20_000}),
    Request("more-than-is-left-by-a-long-question", "budget", ASKED | {"system": "x" * 50_000}),
    Request("what-is-no-json", "no JSON", "{'model': 'm'}"),
)


@pytest.mark.parametrize("request_", REFUSED, ids=str)
def test_request_does_not_leave(request_: Request, way: Way) -> None:
    group = {"type": "namespace", "name": "mine", "tools": [{"type": "function", "name": "f"}]}
    bash = {"type": "bash_20250124", "name": "bash"}
    allowed, _, _ = way.ask(ASKED | {"tools": [TOOL, bash, group]})
    assert allowed == 200, "the control came to nothing"
    assert len(way.api.asked) == 1
    status, text, _ = way.ask(request_.body, request_.target, request_.method)
    assert status in (400, 403)
    assert request_.why in text
    assert request_.why in way.notes[0]
    assert len(way.api.asked) == 1  # nothing has left
    assert way.proxy.allowance.reserved == 0


class TestTheKey:
    def test_is_added_outside(self, way: Way) -> None:
        status, text, headers = way.ask()
        assert status == 200
        _, sent, _ = way.api.asked[0]
        assert sent["x-api-key"] == KEY
        assert KEY not in text + str(headers)

    def test_is_taken_out_of_an_answer_that_repeats_it(self, way: Way) -> None:
        _, text, _ = way.ask(ASKED | {"say": "echo"})
        assert json.loads(text)["you_sent"]["x-api-key"] == "[key]"

    def test_is_not_replaced_by_another(self, way: Way) -> None:
        mine = {"x-api-key": "mine", "authorization": "Bearer mine", "cookie": "mine", "host": "x"}
        status, _, _ = way.ask(headers=mine | {"anthropic-version": "2023-06-01"})
        assert status == 200
        _, sent, _ = way.api.asked[0]
        assert sent["anthropic-version"] == "2023-06-01"
        assert "mine" not in str(sent)

    def test_is_nowhere_in_the_sandbox(self, way: Way) -> None:
        script = (
            "import glob, json, os, sys\n"
            "given, found = json.loads(sys.argv[1]), []\n"
            "part = given[:12].encode()\n"
            "for name in glob.glob('/proc/[0-9]*/environ') + glob.glob('/proc/[0-9]*/mem'):\n"
            "  if str(os.getpid()) in name: continue\n"
            "  try:\n"
            "    with open(name, 'rb', 0) as file:\n"
            "      if name.endswith('mem'):\n"
            "        for line in open(name[:-3] + 'maps'):\n"
            "          a, b = (int(x, 16) for x in line.split()[0].split('-'))\n"
            "          if 'r' in line.split()[1] and a < 2**47:\n"
            "            file.seek(a)\n"
            "            try: found.append((name, given.encode() in file.read(b - a)))\n"
            "            except OSError: pass\n"
            "      else: found.append((name, given.encode() in file.read()))\n"
            "  except OSError: pass\n"
            "print(json.dumps([len(found), [n for n, there in found if there]]))"
        )
        way.ask()
        looked, found = json.loads(way.run(script, "a word that is nowhere else"))
        assert looked > 10  # the relay's memory among it
        # The word that was looked for is on the relay's command line: the control.
        assert found
        relay = [name for name in found if name.endswith("mem")]
        assert relay
        hidden = script.replace("given[:12]", "''").replace("given.encode()", "bytes(given)")
        _, found = json.loads(way.run(hidden, list(KEY.encode())))
        assert not found


class TestEvents:
    def test_stream_comes_as_it_is_said(self, way: Way) -> None:
        status, text, _ = way.ask(ASKED | {"say": "stream", "stream": True})
        assert status == 200
        assert text.count("data:") == 4
        (used,) = way.settled(1)
        assert used.complete
        assert used.classes["output_tokens"] == 12

    def test_hangs_up_to_hide_what_it_has_used(self, way: Way) -> None:
        script = CLIENT.replace(
            "answer = c.getresponse()", "c.sock.recv(10); c.sock.close(); exit()"
        )
        script = script.replace("import http", "from sys import exit\nimport http", 1)
        body = ASKED | {"say": "slow", "stream": True}
        given = {"method": "POST", "target": "/model/v1/messages", "body": body, "headers": {}}
        way.run(script, given)
        (used,) = way.settled(1)
        assert used.classes["output_tokens"] == 12  # counted to its end
        assert way.proxy.allowance.spent == 142

    def test_answer_that_breaks_off_is_paid_in_full(self, way: Way) -> None:
        body = ASKED | {"say": "break", "stream": True}
        with pytest.raises(AssertionError, match="IncompleteRead"):
            way.ask(body)
        (used,) = way.settled(1)
        assert not used.complete
        assert used.tokens == 131  # by what has come
        assert way.proxy.allowance.spent == max(131, 100 + len(json.dumps(body)) // 4)

    def test_redirect_is_not_followed(self, way: Way) -> None:
        status, _, headers = way.ask(ASKED | {"say": "redirect"})
        assert status == 502
        assert "location" not in {name.lower() for name in headers}
        assert [path for path, _, _ in way.api.asked] == ["/v1/messages"]

    def test_of_two_entries_of_one_name_the_one_looked_at_leaves(self, way: Way) -> None:
        assert "web_search" in TWICE
        status, _, _ = way.ask(TWICE)
        assert status == 200
        assert b"web_search" not in way.api.asked[0][2]

    def test_two_requests_in_one(self, way: Way) -> None:
        script = (
            "import json, socket, sys\n"
            "s = socket.create_connection(('127.0.0.1', 8791))\n"
            "s.sendall(json.loads(sys.argv[1]).encode()); s.shutdown(1)\n"
            "print(s.makefile('rb').read().decode())"
        )
        body = json.dumps(ASKED)
        head = "POST /model/v1/messages HTTP/1.1\r\nHost: x\r\n"
        one = f"{head}Content-Length: {len(body)}\r\n\r\n{body}"
        hidden = "POST /model/v1/files HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"
        assert "200 OK" in way.run(script, one)
        length = f"{head}Content-Length: {len(body)}\r\n"
        smuggled = [
            f"{length}Transfer-Encoding: chunked\r\n\r\n{body}{hidden}",
            f"{length}Content-Length: 0\r\n\r\n{body}{hidden}",
            f"{one}{hidden}",
        ]
        for text in smuggled:
            way.run(script, text)
        assert {path for path, _, _ in way.api.asked} == {"/v1/messages"}


class TestBudget:
    def test_spent_is_refused(self, way: Way) -> None:
        way.proxy.allowance.spent = 9_800
        assert way.ask()[0] == 200
        assert way.proxy.allowance.spent == 9_942
        status, text, _ = way.ask()
        assert status == 403
        assert "budget" in text
        assert len(way.api.asked) == 1

    def test_many_at_once_are_not_more(self, way: Way) -> None:
        way.proxy.allowance.tokens = 500
        script = CLIENT.replace("\nc = ", "\ndef ask():\n  c = ").replace("\nbody", "\n  body")
        script = script.replace("\nc.req", "\n  c.req").replace("\nanswer", "\n  answer")
        script = script[: script.index("\nprint")] + "\n  answer.read()\n"
        script += "ts = [threading.Thread(target=ask) for _ in range(12)]\n"
        script += "[t.start() for t in ts]; [t.join() for t in ts]"
        body = ASKED | {"say": "slow", "stream": True}
        given = {"method": "POST", "target": "/model/v1/messages", "body": body, "headers": {}}
        way.run(script, given)
        assert 1 <= len(way.api.asked) <= 4  # of about 130 each, at a time
        assert way.proxy.allowance.spent <= 500 + 4 * 142

    def test_claims_to_have_used_less(self, way: Way) -> None:
        usage = {"input_tokens": 0, "output_tokens": 0}
        way.ask(ASKED | {"usage": usage, "total_tokens": 0})
        (used,) = way.settled(1)
        assert used.tokens == 142

    def test_another_agent_s_proxy(self, way: Way) -> None:
        other = Sandbox()
        python = [bubblewrap.python(), "-I", "-S", "-c"]
        meet = f"import socket; socket.socket(1).connect({str(way.proxy.socket)!r})"
        assert way.sandbox.run([*python, meet]).code == 0  # the control: its own
        ended = other.run([*python, meet])
        assert b"No such file" in ended.err


def test_another_way_without_a_proxy(way: Way) -> None:
    """A sandbox that was given no proxy has no way out at all."""
    assert way.ask()[0] == 200
    given = {"method": "GET", "target": "/", "body": "", "headers": {}}
    ended = Sandbox().run([bubblewrap.python(), "-I", "-S", "-c", CLIENT, json.dumps(given)])
    assert b"refused" in ended.err
