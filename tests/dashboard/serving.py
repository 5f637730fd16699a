"""A dashboard that listens on a port of this machine, in a thread."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from enpire.dashboard.access import Access
from enpire.dashboard.run_board import RunBoard
from enpire.dashboard.serving import bound, server_of


@dataclass(frozen=True, slots=True)
class Served:
    """Where it listens, and its token."""

    port: int
    token: str

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@contextmanager
def served(folder: Path, read_only: bool = False) -> Iterator[Served]:
    """Serve a run, or a folder of runs."""
    access = Access("127.0.0.1", read_only)
    server, listening = server_of(RunBoard(folder), access), bound("127.0.0.1", 0)
    port = listening.getsockname()[1]
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.005)
    try:
        yield Served(port, access.token)
    finally:
        server.should_exit = True
        thread.join()
