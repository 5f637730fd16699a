"""A copy of a run, also of one that a process writes to.

The ledger comes first, by SQLite's own backup, then the files that it knows of. A batch or a policy
that is published meanwhile has no row in that ledger and stays behind.
"""

from __future__ import annotations

import hashlib
import shutil
from contextlib import suppress
from pathlib import Path

from enpire.errors import StoreError
from enpire.real_path import real_path
from enpire.store.durable import (
    TEMPORARY_PREFIX,
    disk_errors,
    make_folder,
    publish_folder,
    temporary_name,
)
from enpire.store.layout import (
    BATCH,
    EPISODES,
    EVIDENCE,
    LEDGER,
    LOCK,
    POLICIES,
    RESULT,
    RESULT_HASH,
    SEAL,
    STATUS,
    batch_number,
)
from enpire.store.ledger import Ledger
from enpire.store.ledger_file import LedgerFile
from enpire.store.run import Run
from enpire.store.seal import seal

TRIES = 10  # for a result and a ledger that know of each other
OWN = {LEDGER, f"{LEDGER}-wal", f"{LEDGER}-shm", SEAL, LOCK, STATUS, RESULT}
"""Of the process that writes, or copied in an order of its own."""


def copy_run(source: Path, target: Path) -> None:
    """Copy a run to `target`, which is there whole or not at all.

    Raises:
        StoreError: there is no run, something is at `target` or it lies within the run, or the
            disk refuses.
    """
    if real_path(target).is_relative_to(real_path(source)):
        raise StoreError(f"{target} lies within the run: copy it to another folder")
    with disk_errors(target):
        if target.exists() and (not target.is_dir() or any(target.iterdir())):
            raise StoreError(f"{target} holds something already: choose a new or an empty folder")
        make_folder(target.parent)
        temporary = temporary_name(target)
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir()
    try:
        batches, policies = _copy_ledger(source, temporary)
        _copy_files(source, temporary, batches, policies)
        # A ledger that is not what was recorded is copied as it is, and gets no seal that says so.
        with suppress(StoreError):
            LedgerFile(temporary / LEDGER, writable=False, live=False).close()
            seal(temporary)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    publish_folder(temporary, target)


def _copy_ledger(source: Path, target: Path) -> tuple[set[str], set[str]]:
    """Copy ledger and result; the names of the batches and of the policy files it knows of."""
    for _ in range(TRIES):
        result = _read(source / RESULT)
        with disk_errors(target), Run.glance(source) as run:
            (target / LEDGER).unlink(missing_ok=True)
            run.ledger.file.copy_to(target / LEDGER)
        # What the copy knows: the run itself may know more by now.
        file = LedgerFile(target / LEDGER, writable=False, damaged=True, live=False, brief=True)
        with Ledger(file) as copy:
            hashes = copy.facts().get(RESULT_HASH, "").split()
            batches = {Path(path).name for path in copy.batches()}
            policies = {Path(row.path).name for row in copy.policies()}
        if result is None or not hashes or hashlib.sha256(result).hexdigest() in hashes:
            break
    if result is not None:
        with disk_errors(target):
            (target / RESULT).write_bytes(result)
    return batches, policies


def _copy_files(source: Path, target: Path, batches: set[str], policies: set[str]) -> None:
    numbers = {batch_number(name) for name in batches}

    def left_out(folder: str, names: list[str]) -> set[str]:
        inside = Path(folder).relative_to(source).as_posix()
        if inside == EPISODES:
            late = {name for name in names if BATCH.fullmatch(name)} - batches
        elif inside == EVIDENCE:
            late = {name for name in names if name.split("-")[0] not in numbers}
        else:
            late = set(names) - policies if inside == POLICIES else set()
        own = OWN if inside == "." else set()
        return late | own | {name for name in names if name.startswith(TEMPORARY_PREFIX)}

    def copy_file(at: str, to: str) -> None:
        with suppress(FileNotFoundError):  # removed meanwhile, as a writer does with its own
            shutil.copy2(at, to)

    with disk_errors(target):
        try:
            shutil.copytree(
                source, target, ignore=left_out, copy_function=copy_file, dirs_exist_ok=True
            )
        except shutil.Error as error:
            at, _, why = error.args[0][0]
            raise StoreError(f"{at} cannot be copied: {why}") from error


def _read(path: Path) -> bytes | None:
    with disk_errors(path):
        try:
            return path.read_bytes()
        except FileNotFoundError:
            return None
