"""Serving a dashboard until somebody ends it."""

from __future__ import annotations

import threading
from collections.abc import Callable

from enpire.dashboard.app import Dashboard
from enpire.dashboard.run_board import RunBoard
from enpire.web.access import Access
from enpire.web.serving import PageServer, bound

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


def access_to(host: str, read_only: bool) -> Access:
    """Return who may ask a dashboard what."""
    return Access(host, POLICY, ("/api/", "/metrics", "/evidence/"), read_only)


def server_of(board: RunBoard, access: Access) -> PageServer:
    """Return a server of a board's pages, to be run on a socket that is bound."""
    dashboard = Dashboard(board, access)
    return PageServer(dashboard.app(), dashboard.end)


def serve(board: RunBoard, access: Access, port: int, say: Callable[[str], None]) -> None:
    """Serve a board's pages until SIGINT or SIGTERM; say: is told where.

    Raises:
        UsageError: the address is taken.
    """
    listening = bound(access.host, port)
    listening.listen()  # who comes before the server is up waits
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
