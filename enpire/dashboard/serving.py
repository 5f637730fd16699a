"""Serving a dashboard until somebody ends it."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable

import uvicorn
from sse_starlette.sse import AppStatus

from enpire.dashboard.access import Access
from enpire.dashboard.app import Dashboard
from enpire.dashboard.limits import HEAD, LimitedProtocol
from enpire.dashboard.run_board import RunBoard
from enpire.errors import UsageError

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


class DashboardServer(uvicorn.Server):
    """A server that has its streams end before it waits for whoever is connected."""

    def __init__(self, config: uvicorn.Config, dashboard: Dashboard) -> None:
        """dashboard: that is served."""
        super().__init__(config)
        self._dashboard = dashboard

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """See `uvicorn.Server`."""
        self._dashboard.over.set()
        await super().shutdown(sockets)


def server_of(board: RunBoard, access: Access) -> uvicorn.Server:
    """Return a server of a board's pages, to be run on a socket that is bound."""
    AppStatus.enable_automatic_graceful_drain = False  # it cuts streams off; ours end by themselves
    dashboard = Dashboard(board, access)
    config = uvicorn.Config(
        dashboard.app(),
        http=LimitedProtocol,
        h11_max_incomplete_event_size=HEAD,
        ws="none",
        lifespan="off",
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=LEAVE_S,
    )
    return DashboardServer(config, dashboard)


def serve(board: RunBoard, access: Access, port: int, say: Callable[[str], None]) -> None:
    """Serve a board's pages until SIGINT or SIGTERM; say: is told where.

    Raises:
        UsageError: the address is taken.
    """
    listening = bound(access.host, port)
    threading.Thread(target=_read_all, args=(board,), daemon=True).start()
    host, number = listening.getsockname()[:2]
    name = f"[{host}]" if ":" in host else host
    say(f"http://{name}:{number}/{'' if _open(access) else f'#token={access.token}'}")
    server_of(board, access).run(sockets=[listening])


def _read_all(board: RunBoard) -> None:
    """Read all runs before somebody asks for them."""
    while not board.refresh():
        pass


def _open(access: Access) -> bool:
    """Whether nothing asks for a token."""
    return access.read_only and access.private
