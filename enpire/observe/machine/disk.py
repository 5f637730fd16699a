"""The disk that runs lie on: whether it is there, quick, and keeps what it says it has."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from enpire.observe.machine.check import CheckState, MachineCheck
from enpire.real_path import real_path
from enpire.store.durable import disk_errors, fsync, temporary_name, write_file

MOUNTS = Path("/proc/self/mountinfo")
MIB, GIB = 2**20, 2**30
SAMPLE = 64 * MIB
SYNCS = 50
SLOW = 20e6  # bytes a second: pictures of a few stations come near it
QUICKEST_S = 20e-6  # of a flush: one that is shorter has reached no disk that we know of
LEAST, LITTLE = 1 * GIB, 20 * GIB  # free
LEAST_FILES = 10_000

FORGETFUL = {"tmpfs": "lies in memory", "ramfs": "lies in memory"}
ELSEWHERE = ("nfs", "cifs", "smb", "9p", "fuse", "virtiofs", "ceph", "lustre", "afs")
UNSAFE = ("nobarrier", "barrier=0", "volatile", "fsync=volatile", "data=writeback")


def disk(folder: Path, mounts: Path = MOUNTS) -> Iterator[MachineCheck]:
    """Yield what there is to say of the disk below `folder`, which must be there.

    Raises:
        StoreError: nothing can be written there.
    """
    yield _space(folder)
    with disk_errors(folder):
        speed, syncs = _measure(folder)
        locks = _locks(folder)
    slow = speed < SLOW
    yield MachineCheck(
        "disk speed",
        CheckState.NOTE if slow else CheckState.GOOD,
        f"{speed / 1e6:.0f} MB/s to the disk; an fsync takes {np.median(syncs) * 1e3:.2f} ms, "
        f"at worst {max(syncs) * 1e3:.1f}",
        "put runs on another disk: recording pictures may hold up stations" if slow else "",
    )
    yield _truth(mounted(folder, mounts), float(np.median(syncs)), os.environ)
    yield MachineCheck(
        "file locks",
        CheckState.GOOD if locks else CheckState.BAD,
        "keep a second writer out" if locks else "two writers would not see each other",
        "" if locks else "put runs on a disk of this machine",
    )


def _space(folder: Path) -> MachineCheck:
    free, files = shutil.disk_usage(folder).free, os.statvfs(folder)
    few_files = bool(files.f_files) and files.f_favail < LEAST_FILES
    state = CheckState.NOTE if free < LITTLE else CheckState.GOOD
    if free < LEAST or few_files:
        state = CheckState.BAD
    count = f", room for {files.f_favail} files" if files.f_files else ""
    return MachineCheck(
        "free space",
        state,
        f"{free / GIB:.1f} GiB at {folder}{count}",
        "" if state is CheckState.GOOD else "make room, or give --run a folder on another disk",
    )


def _measure(folder: Path) -> tuple[float, list[float]]:
    """Bytes a second that reach the disk, and the time of each fsync of a few bytes [s]."""
    path = temporary_name(folder / "doctor")
    data = np.random.default_rng(0).bytes(SAMPLE)  # some disks compress
    try:
        began = time.perf_counter()
        write_file(path, data)
        fsync(path)
        speed = SAMPLE / (time.perf_counter() - began)
        syncs = []
        handle = os.open(path, os.O_WRONLY | os.O_APPEND)
        try:
            for _ in range(SYNCS):
                os.write(handle, data[:4096])
                began = time.perf_counter()
                os.fsync(handle)
                syncs.append(time.perf_counter() - began)
        finally:
            os.close(handle)
    finally:
        path.unlink(missing_ok=True)
    return speed, syncs


def _locks(folder: Path) -> bool:
    """Whether a second process would see a lock on a file there."""
    path = temporary_name(folder / "doctor")
    with _opened(path) as first, _opened(path) as second:
        try:
            fcntl.flock(first, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        try:
            fcntl.flock(second, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        yield handle
    finally:
        os.close(handle)
        path.unlink(missing_ok=True)


def mounted(folder: Path, mounts: Path = MOUNTS) -> tuple[str, str]:
    """The kind of file system below a folder, and its options; empty where nobody says."""
    found = ("", "")
    longest = -1
    where = real_path(folder)
    for line in mounts.read_text().splitlines() if mounts.is_file() else ():
        before, _, after = line.partition(" - ")
        at = re.sub(r"\\(\d{3})", lambda code: chr(int(code[1], 8)), before.split()[4])
        kind, _, options = after.split(" ", 2)
        if where.is_relative_to(at) and len(at) >= longest:  # of two at one place the later holds
            longest, found = len(at), (kind, f"{before.split()[5]},{options}")
    return found


def _truth(mount: tuple[str, str], fsync_s: float, environment: Mapping[str, str]) -> MachineCheck:
    """Say whether what was forced to the disk would survive a loss of power."""
    kind, options = mount
    said = [option for option in options.split(",") if option in UNSAFE]
    state, remedy = CheckState.BAD, "put runs on a disk of this machine"
    if kind in FORGETFUL:
        found = f"{kind} {FORGETFUL[kind]}: a loss of power loses all"
    elif "eatmydata" in environment.get("LD_PRELOAD", ""):
        found, remedy = "libeatmydata has fsync do nothing", "unset LD_PRELOAD"
    elif said:
        found = f"{kind} is mounted with {', '.join(said)}: fsync promises nothing"
        remedy = f"mount it without {', '.join(said)}"
    elif kind.startswith(ELSEWHERE):
        state = CheckState.NOTE
        found = f"{kind}: what fsync promises is the server's affair"
    elif fsync_s < QUICKEST_S:
        state = CheckState.NOTE
        found = f"an fsync returns after {fsync_s * 1e6:.0f} µs: no disk is as quick"
        remedy = "see whether the disk, its controller or the virtual machine ignores flushes"
    else:
        found = f"{kind or 'the file system'} gives no reason to doubt it"
        return MachineCheck("fsync", CheckState.GOOD, found)
    return MachineCheck("fsync", state, found, remedy)
