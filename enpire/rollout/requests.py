"""What a person asks of a running fleet from another process: pause a station, or resume it.

A request is a file in the run's folder, published whole and taken once. The ledger has one writer,
and it is not whoever asks.
"""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from enpire.errors import StoreError
from enpire.store.durable import publish_file

FOLDER = "requests"
LOOK_S = 0.5  # between two looks


@dataclass(frozen=True, slots=True)
class Request:
    """Of a station: to pause after its episode, or to go on; in a person's words, why."""

    station: int
    pause: bool
    reason: str


def ask(run: Path, request: Request) -> None:
    """Leave a request for the fleet that works on a run."""
    folder = run / FOLDER
    folder.mkdir(exist_ok=True)
    publish_file(folder / f"{time.time_ns()}.json", json.dumps(asdict(request)).encode())


class Requests:
    """The requests left in a run's folder; those of before it began are forgotten."""

    def __init__(self, run: Path) -> None:
        """Look into `run`."""
        self._folder = run / FOLDER
        self._looked = 0.0
        for path in self._left():
            path.unlink()

    def taken(self) -> list[Request]:
        """Those that have come since, in order; it looks once in a while, however often asked.

        Raises:
            StoreError: a file there is no request.
        """
        now = time.monotonic()
        if now - self._looked < LOOK_S:
            return []
        self._looked = now
        return [_read(path) for path in self._left()]

    def _left(self) -> list[Path]:
        if not self._folder.is_dir():
            return []
        return sorted(self._folder.glob("[0-9]*.json"))


def _read(path: Path) -> Request:
    try:
        said = json.loads(path.read_bytes())
        request = Request(int(said["station"]), bool(said["pause"]), str(said["reason"]))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise StoreError(f"{path} is no request ({error}): delete it") from error
    path.unlink()
    return request
