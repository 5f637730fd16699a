"""The page that a person works at: a live view, keys and a gamepad; on this machine only.

It is served on 127.0.0.1, under an address that holds a secret: another page in the same browser,
or another user of the machine, does not know it.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import ExitStack, suppress
from importlib import resources
from typing import Any, Self

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from enpire.json_text import parsed
from enpire.people.hands import Hands
from enpire.web.access import Access, Gate
from enpire.web.limits import read_body
from enpire.web.serving import PageServer, bound, in_thread

HOST = "127.0.0.1"
POLICY = "default-src 'self' 'unsafe-inline'; frame-ancestors 'none'"
VIEWS = 8  # at a time; each is one that somebody looks at


class Page:
    """Serves until it is closed; use it in a `with`."""

    def __init__(self, hands: Hands, state: Callable[[], Mapping[str, Any]], port: int = 0) -> None:
        """hands: hear what is held. state: what the page says, as JSON has it. port: 0 is any.

        Raises:
            UsageError: the port is taken.
        """
        self.hands, self.state = hands, state
        self.secret = secrets.token_urlsafe(16)
        self._picture, self._views = (0, b""), 0  # with its number
        self._loop: asyncio.AbstractEventLoop | None = None
        self._changed, self._over = asyncio.Event(), False
        self._listening = bound(HOST, port)
        self._server = PageServer(self._app(), self._end)
        self._stack = ExitStack()

    @property
    def address(self) -> str:
        """The address to open in a browser."""
        return f"http://{HOST}:{self._listening.getsockname()[1]}/{self.secret}/"

    def show(self, picture: bytes) -> None:
        """A new picture, JPEG; from any thread."""
        self._picture = self._picture[0] + 1, picture
        if self._loop is not None:
            with suppress(RuntimeError):  # the server has ended
                self._loop.call_soon_threadsafe(self._change)

    def __enter__(self) -> Self:
        self._stack.enter_context(in_thread(self._server, self._listening))
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _app(self) -> ASGIApp:
        routes = [
            Route("/{secret}/", self._page),
            Route("/{secret}/state", self._state),
            Route("/{secret}/view", self._view),
            Route("/{secret}/hands", self._hear, methods=["POST"]),
        ]
        return Gate(Starlette(routes=routes), Access(HOST, POLICY, ()))

    async def _page(self, request: Request) -> Response:
        self._require(request)
        page = resources.files("enpire.people").joinpath("page.html").read_bytes()
        return Response(page, media_type="text/html; charset=utf-8")

    async def _state(self, request: Request) -> Response:
        self._require(request)
        self.hands.greet()
        return JSONResponse(dict(self.state()))

    async def _hear(self, request: Request) -> Response:
        self._require(request)
        try:
            said = parsed(await read_body(request))
            held = [str(key) for key in said["held"]]
            sticks = [float(at) for at in said.get("sticks", [])]
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise HTTPException(400, "these are no hands") from error
        self.hands.hear(held, sticks)
        return Response()

    async def _view(self, request: Request) -> Response:
        """Pictures as they come, as `multipart/x-mixed-replace`, which browsers show as one."""
        self._require(request)
        if self._views >= VIEWS:
            raise HTTPException(503, f"{VIEWS} views are open: close one")
        kind = "multipart/x-mixed-replace; boundary=picture"
        return StreamingResponse(self._pictures(), media_type=kind)

    async def _pictures(self) -> AsyncIterator[bytes]:
        self._loop = asyncio.get_running_loop()
        self._views += 1
        seen = 0
        try:
            while not self._over:
                changed, (number, picture) = self._changed, self._picture
                if number == seen:
                    await changed.wait()
                    continue
                seen = number
                head = f"--picture\r\nContent-Type: image/jpeg\r\nContent-Length: {len(picture)}"
                yield head.encode() + b"\r\n\r\n" + picture + b"\r\n"
        finally:
            self._views -= 1

    def _change(self) -> None:
        """Have all views look again; in the server's thread."""
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    def _end(self) -> None:
        self._over = True
        self._change()

    def _require(self, request: Request) -> None:
        """Refuse what does not know the secret, as if there were nothing."""
        secret = request.path_params["secret"]
        if not secrets.compare_digest(secret.encode(), self.secret.encode()):
            raise HTTPException(404)
