"""The page that a person works at: a live view, keys and a gamepad; on this machine only.

It is served on 127.0.0.1, under an address that holds a secret: another page in the same browser,
or another user of the machine, does not know it.
"""

from __future__ import annotations

import functools
import json
import secrets
import threading
from collections.abc import Callable, Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from typing import Any, Self

from enpire.people.hands import Hands

HOST = "127.0.0.1"
MOST = 4096  # bytes of a request's body
WAIT_S = 1.0  # for the next picture, before it is seen whether the page is closed
LOOK_S = 0.05  # until a server that is closed has seen it
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'self' 'unsafe-inline'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
}


class Page:
    """Serves until it is closed; use it in a `with`."""

    def __init__(self, hands: Hands, state: Callable[[], Mapping[str, Any]], port: int = 0) -> None:
        """hands: hear what is held. state: what the page says, as JSON has it. port: 0 is any.

        Raises:
            OSError: the port is taken.
        """
        self.hands, self.state = hands, state
        self.secret = secrets.token_urlsafe(16)
        self._picture, self._number, self._closed = b"", 0, False
        self._change = threading.Condition()
        page = self

        class Handler(_Handler):
            def __init__(self, *given: Any) -> None:
                self.page = page
                super().__init__(*given)

        self._server = ThreadingHTTPServer((HOST, port), Handler)
        self._server.daemon_threads = True
        serve = functools.partial(self._server.serve_forever, LOOK_S)
        self._thread = threading.Thread(target=serve, name="page", daemon=True)

    @property
    def address(self) -> str:
        """To open in a browser."""
        return f"http://{HOST}:{self._server.server_address[1]}/{self.secret}/"

    def show(self, picture: bytes) -> None:
        """A new picture, JPEG; from any thread."""
        with self._change:
            self._picture, self._number = picture, self._number + 1
            self._change.notify_all()

    def next(self, after: int) -> tuple[int, bytes] | None:
        """The first picture later than number `after`, with its own; None once it is closed."""
        with self._change:
            while self._number == after and not self._closed:
                self._change.wait(WAIT_S)
            return None if self._closed else (self._number, self._picture)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._change:
            self._closed = True
            self._change.notify_all()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    page: Page

    def do_GET(self) -> None:
        match self._asked():
            case "":
                text = resources.files("enpire.people").joinpath("page.html").read_bytes()
                self._answer(text, "text/html; charset=utf-8")
            case "state":
                self.page.hands.greet()
                self._answer(json.dumps(dict(self.page.state())).encode(), "application/json")
            case "view":
                self._stream()
            case _:
                self.send_error(HTTPStatus.NOT_FOUND)

    def do_POST(self) -> None:
        if self._asked() != "hands":
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        try:
            length = int(self.headers.get("Content-Length", "0"))
            if length > MOST:
                raise ValueError("too long")
            said = json.loads(self.rfile.read(length))
            held = [str(key) for key in said["held"]]
            sticks = [float(at) for at in said.get("sticks", [])]
        except (ValueError, KeyError, TypeError):
            self.send_error(HTTPStatus.BAD_REQUEST)
            return
        self.page.hands.hear(held, sticks)
        self._answer(b"", "text/plain")

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: the terminal is for what happens on the stations."""

    def _asked(self) -> str | None:
        """What is asked for, behind the secret; None without it."""
        before, _, name = self.path.removeprefix("/").partition("/")
        return name if secrets.compare_digest(before.encode(), self.page.secret.encode()) else None

    def _answer(self, body: bytes, kind: str) -> None:
        self.send_response(HTTPStatus.OK)
        for name, value in HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _stream(self) -> None:
        """Pictures as they come, as `multipart/x-mixed-replace`, which browsers show as one."""
        self.send_response(HTTPStatus.OK)
        for name, value in HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Type", "multipart/x-mixed-replace; boundary=picture")
        self.end_headers()
        number = 0
        try:
            while (found := self.page.next(number)) is not None:
                number, picture = found
                head = f"--picture\r\nContent-Type: image/jpeg\r\nContent-Length: {len(picture)}"
                self.wfile.write(head.encode() + b"\r\n\r\n" + picture + b"\r\n")
        except (BrokenPipeError, ConnectionResetError):
            return  # the reader has gone
