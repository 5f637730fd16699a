"""Processes that a test has started, as the operating system knows them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path


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
