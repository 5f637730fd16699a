"""A server of one application, in the thread that calls it or in one of its own."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import uvicorn
from starlette.types import ASGIApp

from enpire.errors import UsageError
from enpire.web.limits import HEAD, LimitedProtocol

LEAVE_S = 1  # for pages to close when the server ends


def bound(host: str, port: int) -> socket.socket:
    """Return a socket that is bound to an address, not listening yet; port: 0 is any.

    Raises:
        UsageError: it cannot be bound.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    found = socket.socket(family)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((host, port))
    except OSError as error:
        found.close()
        raise UsageError(
            f"{host}:{port} cannot be served ({error.strerror or error}): choose another --port"
        ) from error
    return found


class PageServer(uvicorn.Server):
    """A server that has endless answers end before it waits for whoever is connected."""

    def __init__(
        self,
        app: ASGIApp,
        end: Callable[[], None] = lambda: None,
        websocket: type[asyncio.Protocol] | None = None,
        longest: int = 0,
    ) -> None:
        """Serve an application.

        Args:
            app: what is served.
            end: has endless answers end; it is called in the server's thread.
            websocket: what speaks with who asks for a websocket; None: nobody does.
            longest: bytes of a message over it; one that is longer ends the connection.
        """
        super().__init__(
            uvicorn.Config(
                app,
                http=LimitedProtocol,
                h11_max_incomplete_event_size=HEAD,
                ws=websocket or "none",
                ws_max_size=longest,
                ws_per_message_deflate=False,  # some bytes would stand for very many
                lifespan="off",
                log_level="warning",
                access_log=False,
                server_header=False,
                proxy_headers=False,
                timeout_graceful_shutdown=LEAVE_S,
            )
        )
        self._end = end

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """See `uvicorn.Server`."""
        self._end()
        await super().shutdown(sockets)


@contextmanager
def in_thread(server: PageServer, listening: socket.socket) -> Iterator[None]:
    """Have a server run beside what is in the block."""
    thread = threading.Thread(
        target=server.run, kwargs={"sockets": [listening]}, name="page", daemon=True
    )
    listening.listen()  # who connects before the server is up waits
    thread.start()
    try:
        yield
    finally:
        server.should_exit = True
        thread.join()
