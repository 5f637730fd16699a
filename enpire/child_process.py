"""How a child process ends that is told things by its standard input, and whose output is heard."""

from __future__ import annotations

import subprocess
from contextlib import suppress
from threading import Thread

HEARD_S = 5.0  # until what reads its output has come to the end of it, at most


def end_child(process: subprocess.Popen[str], listener: Thread | None) -> None:
    """Kill a child and close the pipes to it.

    listener: reads its output until that ends; None: nobody does. If it does not end in time, some
    process of the child's has the pipe still, and the output stays open.
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
    if process.stdout is not None:
        process.stdout.close()
