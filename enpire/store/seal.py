"""A hash of the whole ledger file, there while no process writes it.

The chain covers rows, this covers every byte: what lies in a page that no row uses, too. A process
that was killed leaves none, and then the chain alone speaks.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from enpire.errors import StoreError
from enpire.store.durable import disk_errors, fsync, publish_file
from enpire.store.layout import LEDGER, SEAL
from enpire.store.weights import sha256_of


def seal(folder: Path) -> None:
    """Write the seal of a ledger that was closed; none where its log could not be folded in."""
    log = folder / f"{LEDGER}-wal"
    if log.exists() or not (folder / LEDGER).is_file():
        return
    with suppress(StoreError, MemoryError):  # without it the chain is there
        publish_file(folder / SEAL, _line(folder).encode())


def unseal(folder: Path) -> None:
    """Take the seal off a ledger that is about to be written.

    Raises:
        StoreError: the disk does not take it.
    """
    with disk_errors(folder):
        (folder / SEAL).unlink(missing_ok=True)
        fsync(folder)  # or it would come back, beside a ledger that has more


def broken(folder: Path) -> str:
    """What does not agree between a ledger and its seal; empty if nothing, or there is no seal."""
    try:
        said = (folder / SEAL).read_bytes()
    except FileNotFoundError:
        return ""
    except OSError as error:
        return f"{SEAL} beside it cannot be read ({error.strerror})"
    return "" if said == _line(folder).encode() else f"its sha256 is not the one in {SEAL}"


def holds(folder: Path) -> bool:
    """Whether every byte of a ledger is as its last writer left it."""
    log = folder / f"{LEDGER}-wal"
    if not (folder / SEAL).is_file() or (log.is_file() and log.stat().st_size):
        return False
    with suppress(OSError, StoreError):
        return not broken(folder)
    return False


def _line(folder: Path) -> str:
    """The line in the words of `sha256sum`, which can check it too."""
    return f"{sha256_of(folder / LEDGER)}  {LEDGER}\n"
