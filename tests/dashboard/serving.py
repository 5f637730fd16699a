"""A dashboard that listens on a port of this machine, in a thread."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from enpire.dashboard.run_board import RunBoard
from enpire.dashboard.serving import access_to, server_of
from enpire.web.serving import bound, in_thread


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
    access = access_to("127.0.0.1", read_only)
    listening = bound("127.0.0.1", 0)
    with in_thread(server_of(RunBoard(folder), access), listening):
        yield Served(listening.getsockname()[1], access.token)
