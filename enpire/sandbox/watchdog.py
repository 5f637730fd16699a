"""Sums over all processes of a sandbox, which no limit of a single process holds.

Without a control group of one's own (making one takes rights that few have) the kernel limits
processes one by one. What all of them have touched, how much processor time they have had and what
lies in the workspace is therefore looked at, ten times a second, and one that is over a limit is
ended. It can go over by what it gets done in between.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from enpire.sandbox.limits import GIB, MIB, SandboxLimits

EVERY_S = 0.1
LOOK_S = 10.0  # between looks at a workspace on whose disk nothing seems to happen
MEMORY_LEFT = 512 * MIB  # of the machine: with less, sandboxes end
DISK_LEFT = GIB  # likewise, of the disk that a workspace is on
SCRATCH = ("tmp", "dev/shm")
OWN = 4  # processes at most that are bubblewrap's, the first that are found
TICKS = os.sysconf("SC_CLK_TCK")


def members(root: int) -> list[int]:
    """A process and all that descend from it, by number in this process's namespace.

    Of the first process of a process namespace these are all there are in it: what loses its parent
    becomes that one's child.
    """
    found, waiting = [], [root]
    while waiting:
        pid = waiting.pop()
        found.append(pid)
        with suppress(OSError):
            for task in os.listdir(f"/proc/{pid}/task"):
                text = Path(f"/proc/{pid}/task/{task}/children").read_text()
                waiting += map(int, text.split())
    return found


def memory(pids: Sequence[int], limit: int) -> int:
    """What these processes have touched and share with no file [B].

    Pages that several have count for each, unless that would be over the limit: then they are
    divided, which takes the kernel longer to tell.
    """
    touched = 0
    for pid in pids:
        touched += _lines(f"/proc/{pid}/status", ("RssAnon", "RssShmem", "VmSwap"))
    if touched <= limit:
        return touched
    parts = ("Pss_Anon", "Pss_Shmem", "SwapPss")
    return sum(_lines(f"/proc/{pid}/smaps_rollup", parts) for pid in pids)


def processor_s(pids: Sequence[int]) -> float:
    """Processor time of these processes and of the children that they have waited for [s]."""
    ticks = 0
    for pid in pids:
        with suppress(OSError, ValueError):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            ticks += sum(map(int, fields[11:15]))  # utime, stime, cutime, cstime
    return ticks / TICKS


def size(folder: Path, most_entries: int) -> tuple[int, int]:
    """What lies in a folder, on the disk [B], and how many files and folders.

    No link is followed and a file with many names counts once. Counting ends beyond `most_entries`.

    Raises:
        OSError: something in it cannot be looked at, a path that is too long for instance.
    """
    total, entries, seen = 0, 0, set()
    waiting = [str(folder)]
    while waiting:
        try:
            found = list(os.scandir(waiting.pop()))
        except FileNotFoundError:  # it has gone meanwhile
            continue
        for entry in found:
            try:
                status = entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue
            entries += 1
            if status.st_ino not in seen:
                total += 512 * status.st_blocks
            if status.st_nlink > 1:
                seen.add(status.st_ino)
            if entry.is_dir(follow_symlinks=False):
                waiting.append(entry.path)
        if entries > most_entries:
            break
    return total, entries


def memory_left() -> int:
    """What the machine can still give [B]."""
    return _lines("/proc/meminfo", ("MemAvailable",))


class SandboxWatchdog:
    """Looks at one sandbox, on a thread of its own, until it is over a limit or `stop`ped."""

    def __init__(
        self,
        root: int,
        limits: SandboxLimits,
        writable: Sequence[Path],
        breach: Callable[[str], None],
        scratch: bool = True,
        left: Callable[[], int] = memory_left,
    ) -> None:
        """root: its first process. breach: is told which limit, once; it is to end the sandbox.

        scratch: that it has memory file systems of its own.
        """
        self._root, self._limits, self._writable = root, limits, tuple(writable)
        self._breach, self._left = breach, left
        self._scratches = SCRATCH if scratch else ()
        self._began = time.monotonic()
        self._looked = -LOOK_S
        self._free: dict[Path, int] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="watch", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Look no more."""
        self._over.set()
        if self._thread is not threading.current_thread():
            self._thread.join()

    def _run(self) -> None:
        while not self._over.wait(EVERY_S):
            try:
                reason = self.look()
            except OSError as error:  # what cannot be looked at is not let go on
                reason = f"watch: {error}"
            if reason:
                self._over.set()
                self._breach(reason)

    def look(self) -> str:
        """Return which limit it is over; empty: none."""
        limits, now = self._limits, time.monotonic()
        if now - self._began > limits.wall_s:
            return f"time: {limits.wall_s:g} s on the clock are over"
        if self._left() < MEMORY_LEFT:
            return f"memory: the machine has less than {MEMORY_LEFT // MIB} MiB left"
        pids = members(self._root)
        if len(pids) > limits.processes + OWN:
            return f"processes: {len(pids)}, allowed are {limits.processes}"
        touched = memory(pids, limits.memory) + self._scratch(pids[: OWN + 1])
        if touched > limits.memory:
            return f"memory: {touched // MIB} MiB, allowed are {limits.memory // MIB}"
        used = processor_s(pids)
        if used > limits.cpu_s:
            return f"processor: {used:.1f} s, allowed are {limits.cpu_s:g}"
        return self._disk(now)

    def _scratch(self, pids: Sequence[int]) -> int:
        """What lies in its memory file systems [B].

        Bubblewrap's own processes have others at these names, and so has the first of the sandbox
        before it is set up: those are of another size.
        """
        used = 0
        for name in self._scratches:
            seen = [0]
            for pid in pids:
                with suppress(OSError):
                    status = os.statvfs(f"/proc/{pid}/root/{name}")
                    if status.f_frsize * (status.f_blocks - 1) < self._limits.scratch:
                        seen.append(status.f_frsize * (status.f_blocks - status.f_bfree))
            used += max(seen)
        return used

    def _disk(self, now: float) -> str:
        """Look at the workspaces if their disks have filled, or every while."""
        free: dict[Path, int] = {}
        for folder in self._writable:
            status = os.statvfs(folder)
            free[folder] = status.f_frsize * status.f_bavail
            if free[folder] < DISK_LEFT:
                return f"disk: less than {DISK_LEFT // MIB} MiB are left where {folder} is"
        step = min(64 * MIB, self._limits.disk // 8)
        filled = any(self._free.get(folder, 0) - free[folder] > step for folder in free)
        if not filled and now - self._looked < LOOK_S:
            self._free = {folder: max(free[folder], self._free[folder]) for folder in free}
            return ""
        self._free = free
        return self._measured(now)

    def _measured(self, now: float) -> str:
        """Whether too much lies in the workspaces."""
        limits = self._limits
        self._looked = now
        try:
            found = [size(folder, limits.entries) for folder in self._writable]
        except OSError as error:
            return f"disk: the workspace cannot be measured ({error.strerror})"
        total, entries = sum(one for one, _ in found), sum(one for _, one in found)
        if entries > limits.entries:
            return f"disk: more than {limits.entries} files and folders"
        if total > limits.disk:
            return f"disk: {total // MIB} MiB, allowed are {limits.disk // MIB}"
        return ""


def _lines(path: str, names: Sequence[str]) -> int:
    """The sum of some lines of a file in /proc whose values are in KiB [B]; 0: it has gone."""
    with suppress(OSError, ValueError):
        rows = (line.partition(":") for line in Path(path).read_text().splitlines())
        return sum(int(value.split()[0]) * 1024 for name, _, value in rows if name in names)
    return 0
