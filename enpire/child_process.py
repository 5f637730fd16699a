"""How a child process ends that is told things by its standard input, and whose output is heard."""

from __future__ import annotations

import subprocess
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile
from threading import Thread
from typing import IO

HEARD_S = 5.0  # until what reads its output has come to the end of it, at most


def end_child(
    process: subprocess.Popen[str], listener: Thread | None, unlogged: IO[str] | None = None
) -> None:
    """Kill a child and close the pipes to it.

    listener: reads its output until that ends; None: nobody does. If it does not end in time, some
    process of the child's has the pipe still, and the output stays open. unlogged: see
    `before_log`; it is closed, too.
    """
    process.kill()
    process.wait()
    if process.stdin is not None:
        with suppress(BrokenPipeError):  # what it was told last was not read
            process.stdin.close()
    if listener is not None:
        listener.join(HEARD_S)
        if listener.is_alive():
            return
    for output in (process.stdout, unlogged):
        if output is not None:
            output.close()


def before_log() -> IO[str]:
    """Return a file for what a child writes before it has a log of its own."""
    return TemporaryFile("w+")


def why_ended(code: int, unlogged: IO[str], log: Path) -> str:
    """Return how a child ended, and where to read why.

    unlogged: what it wrote before it wrote to `log`, see `before_log`; an import that fails is
    told there.
    """
    unlogged.seek(0)
    said = unlogged.read().strip()
    why = said.rpartition("\n")[2] if said else f"see {log}"
    return f"exit code {code}{'; out of memory?' if code == -9 else ''}; {why}"
