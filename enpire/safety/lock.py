"""One process at a time holds a station's driver."""

from __future__ import annotations

import fcntl
import os

from enpire.errors import SafetyError
from enpire.safety.station import StationFile

LOCK = "lock"


def take(station: StationFile) -> int:
    """Make the runtime folder and lock it for as long as the handle returned is open.

    Raises SafetyError if another process has the station, or others may open the folder.
    """
    folder = station.runtime
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.stat().st_uid != os.getuid() or folder.stat().st_mode & 0o077:
        raise SafetyError(f"{folder} is open to others: remove it")
    handle = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        raise SafetyError(f"another supervisor or check has {station.path}") from None
    return handle
