"""Who may ask what: hosts, origins and the token, in front of everything that is served.

A browser on this machine runs pages of anybody. What such a page may send here is told by `Origin`;
one whose name was made to point here (DNS rebinding) by `Host`. A host that is an IP address was
made to point nowhere, so these are taken as they are.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import ipaddress
import secrets
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

TAKE_S = 10.0  # for a part of an answer to be taken, by who reads slowly
LONGEST = 2048  # bytes of a path with its query
SCHEMES = ("bearer", "api-key")  # of an `Authorization`
HEADERS = {
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}


def loopback(host: str) -> bool:
    """Whether only this machine reaches what is bound to a host."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True, slots=True)
class Access:
    """What a server lets by."""

    host: str  # that it is bound to
    policy: str  # what a page may load, as `Content-Security-Policy` has it
    data: tuple[str, ...]  # where paths begin that tell something; the others are the page itself
    read_only: bool = False  # there are no controls
    # That controls need, and where the host is no loopback all data and websockets.
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)
    locked: bool = False  # data and websockets need the token on a loopback too

    @property
    def private(self) -> bool:
        """Whether only this machine reaches it."""
        return loopback(self.host)

    def knows_host(self, host: str) -> bool:
        """Whether a `Host`, with its port, is a name of this server."""
        name = _without_port(host)
        if self.private:
            return loopback(name)
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return name.lower() in {"localhost", self.host.lower(), socket.gethostname().lower()}
        return True

    def knows_origin(self, origin: str, host: str) -> bool:
        """Whether a page of an `Origin` is one that this server sent; host: that it asked."""
        return hmac.compare_digest(origin.encode(), f"http://{host}".encode())

    def holds_token(self, authorization: str) -> bool:
        """Whether an `Authorization` shows the token; takes as long whatever it says.

        The scheme is `Bearer`, or `Api-Key` as openpi's clients have it.
        """
        scheme, _, token = authorization.partition(" ")
        same = hmac.compare_digest(token.encode(), self.token.encode())
        return same and scheme.lower() in SCHEMES

    def refusal(
        self, path: str, query: bytes, headers: Mapping[str, str], websocket: bool = False
    ) -> tuple[HTTPStatus, str] | None:
        """Return why a request is refused, whatever it asks for; None if it is not."""
        if len(path) + len(query) > LONGEST:
            return HTTPStatus.REQUEST_URI_TOO_LONG, "the address is too long"
        host = headers.get("host", "")
        if not self.knows_host(host):
            return HTTPStatus.MISDIRECTED_REQUEST, "this host is not served here"
        origin = headers.get("origin")
        if origin is not None and not self.knows_origin(origin, host):
            return HTTPStatus.FORBIDDEN, "pages of other origins are refused"
        if not websocket and not path.startswith(self.data):
            return None
        if headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
            return HTTPStatus.FORBIDDEN, "pages of other origins are refused"
        open_to_all = self.private and not self.locked
        if not open_to_all and not self.holds_token(headers.get("authorization", "")):
            return HTTPStatus.UNAUTHORIZED, "the token is missing or wrong"
        return None


def _without_port(host: str) -> str:
    if host.startswith("["):  # IPv6
        return host[1:].partition("]")[0]
    return host.partition(":")[0]


class Gate:
    """Refuses what `Access` refuses, and has every answer say what a browser may do with it."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        """Stand in front of `app`."""
        self._app, self._access = app, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        websocket = scope["type"] == "websocket"

        async def stamped(message: Message) -> None:
            if message["type"] == "http.response.start":
                said = {name for name, _ in message.get("headers", [])}
                always = HEADERS | {"content-security-policy": self._access.policy}
                more = [(n.encode(), v.encode()) for n, v in always.items()]
                message["headers"] = [
                    *message.get("headers", []),
                    *(one for one in more if one[0] not in said),
                ]
            async with asyncio.timeout(TAKE_S):
                await send(message)

        pairs = [(n.decode("latin-1"), v.decode("latin-1")) for n, v in scope["headers"]]
        headers = dict(pairs)
        refused = self._access.refusal(scope["path"], scope["query_string"], headers, websocket)
        if sum(name == "host" for name, _ in pairs) != 1:
            refused = HTTPStatus.BAD_REQUEST, "there must be one Host"
        app = self._app
        if refused is not None:
            status, words = refused
            app = PlainTextResponse(f"{words}\n", status)
        with contextlib.suppress(TimeoutError):  # who does not read is cut off, without a traceback
            await app(scope, receive, stamped)
