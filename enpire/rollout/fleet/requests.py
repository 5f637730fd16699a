"""What a person asks of a running fleet from another process: pause or resume a station, or stop.

A request is a file in the run's folder, published whole and taken once. The ledger has one writer,
and it is not whoever asks.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from enpire.errors import StoreError
from enpire.json_text import loads
from enpire.store import under_way
from enpire.store.durable import disk_errors, publish_file

FOLDER = "requests"
LOOK_S = 0.5  # between two looks


STOP = -1  # in place of a station: the run is to stop


@dataclass(frozen=True, slots=True)
class Request:
    """A request to a station: to pause after its episode, or to go on; and why, in words."""

    station: int
    pause: bool
    reason: str

    @classmethod
    def stop(cls, reason: str) -> Request:
        """Return what asks the whole run to stop, as SIGTERM does."""
        return cls(STOP, True, reason)


def require_loop(run: Path) -> None:
    """Check that a process works on a run, which would hear of a request.

    Raises:
        StoreError: none does.
    """
    if not under_way(run):
        raise StoreError(
            f"no loop works on {run}, so nobody would hear of it: go on with "
            f"enpire loop --resume {run}"
        )


def ask(run: Path, request: Request) -> None:
    """Leave a request for the fleet that works on a run."""
    folder = run / FOLDER
    with disk_errors(folder):
        folder.mkdir(exist_ok=True)
    publish_file(folder / f"{time.time_ns()}.json", json.dumps(asdict(request)).encode())


class Requests:
    """The requests left in a run's folder; those of before it began are forgotten."""

    def __init__(self, run: Path, stop: Callable[[], None] = lambda: None) -> None:
        """Look into `run`; stop: is called when somebody asks for the whole run to stop."""
        self._folder = run / FOLDER
        self._stop = stop
        self._looked = 0.0
        for path in self._pending_files():
            path.unlink()

    def take(self) -> list[Request]:
        """The requests to stations that have come since, in order; it looks once in a while only.

        Raises:
            StoreError: a file there is no request.
        """
        now = time.monotonic()
        if now - self._looked < LOOK_S:
            return []
        self._looked = now
        asked = [_read(path) for path in self._pending_files()]
        if any(one.station == STOP for one in asked):
            self._stop()
        return [one for one in asked if one.station != STOP]

    def _pending_files(self) -> list[Path]:
        if not self._folder.is_dir():
            return []
        return sorted(self._folder.glob("[0-9]*.json"))


def _read(path: Path) -> Request:
    try:
        said = loads(path.read_bytes())
        request = Request(int(said["station"]), bool(said["pause"]), str(said["reason"]))
    except (OSError, OverflowError, ValueError, KeyError, TypeError) as error:
        raise StoreError(f"{path} is no request ({error}): delete it") from error
    path.unlink()
    return request
