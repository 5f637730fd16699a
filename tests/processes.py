"""Processes that a test has started, as the operating system knows them."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

LONG_S = 60.0  # a test that waits so long has failed


def below(pid: int) -> Iterator[tuple[int, str]]:
    """All processes that this one has started, and those have, with their words."""
    parents: dict[int, list[int]] = {}
    for folder in Path("/proc").iterdir():
        with suppress(OSError, ValueError):
            own = int(folder.name)
            stat = (folder / "stat").read_text()
            parents.setdefault(int(stat.rpartition(")")[2].split()[1]), []).append(own)
    waiting = list(parents.get(pid, []))
    while waiting:
        found = waiting.pop()
        waiting += parents.get(found, [])
        yield found, words_of(found)


def words_of(pid: int) -> str:
    """Its command line; empty for one that has ended."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    return ""


def waiting() -> Iterator[None]:
    """Now and again, for as long as a test waits."""
    end = time.monotonic() + LONG_S
    while time.monotonic() < end:
        yield
        time.sleep(0.01)


def gone(pid: int) -> bool:
    """Whether a process has ended, or does so soon; one that nobody has waited for has too."""
    for _ in waiting():
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state == "Z":
            return True
    os.kill(pid, 9)
    return False
