"""Websockets whose other end has to read; it needs the package websockets."""

from __future__ import annotations

import asyncio

from uvicorn._types import ASGISendEvent
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from enpire.web.access import TAKE_S


class LimitedWebSocket(WebSocketsSansIOProtocol):
    """A websocket that is cut off where what is sent is not taken in time.

    One message waits at a time: no more is read before it is answered. Who goes silent is found by
    pings, also in the middle of a message.
    """

    _deadline: asyncio.TimerHandle | None = None

    async def send(self, message: ASGISendEvent) -> None:
        """See ASGI."""
        await super().send(message)
        if message["type"] == "websocket.http.response.body":
            self.handshake_complete = True  # refused: otherwise it says that nothing was answered

    def pause_writing(self) -> None:
        """See `asyncio.Protocol`."""
        super().pause_writing()
        self._deadline = self.loop.call_later(TAKE_S, self.transport.abort)

    def resume_writing(self) -> None:
        """See `asyncio.Protocol`."""
        self._leave()
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """See `asyncio.Protocol`."""
        self._leave()
        super().connection_lost(exc)

    def _leave(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
