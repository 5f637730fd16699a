"""The only way out of a sandbox: to its model's API, with a key that the sandbox never sees.

It listens on a Unix socket in a folder that is the harness's alone; the socket is bound into one
agent's sandboxes, so what comes by it is that agent's. What leaves is what `allow_list.py` lets
leave, to hosts that were named, with a few plain headers and the key; no redirect is followed.
What comes back is read for its usage, to its end, also when nobody inside listens any more; what
is under way at the end of all is given a moment, and cut off. A key that an answer repeats is taken
out of it.
"""

from __future__ import annotations

import functools
import json
import shutil
import socket
import socketserver
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from http.client import (
    HTTPConnection,
    HTTPException,
    HTTPResponse,
    HTTPSConnection,
    IncompleteRead,
)
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from enpire.closing import Closing
from enpire.model_gateway.allow_list import Refused, Upstream, examined, route
from enpire.model_gateway.usage import Allowance, Meter, Usage
from enpire.sandbox.limits import MIB

MOST_BODY = 64 * MIB
MOST_LINE = 8 * MIB  # of a stream
CONNECTIONS = 16  # at a time
TIMEOUT_S = 600.0  # without a byte
LOOK_S = 0.1  # between looks whether it is to end
GRACE_S = 3.0  # for what is under way at the end
PASSED = ("content-type", "accept", "user-agent", "originator", "session_id")
PASSED_PREFIXES = ("anthropic-", "openai-beta", "x-stainless-", "x-goog-api-client")
RETURNED = ("content-type", "retry-after", "request-id", "x-request-id")
RETURNED_PREFIXES = ("anthropic-ratelimit-", "x-ratelimit-")
INSTEAD = b"[key]"


class Proxy(Closing):
    """One agent's way to its models; a `with` block closes it.

    socket: where it listens, for `Sandbox.model`.
    """

    def __init__(
        self,
        upstreams: tuple[Upstream, ...],
        allowance: Allowance,
        record: Callable[[Usage], None] = lambda usage: None,
        note: Callable[[str], None] = lambda refusal: None,
    ) -> None:
        """record: is given what each answer has used. note: is told why a request was refused.

        Both are called on threads of the proxy's own.
        """
        self.upstreams, self.allowance = upstreams, allowance
        self.record, self.note = record, note
        self.under_way: dict[HTTPConnection, socket.socket | None] = {}
        self.changed = threading.Condition()  # what is under way
        self.closing = False
        self._folder = Path(tempfile.mkdtemp(prefix="enpire-proxy-"))
        self.socket = self._folder / "model.sock"
        self._server = _Server(str(self.socket), self)
        self.socket.chmod(0o666)  # the folder is ours alone; who has it bound in is somebody else
        serve = functools.partial(self._server.serve_forever, LOOK_S)
        threading.Thread(target=serve, name="proxy", daemon=True).start()

    def close(self) -> None:
        """Listen no more; when this returns, all that was used is recorded."""
        with self.changed:
            self.closing = True
        self._server.shutdown()
        self._server.server_close()
        with self.changed:
            if not self.changed.wait_for(lambda: not self.under_way, GRACE_S):
                for sock in self.under_way.values():
                    _cut(sock)
                self.changed.wait_for(lambda: not self.under_way, GRACE_S)
        shutil.rmtree(self._folder, ignore_errors=True)


@dataclass(slots=True)
class _ProxiedRequest:
    """A request that may leave, and what has come of it."""

    upstream: Upstream
    target: str
    meter: Meter
    sent: bool = False
    status: int = 0
    complete: bool = False

    def usage(self) -> Usage:
        """What the answer has said of it."""
        path, meter = self.target.partition("?")[0], self.meter
        return Usage(
            self.upstream.name, path, meter.model, meter.classes, self.status, self.complete
        )

    def used(self, most: int) -> int:
        """The tokens to settle it with: all that were reserved unless the answer says better."""
        tokens = self.usage().tokens
        if not self.sent or self.status >= 400:
            return tokens or 0
        return tokens if tokens is not None and self.complete else max(tokens or 0, most)


class _Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = CONNECTIONS

    def __init__(self, path: str, proxy: Proxy) -> None:
        self.proxy = proxy
        self._free = threading.BoundedSemaphore(CONNECTIONS)
        super().__init__(path, _ProxyHandler)

    def verify_request(self, request: Any, client_address: Any) -> bool:
        return self._free.acquire(blocking=False)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Whoever hung up is not our fault."""


class _ProxyHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = TIMEOUT_S
    server: _Server

    def do_GET(self) -> None:
        self._handle()

    def do_POST(self) -> None:
        self._handle()

    def address_string(self) -> str:
        return "sandbox"

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: what an agent writes is no line of our log."""

    def _handle(self) -> None:
        proxy = self.server.proxy
        try:
            body = self._body()
            upstream, target = route(proxy.upstreams, self.command, self.path)
            body, most = examined(body)
            if not proxy.allowance.reserve(most):
                raise Refused(403, "the budget of tokens is spent")
        except Refused as refused:
            proxy.note(str(refused))
            self._refuse(refused)
            return
        asked = _ProxiedRequest(upstream, target, Meter())
        connection = _connection(upstream.url)
        try:
            with proxy.changed:
                if proxy.closing:
                    raise Refused(503, "the campaign has ended")
                proxy.under_way[connection] = None
            self._forward(asked, body, connection)
        except Refused as refused:
            proxy.note(str(refused))
            self._refuse(refused)
        finally:
            proxy.allowance.settle(most, asked.used(most))
            try:
                proxy.record(asked.usage())
            finally:
                with proxy.changed:
                    proxy.under_way.pop(connection, None)
                    proxy.changed.notify_all()

    def _body(self) -> bytes:
        lengths = self.headers.get_all("content-length", [])
        if self.headers.get("transfer-encoding") or len(lengths) > 1:
            raise Refused(411, "a request needs one Content-Length, and no Transfer-Encoding")
        if not lengths:
            return b""
        if not lengths[0].isdecimal() or int(lengths[0]) > MOST_BODY:
            raise Refused(413, f"a body has {MOST_BODY // MIB} MiB at most")
        body = self.rfile.read(int(lengths[0]))
        if len(body) < int(lengths[0]):
            raise Refused(400, "the body is not all there")
        return body

    def _forward(self, request: _ProxiedRequest, body: bytes, connection: HTTPConnection) -> None:
        """Ask, and answer with what comes."""
        upstream = request.upstream
        headers = _headers_of(self.headers.items(), PASSED, PASSED_PREFIXES)
        headers |= {"accept-encoding": "identity"}
        if upstream.key:
            headers |= {upstream.header: upstream.prefix + upstream.key}
        try:
            connection.connect()
            with self.server.proxy.changed:
                self.server.proxy.under_way[connection] = connection.sock
            request.sent = True
            connection.request(self.command, request.target, body or None, headers)
            answer = connection.getresponse()
            request.status = answer.status
            encoding = answer.headers.get("content-encoding", "identity")
            if 300 <= answer.status < 400 or encoding != "identity":
                raise Refused(502, "the model's API answered with what is not passed on")
            if answer.headers.get_content_type() == "text/event-stream":
                self._stream(answer, request)
            else:
                self._whole(answer, request)
        except (OSError, HTTPException) as error:
            why = f"the model's API cannot be reached ({type(error).__name__})"
            raise Refused(502, why) from error
        finally:
            connection.close()

    def _whole(self, answer: HTTPResponse, request: _ProxiedRequest) -> None:
        body = answer.read(MOST_BODY + 1)
        if len(body) > MOST_BODY:
            raise Refused(502, "the model's API answered at too great a length")
        if answer.length:
            raise IncompleteRead(body, answer.length)
        request.complete = True
        request.meter.body(body)
        key = request.upstream.key.encode()
        body = _without(body, key)
        with suppress(OSError):
            self._begin(answer, key)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    def _stream(self, answer: HTTPResponse, request: _ProxiedRequest) -> None:
        """Line by line; when nobody listens any more, for its usage only."""
        key, listening = request.upstream.key.encode(), True
        self.close_connection = True  # what breaks off in the middle ends there, inside too
        with suppress(OSError):
            self._begin(answer, key)
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
        try:
            for line in _lines(answer):
                request.meter.line(line)
                line = _without(line, key)
                listening = listening and self._send_answer(b"%x\r\n%s\r\n" % (len(line), line))
        except (OSError, HTTPException):  # it broke off
            return
        request.complete = True
        self._send_answer(b"0\r\n\r\n")

    def _send_answer(self, data: bytes) -> bool:
        """Whether anybody listens."""
        try:
            self.wfile.write(data)
            self.wfile.flush()
        except OSError:
            return False
        return True

    def _begin(self, answer: HTTPResponse, key: bytes) -> None:
        self.send_response(answer.status)
        for name, value in _headers_of(answer.getheaders(), RETURNED, RETURNED_PREFIXES).items():
            self.send_header(name, _without(value.encode(), key).decode())

    def _refuse(self, refused: Refused) -> None:
        told = {"type": "error", "error": {"type": "refused", "message": str(refused)}}
        body = json.dumps(told).encode()
        self.close_connection = True
        with suppress(OSError):
            self.send_response(refused.status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)


def _lines(answer: HTTPResponse) -> Iterator[bytes]:
    """The lines of an answer, as they come; raises HTTPException for one that breaks off."""
    rest = b""
    while part := answer.read1(65536):
        *lines, rest = (rest + part).split(b"\n")
        yield from (line + b"\n" for line in lines)
        if len(rest) > MOST_LINE:
            raise HTTPException("a line without an end")
    if rest:
        yield rest
    if answer.length:
        raise IncompleteRead(rest, answer.length)


def _connection(url: str) -> HTTPConnection:
    parts = urlsplit(url)
    made = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    return made(parts.hostname or "", parts.port, timeout=TIMEOUT_S)


def _cut(sock: socket.socket | None) -> None:
    """End a connection for whoever reads there, on another thread."""
    if sock is not None:
        with suppress(OSError):
            sock.shutdown(socket.SHUT_RDWR)


def _headers_of(items: Any, names: tuple[str, ...], prefixes: tuple[str, ...]) -> dict[str, str]:
    low = {name.lower(): value for name, value in items}
    return {n: v for n, v in low.items() if n in names or n.startswith(prefixes)}


def _without(data: bytes, key: bytes) -> bytes:
    return data.replace(key, INSTEAD) if key else data
