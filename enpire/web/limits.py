"""How much a client may take: connections, seconds, bytes."""

from __future__ import annotations

import asyncio

import h11
from starlette.exceptions import HTTPException
from starlette.requests import Request
from uvicorn.protocols.http.h11_impl import H11Protocol

CONNECTIONS = 100  # at a time; those that come beyond are closed
REQUEST_S = 10.0  # for a whole request to arrive
BODY = 4096  # bytes
HEAD = 16384  # bytes of a request's line and headers


class LimitedProtocol(H11Protocol):
    """HTTP/1.1 whose connections are few, and end where no request arrives in time."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """See `asyncio.Protocol`."""
        super().connection_made(transport)
        if len(self.connections) > CONNECTIONS:
            transport.abort()
            return
        self._deadline = self.loop.call_later(REQUEST_S, self._expire)

    def data_received(self, data: bytes) -> None:
        """See `asyncio.Protocol`."""
        before = self.cycle
        super().data_received(data)
        if self.cycle is not before and self._deadline is not None:
            self._deadline.cancel()  # its headers are there; `read_body` waits for the rest
            self._deadline = None

    def on_response_complete(self) -> None:
        """Wait for the next request; see `H11Protocol`."""
        super().on_response_complete()
        if self._deadline is None and not self.transport.is_closing():
            self._deadline = self.loop.call_later(REQUEST_S, self._expire)

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        """Give the connection over to a websocket; see `H11Protocol`."""
        if self._deadline is not None:
            self._deadline.cancel()
        super().handle_websocket_upgrade(event)

    def connection_lost(self, exc: Exception | None) -> None:
        """See `asyncio.Protocol`."""
        if self._deadline is not None:
            self._deadline.cancel()
        super().connection_lost(exc)

    def _expire(self) -> None:
        self._deadline = None
        if self.cycle is None or self.cycle.response_complete:
            self.transport.abort()


async def read_body(request: Request, most: int = BODY, within_s: float = REQUEST_S) -> bytes:
    """Return the body of a request.

    Raises:
        HTTPException: it is too long, or does not arrive in time.
    """
    try:
        declared = int(request.headers.get("content-length", "0"))
    except ValueError as error:
        raise HTTPException(400, "Content-Length is no number") from error
    if not 0 <= declared <= most:
        raise HTTPException(413, f"a request has {most} bytes at most")
    body = bytearray()
    try:
        async with asyncio.timeout(within_s):
            async for part in request.stream():
                body += part
                if len(body) > most:
                    raise HTTPException(413, f"a request has {most} bytes at most")
    except TimeoutError as error:
        raise HTTPException(408, "the request did not arrive in time") from error
    return bytes(body)
